// Learns, per class of error, how long to wait before the next attempt and whether to ask another agent.
//
// The retry policy says whether there is a next attempt and its usual delay; this chooses a multiple of that delay and
// a target, and is told how the attempt went. It is the part of QLearning's table that is about retries: what that
// table says of the agents' states (Prospects) is added to what was learned here of an action. Like the rest it
// explores a little and moves its values by α. A delay is at most `longest`, or what the other side asked for
// (honoured()) if that is more. Permanent errors are not retried by any policy, so nothing is learned for them. A
// value; one thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "skein/base/random.hpp"
#include "skein/base/time.hpp"
#include "skein/resilience/retry_policy.hpp"

namespace skein::inline v0 {

struct AdaptiveRetryOptions {
  double learning_rate = 0.1;
  double explore_first = 0.1;
  double explore_last = 0.01;
  double explore_decay = 0.999;
  Duration longest = std::chrono::seconds(60);  // only Retry-After can ask for more

  [[nodiscard]] std::optional<std::string> problem() const;

  friend bool operator==(const AdaptiveRetryOptions&, const AdaptiveRetryOptions&) = default;
};

class AdaptiveRetry {
 public:
  static constexpr std::array<double, 4> k_multiples{1.0, 0.25, 4.0, 16.0};  // the policy's own delay first
  static constexpr std::size_t k_actions = k_multiples.size() * 2;
  static constexpr std::size_t k_text_bytes_max = 4'096;

  struct Chosen {
    Duration delay{};
    bool other_agent = false;
    RetryClass error = RetryClass::transient;
    std::uint8_t action = 0;
  };

  // What is to be expected of the agent that failed and of the best of the others.
  struct Prospects {
    double same = 0;
    double other = 0;
  };

  // Throws std::invalid_argument with what problem() says.
  explicit AdaptiveRetry(AdaptiveRetryOptions options = {});

  // `usual` is the policy's delay; a negative one counts as zero.
  [[nodiscard]] Chosen choose(RetryClass error, Duration usual, std::optional<Duration> retry_after, Random& random,
                              Prospects prospects) const;
  [[nodiscard]] Chosen choose(RetryClass error, Duration usual, std::optional<Duration> retry_after,
                              Random& random) const {
    return choose(error, usual, retry_after, random, Prospects{});
  }
  // How the attempt that followed went: 1 for success, −10 for failure, less the seconds waited.
  void learn(const Chosen& chosen, bool ok);

  [[nodiscard]] double value(RetryClass error, std::size_t action) const {
    return values_[static_cast<std::size_t>(error)][action];
  }
  [[nodiscard]] std::uint64_t outcomes() const { return outcomes_; }  // learned from, since made
  // The lines about retries of QLearning's text, which may also stand alone.
  [[nodiscard]] std::string save() const;
  [[nodiscard]] std::expected<void, std::string> restore(std::string_view text);

 private:
  AdaptiveRetryOptions options_;
  std::array<std::array<double, k_actions>, k_retry_classes> values_{};
  std::array<double, k_retry_classes> explore_{};
  std::uint64_t outcomes_ = 0;
};

}  // namespace skein::inline v0
