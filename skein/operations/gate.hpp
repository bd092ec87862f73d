// Puts many operations into few journal entries. A caller encodes its operation on its own thread and adds it here; all
// operations that have gathered are appended as one command. The first one is appended at once, so a single caller does
// not wait; while commands are under way, further operations gather.
//
// Any thread. Callbacks run on the journal's thread, or on the caller's or the timers' when nothing was appended; they
// must not block.
//
// 1. Every callback is called exactly once; with an error at the latest when the journal closes and stop() is called.
// 2. What is queued and under way is bounded in count and bytes; beyond it append() answers `overloaded`.
// 3. When the journal does not know (`unknown`), the same command is appended again until it does, or until the
//    deadline; by its id it is applied once. If it was, and the answer is too long to be remembered, the callers get
//    `unknown`: the operations themselves are never sent a second time.
// 4. Once in doubt, only an answer ends the doubt: when the journal turns the repeated command away, that says nothing
//    of the one before, and the callers get `unknown`.
// 5. A command the journal can never take is sent in halves: `too_large` is said only of what is too large alone.
// 6. A callback that gets the ledger's answer gets its operation with it, as it was encoded, so that callers need not
//    keep what only a refusal asks for. See operation_in().
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skein/base/job_queue.hpp"
#include "skein/journal/append_again.hpp"
#include "skein/journal/journal.hpp"
#include "skein/ledger/command.hpp"
#include "skein/operations/error.hpp"

namespace skein::inline v0::operations {

struct GateLimits {
  std::size_t command_ops = 1000;
  std::size_t command_bytes = 768ULL << 10U;  // below the journal's entry_bytes
  std::size_t gather_ops = 250;               // so many are worth a command of their own while others are under way
  std::size_t commands_in_flight = 4;
  std::size_t queued_ops = 200'000;
  std::size_t queued_bytes = 64ULL << 20U;
  std::chrono::milliseconds unknown_after{10'000};  // until the journal must have known
  std::chrono::milliseconds again_first{10};        // after `unknown`; doubled up to again_max
  std::chrono::milliseconds again_max{1000};
};

struct GateStatus {
  std::uint64_t ops = 0;       // appended since the start
  std::uint64_t commands = 0;  // in so many
  std::uint64_t refused = 0;   // because of these limits
  std::uint64_t repeated = 0;  // commands appended again
  std::size_t queued_ops = 0;
  std::size_t queued_bytes = 0;
};

class Gate : public std::enable_shared_from_this<Gate> {
 public:
  // `sent`: its operation as it was encoded, gone after the call; empty where the ledger has not answered.
  using Done = std::move_only_function<void(const Result<ledger::OpResult>&, std::string_view sent)>;

  // `space`: the first half of its command ids; no two gates may share one.
  Gate(journal::Journal& journal, JobQueue& timers, journal::Urgency urgency, std::uint64_t space,
       const GateLimits& limits);

  void append(const ledger::Op& op, Done done);
  // Answers what is queued with `stopped`, and everything that comes.
  void stop();
  [[nodiscard]] GateStatus status() const;

 private:
  struct Item {
    Done done;
    std::uint32_t bytes = 0;   // of its operation
    std::uint8_t version = 0;  // of a command that knows it
  };
  struct Flight {
    std::vector<Item> items;
    std::string ops;  // encoded, one after the other
    journal::CommandId id;
    journal::AppendAgain again;
  };
  using FlightPtr = std::shared_ptr<Flight>;

  enum class Admission { taken, full, stopped };
  // Takes the item, and gives the command that is now to be sent, if any.
  Admission admit(std::string_view op, std::uint8_t version, Done& done, FlightPtr& flight);
  // The next command when it may go, else null. With the mutex held.
  FlightPtr take_next();
  void send(const FlightPtr& flight);
  void answered(const FlightPtr& flight, const journal::AppendAnswer& answer);
  void deliver(Flight& flight, const journal::Applied& applied);
  void send_in_halves(Flight& flight);
  void fail_all(Flight& flight, const Error& error);
  void not_applied(const FlightPtr& flight, const journal::AppendAnswer& answer);
  void landed();

  journal::Journal& journal_;
  JobQueue& timers_;
  const journal::Urgency urgency_;
  const std::uint64_t space_;
  const GateLimits limits_;
  const journal::AppendAgainLimits again_;

  mutable std::mutex mutex_;
  std::deque<FlightPtr> full_;
  FlightPtr filling_ = std::make_shared<Flight>();
  std::size_t queued_ops_ = 0;
  std::size_t queued_bytes_ = 0;
  std::size_t in_flight_ = 0;
  bool stopped_ = false;
  std::uint64_t next_command_ = 1;
  std::uint64_t commands_ = 0;
  std::uint64_t ops_ = 0;
  std::uint64_t refused_ = 0;
  std::atomic<std::uint64_t> repeated_{0};
};

// What a callback was given as `sent`; nothing for an empty one.
[[nodiscard]] std::optional<ledger::Op> operation_in(std::string_view sent);

}  // namespace skein::inline v0::operations
