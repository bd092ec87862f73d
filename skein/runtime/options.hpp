// The limits and choices of a runtime and of a single process, with their defaults, and the errors of starting one.
//
// Plain values, read when the runtime or the process is made and not afterwards; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "skein/base/time.hpp"
#include "skein/runtime/exit_reason.hpp"
#include "skein/runtime/pid.hpp"

namespace skein::inline v0 {

// A timer of this runtime; cancelling one that fired or was cancelled is harmless.
struct TimerRef {
  std::uint32_t index = 0;
  std::uint32_t generation = 0;
  explicit operator bool() const { return generation != 0; }
};

// What a full mailbox does with an ordinary message. Signals always get in.
enum class FullMailbox : std::uint8_t {
  reject,       // the sender gets SendResult::full
  drop_newest,  // the message is dropped, the sender gets SendResult::dropped
  drop_oldest,  // the oldest waiting message is dropped to make room (at twice the limit the newest is)
};

enum class SendResult : std::uint8_t { ok, noproc, full, dropped };

inline constexpr std::uint32_t k_mailbox_limit = 1'000'000;
inline constexpr Duration k_call_timeout = std::chrono::seconds(5);
inline constexpr std::uint32_t k_turn_budget_max = 1'000'000;

struct SpawnOptions {
  std::string_view name;            // registered before init runs; must be free
  bool link = false;                // to the spawner, which must be a process
  bool monitor = false;             // by the spawner, which must be a process
  std::uint32_t mailbox_limit = 0;  // 0: the runtime's
  FullMailbox when_full = FullMailbox::reject;
  // start() only: an init that does not wait runs at once, within the starter's turn. A start that succeeds then costs
  // no message and no turn; one that fails is told as ever.
  bool init_here = false;
};

inline constexpr std::string_view k_nobody_to_tie =
    "link and monitor tie a process to the one that starts it, and an ordinary thread is none: "
    "start it from a process, or without them";

// A process could not be made: no slot is free, its name is taken, or it was asked for what an ordinary thread can't.
class SpawnError : public std::runtime_error {
 public:
  SpawnError(const std::string& what, Pid holder) : std::runtime_error(what), holder_(holder) {}
  // The holder of the name; nobody if that was not the reason.
  [[nodiscard]] Pid holder() const { return holder_; }

 private:
  Pid holder_;
};

// More timers than RuntimeOptions::max_timers.
class TimersExhausted : public std::runtime_error {
 public:
  explicit TimersExhausted(std::size_t limit)
      : std::runtime_error("no timer is free (max_timers = " + std::to_string(limit) +
                           "): raise the limit or cancel some") {}
};

// Why a synchronous start gave no process.
struct StartError {
  ExitReason reason;
  Pid already_started;  // the holder of the name, if that was the reason
};

// A handler that runs longer than it should, or a dead-to-be process whose blocking job does not return.
struct StuckReport {
  Pid pid;
  std::string name;      // registered name, or empty
  std::string type;      // of the process
  std::string handling;  // the message's type, or what it waits for
  Duration for_how_long{};
  bool past_stuck_limit = false;  // false: only past handler_warning
};

enum class OnStuck : std::uint8_t { wait, abort };

// max_processes, mailbox_limit and turn_budget may not be 0.
struct RuntimeOptions {
  unsigned workers = 0;                     // 0: one per core
  std::uint32_t max_processes = 4'000'000;  // at most Pid::k_slot_max
  std::uint32_t mailbox_limit = k_mailbox_limit;
  std::uint32_t turn_budget = 256;      // messages a process may handle before another gets its turn; fewer if slow
  unsigned blocking_threads = 16;       // at most this many blocking jobs run at once
  std::size_t blocking_queue = 10'000;  // jobs that may wait for a thread
  std::size_t max_timers = 10'000'000;
  Duration handler_warning = std::chrono::seconds(1);
  Duration stuck_limit = std::chrono::seconds(30);
  OnStuck on_stuck = OnStuck::wait;
  Duration idle_release = std::chrono::seconds(5);       // an idle server's release_memory runs after this
  std::function<void(const StuckReport&)> report_stuck;  // default: one line on standard error
  std::string dump_file;                                 // where a dump goes before abort, and on a fatal signal
  std::optional<std::uint64_t> seed;                     // set: deterministic, one thread, virtual time
};

}  // namespace skein::inline v0
