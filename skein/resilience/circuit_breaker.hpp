// A circuit breaker: stops calling what keeps failing, and finds out gently when it works again.
//
// A value, told of the time, used around any call:
//
//   const auto permit = breaker.ask(now);       // refused: fail at once, permit.error() says when to try again
//   ... call ...
//   breaker.succeeded(*permit, now) or breaker.failed(*permit, now)
//
// closed: calls pass; too many failures open it (so many in a row, or a share of the last calls).
// open: calls are refused until reset_timeout has passed, then it is half-open.
// half-open: at most half_open_max_calls are under way at once; success_threshold successes close it, one failure opens
// it again. A permit older than operation_timeout counts as a failure, so a call that never reports can't hold a probe.
// Around work that has an end of its own (a task's attempt has a timeout and a lease, and may take an hour) there is no
// such limit: k_forever. The caller must then report an outcome or withdraw in every case.
// Answers with a permit of an earlier state are ignored: a late failure does not reopen a breaker that has recovered.
// One thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "skein/base/time.hpp"

namespace skein::inline v0 {

enum class BreakerState : std::uint8_t { closed, open, half_open };
[[nodiscard]] std::string_view breaker_state_name(BreakerState state);

struct BreakerOptions {
  std::uint32_t failure_threshold = 5;  // in a row; 0: judge by rate alone
  double failure_rate = 0;              // share of the last rate_window calls; 0: judge by count alone
  std::uint32_t rate_window = 100;      // calls
  std::uint32_t rate_minimum = 20;      // no verdict by rate on fewer
  Duration reset_timeout = std::chrono::seconds(30);
  std::uint32_t half_open_max_calls = 3;
  std::uint32_t success_threshold = 2;
  Duration operation_timeout = std::chrono::seconds(10);  // of a call; k_forever: what is called ends by itself

  [[nodiscard]] std::optional<std::string> problem() const;

  friend bool operator==(const BreakerOptions&, const BreakerOptions&) = default;
};

struct BreakerMetrics {
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;
  std::uint64_t timed_out = 0;  // counted in failed too
  std::uint64_t refused = 0;
  std::uint64_t opened = 0;
};

class CircuitBreaker {
 public:
  // Calls that did not report, beyond which the oldest counts as timed out: it matters only when the clock stands
  // still.
  static constexpr std::size_t k_under_way_max = 100'000;

  // Permission to call; names the call when its outcome is reported.
  struct Permit {
    std::uint64_t id = 0;
    std::uint64_t epoch = 0;
  };
  struct Refusal {
    BreakerState state = BreakerState::open;
    Duration retry_after{};  // zero: when a probe under way has ended
  };
  using Changed = std::function<void(BreakerState from, BreakerState to)>;

  // Throws std::invalid_argument with what problem() says. `changed` is told of each change; what it throws is dropped.
  // Permits begin with `first_epoch`: a breaker that replaces another must get one that was never used.
  explicit CircuitBreaker(BreakerOptions options = {}, Changed changed = {}, std::uint64_t first_epoch = 1);

  [[nodiscard]] std::expected<Permit, Refusal> ask(Instant now);
  void succeeded(Permit permit, Instant now);
  void failed(Permit permit, Instant now);
  // Neither: the call was not made, or says nothing about the other side.
  void returned(Permit permit, Instant now);

  // Looks at the clock too: an open breaker whose time is up is half-open.
  [[nodiscard]] BreakerState state(Instant now);
  [[nodiscard]] const BreakerMetrics& metrics() const { return metrics_; }
  [[nodiscard]] std::size_t under_way() const { return under_way_.size(); }
  [[nodiscard]] const BreakerOptions& options() const { return options_; }
  // When an open one becomes half-open.
  [[nodiscard]] Instant open_until() const { return later(opened_at_, std::max(options_.reset_timeout, at_least_)); }
  // By hand. Open for reset_timeout, or for `at_least` if that is longer.
  void force_open(Instant now, Duration at_least = {});
  void force_closed(Instant now);

 private:
  void enter(BreakerState next, Instant now);
  void expire(Instant now);
  void time_out_oldest();
  bool settle(Permit permit);
  void count(bool success, Instant now);

  BreakerOptions options_;
  Changed changed_;
  BreakerState state_ = BreakerState::closed;
  std::uint64_t epoch_;
  std::uint64_t next_id_ = 1;
  Instant latest_ = Instant::min();
  Instant opened_at_{};
  Duration at_least_{};                         // that it stays open
  std::map<std::uint64_t, Instant> under_way_;  // id → asked at, of this epoch
  std::uint32_t failures_in_row_ = 0;
  std::uint32_t successes_ = 0;
  std::deque<bool> recent_;  // true: failed
  std::uint32_t recent_failures_ = 0;
  BreakerMetrics metrics_;
};

}  // namespace skein::inline v0
