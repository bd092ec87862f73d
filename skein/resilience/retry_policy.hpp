// When to try again after a failure, and when to give up. A value; the same seed gives the same delays.
//
// Attempts count from 1: after attempt n failed, next() says how long to wait before attempt n + 1, or nothing.
// Each class of error may have a policy of its own; permanent errors are not retried, rate-limited ones wait as long as
// the other side asked (Retry-After), if that is longer. How long the other side may ask for is limited in one place,
// honoured(), for everybody who heeds it. One thread at a time because of the generator handed in.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "skein/base/random.hpp"
#include "skein/base/time.hpp"

namespace skein::inline v0 {

enum class RetryClass : std::uint8_t { transient, permanent, rate_limited, resource };
inline constexpr std::size_t k_retry_classes = 4;
[[nodiscard]] std::string_view retry_class_name(RetryClass error);

// The longest Retry-After that is heeded: nobody may park our work for days.
inline constexpr Duration k_retry_after_max = std::chrono::minutes(10);

// What is made of a Retry-After: nothing or a negative one is zero, more than k_retry_after_max is that.
[[nodiscard]] constexpr Duration honoured(std::optional<Duration> retry_after) {
  return std::clamp(retry_after.value_or(Duration::zero()), Duration::zero(), k_retry_after_max);
}

enum class Growth : std::uint8_t { none, fixed, linear, exponential };

struct RetryOptions {
  std::uint32_t attempts = 4;  // in all: the first one and three retries
  Growth growth = Growth::exponential;
  Duration first = std::chrono::milliseconds(100);
  double factor = 2.0;                         // of exponential growth
  Duration longest = std::chrono::seconds(5);  // with jitter too; only Retry-After can ask for more
  double jitter = 0.1;                         // each delay varies by this share, up and down

  [[nodiscard]] std::optional<std::string> problem() const;

  friend bool operator==(const RetryOptions&, const RetryOptions&) = default;
};

class RetryPolicy {
 public:
  // Throws std::invalid_argument with what problem() says. Permanent errors get no retry.
  explicit RetryPolicy(RetryOptions options = {});

  // Another policy for one class of errors. Throws like the constructor.
  void set(RetryClass error, RetryOptions options);

  // The delay before the next attempt, or nothing when `attempt` was the last. Never negative.
  [[nodiscard]] std::optional<Duration> next(std::uint32_t attempt, RetryClass error, Random& random,
                                             std::optional<Duration> retry_after = {}) const;
  // Without jitter.
  [[nodiscard]] std::optional<Duration> base_delay(std::uint32_t attempt, RetryClass error) const;
  [[nodiscard]] const RetryOptions& options(RetryClass error) const {
    return classes_[static_cast<std::size_t>(error)];
  }

 private:
  std::array<RetryOptions, k_retry_classes> classes_;
};

}  // namespace skein::inline v0
