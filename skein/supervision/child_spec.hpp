// What a supervisor knows about a child: how to start it, when to start it again, how to stop it.
//
// Specs are plain values. A start function runs inside the supervisor at the first start and at every restart, as a
// coroutine if it has to wait; it must link the process it starts to the supervisor. `child<T>` (child.hpp) makes one
// for a process type.
#pragma once

#include <any>
#include <coroutine>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "skein/runtime/async.hpp"
#include "skein/runtime/self.hpp"
#include "skein/supervision/backoff.hpp"

namespace skein::inline v0 {

enum class Restart : std::uint8_t {
  permanent,  // always
  transient,  // unless it ended normally: normal, shutdown, shutdown(term)
  temporary,  // never; its spec goes with it
};

enum class ChildType : std::uint8_t { worker, supervisor };

// How a child is stopped.
class Shutdown {
 public:
  enum class Kind : std::uint8_t { brutal_kill, timeout, infinity };
  static Shutdown brutal_kill() { return Shutdown(Kind::brutal_kill, {}); }
  // Told to shut down, killed when it has not ended after `timeout`.
  static Shutdown after(Duration timeout) { return Shutdown(Kind::timeout, timeout); }
  static Shutdown infinity() { return Shutdown(Kind::infinity, k_forever); }

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] Duration timeout() const { return timeout_; }
  friend bool operator==(const Shutdown&, const Shutdown&) = default;

 private:
  Shutdown(Kind kind, Duration timeout) : kind_(kind), timeout_(timeout) {}
  Kind kind_;
  Duration timeout_;
};

inline constexpr Duration k_worker_shutdown = std::chrono::milliseconds(5000);
inline constexpr std::uint32_t k_intensity_max = 10'000'000;

// What a start function gives back.
class ChildStart {
 public:
  enum class Kind : std::uint8_t { ok, ignore, error, already_started };
  static ChildStart ok(Pid pid, std::any info = {}) { return {Kind::ok, pid, std::move(info), {}}; }
  static ChildStart ignore() { return {Kind::ignore, {}, {}, {}}; }
  static ChildStart error(ExitReason reason) { return {Kind::error, {}, {}, std::move(reason)}; }
  // Somebody else holds the child's name.
  static ChildStart already_started(Pid holder) {
    return {Kind::already_started, holder, {}, ExitReason::custom("already_started")};
  }

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] bool failed() const { return kind_ == Kind::error || kind_ == Kind::already_started; }
  [[nodiscard]] Pid pid() const { return pid_; }
  [[nodiscard]] const ExitReason& reason() const { return reason_; }
  [[nodiscard]] const std::any& info() const { return info_; }
  [[nodiscard]] std::any take_info() { return std::move(info_); }

 private:
  ChildStart(Kind kind, Pid pid, std::any info, ExitReason reason)
      : kind_(kind), pid_(pid), info_(std::move(info)), reason_(std::move(reason)) {}
  Kind kind_;
  Pid pid_;
  std::any info_;
  ExitReason reason_;
};

// What a start function returns: how it went, or the coroutine that will know. co_await gives the ChildStart, once.
class ChildStarting {
 public:
  ChildStarting(ChildStart done) : done_(std::move(done)) {}                  // NOLINT(google-explicit-constructor)
  ChildStarting(Async<ChildStart> waiting) : waiting_(std::move(waiting)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool is_done() const { return done_.has_value(); }
  // If it is done.
  [[nodiscard]] ChildStart& outcome() { return *done_; }
  // If it is not.
  [[nodiscard]] Async<ChildStart> take_waiting() { return std::move(waiting_); }

  struct Awaiter {
    ChildStarting* starting;
    Async<ChildStart>::Awaiter waiting;
    [[nodiscard]] bool await_ready() const noexcept { return starting->is_done(); }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> by) noexcept { return waiting.await_suspend(by); }
    ChildStart await_resume() { return starting->is_done() ? std::move(*starting->done_) : waiting.await_resume(); }
  };
  Awaiter operator co_await() & noexcept { return Awaiter{this, waiting_.operator co_await()}; }

 private:
  std::optional<ChildStart> done_;
  Async<ChildStart> waiting_;
};

// `extra` is what start_child on a pool was given (pool_arguments(...)), else empty. It may be referred to until the
// first suspension only. A plain function returns a ChildStart, a coroutine a Async<ChildStart>. What it throws, before
// or after suspending, is a failed start.
using StartFunction = std::function<ChildStarting(Self self, const std::any& extra)>;

// A child's own allowance of restarts, next to the supervisor's.
struct Budget {
  std::uint32_t intensity = 5;
  Duration period = std::chrono::seconds(60);
  Duration park = std::chrono::seconds(10);  // isolated children: the first time it is parked; doubles to k_park_max
  friend bool operator==(const Budget&, const Budget&) = default;
};
inline constexpr Duration k_park_max = std::chrono::minutes(10);

struct ChildSpec {
  std::string id;
  StartFunction start;
  Restart restart = Restart::permanent;
  std::optional<Shutdown> shutdown = {};  // none: 5000 ms for a worker, infinity for a supervisor
  ChildType type = ChildType::worker;
  bool significant = false;
  Backoff backoff = {};
  std::optional<Budget> budget = {};
  bool isolated = false;   // failures count in its own budget only; one_for_one and pools
  std::string label = {};  // root, agent supervisor, worker, service, ...: shown in the tree
  std::string what = {};   // the type it starts, for people

  [[nodiscard]] Shutdown effective_shutdown() const;

  // Each returns the spec, so that a tree reads in one piece: child<Worker>("a").with(Restart::transient).
  [[nodiscard]] ChildSpec with(Restart value) &&;
  [[nodiscard]] ChildSpec with(Shutdown value) &&;
  [[nodiscard]] ChildSpec with(Backoff value) &&;
  [[nodiscard]] ChildSpec with(Budget value) &&;
  [[nodiscard]] ChildSpec as_significant() &&;
  [[nodiscard]] ChildSpec as_isolated() &&;
  [[nodiscard]] ChildSpec labelled(std::string value) &&;
};

// A spec or a set of flags that cannot be used: which field, and what it should be.
struct SpecError {
  std::string field;    // "id", "start", "restart", ...
  std::string message;  // for people, complete
  friend bool operator==(const SpecError&, const SpecError&) = default;
};

// What is wrong with one spec by itself, or nothing. What depends on the supervisor is checked by check_specs().
[[nodiscard]] std::optional<SpecError> check_spec(const ChildSpec& spec);

[[nodiscard]] std::string_view restart_name(Restart restart);
[[nodiscard]] std::string_view type_name_of(ChildType type);
[[nodiscard]] std::string shutdown_text(const Shutdown& shutdown);

}  // namespace skein::inline v0
