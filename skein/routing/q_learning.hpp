// What the router has learned: how good it is to give a task to an agent in a given state.
//
// An agent's state is its load (0 to 10, more counts as 10), its success (<.8, .8 to .95, >.95) and its latency (<50
// ms, <200 ms, more). One value per state, so what is learned from one agent holds for all, and new agents are judged
// by what they do. After an outcome, with α .1 and γ .9:
//
//   Q(state) += α (reward + γ Q(state afterwards) − Q(state))
//   reward: −latency in s, and +1 under 50 ms, −1 at 200 ms or more; −10 for a failure
//
// ε, the share of decisions made at random to keep learning, falls from .1 to .01, by .1% with each outcome.
// What is learned of retries (adaptive_retry.hpp) is part of the same table, saved and restored with it.
// A value; one thread at a time. All values stay finite.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "skein/base/time.hpp"
#include "skein/routing/adaptive_retry.hpp"

namespace skein::inline v0 {

// A state's number, below k_q_states.
using QState = std::uint8_t;
inline constexpr std::size_t k_q_loads = 11;
inline constexpr std::size_t k_q_states = k_q_loads * 3 * 3;

// Success that is NaN counts as none, latency that is NaN or negative as the worst: bad figures must not attract work.
[[nodiscard]] QState q_state(std::uint32_t load, double success, double latency_ms);
// The state at this load of an agent whose state at load 0 is `idle`.
[[nodiscard]] QState q_state_at_load(QState idle, std::uint32_t load);

struct QOptions {
  double learning_rate = 0.1;
  double discount = 0.9;
  double explore_first = 0.1;
  double explore_last = 0.01;
  double explore_decay = 0.999;
  double temperature = 1.0;  // of weighted routing
  AdaptiveRetryOptions retry;

  [[nodiscard]] std::optional<std::string> problem() const;

  friend bool operator==(const QOptions&, const QOptions&) = default;
};

class QLearning {
 public:
  static constexpr std::size_t k_text_bytes_max = 16'384;

  // Throws std::invalid_argument with what problem() says.
  explicit QLearning(QOptions options = {});

  [[nodiscard]] static double reward(bool ok, std::optional<Duration> latency);
  void learn(QState state, double reward, QState afterwards);

  [[nodiscard]] double value(QState state) const { return values_[state]; }
  // exp(Q / T), all divided by the greatest of them, so they are from 0 to 1.
  [[nodiscard]] double weight(QState state) const {
    if (all_stale_ || stale_[state]) weigh(state);
    return weights_[state];
  }
  [[nodiscard]] double explore() const { return explore_; }
  [[nodiscard]] std::uint64_t outcomes() const { return outcomes_; }  // learned from, since made
  // Changes of the table since it was made, those of retries included: without one, it need not be saved again.
  [[nodiscard]] std::uint64_t changes() const { return outcomes_ + retry_.outcomes(); }
  [[nodiscard]] const QOptions& options() const { return options_; }

  [[nodiscard]] AdaptiveRetry& retry() { return retry_; }
  [[nodiscard]] const AdaptiveRetry& retry() const { return retry_; }

  // The table as text: a version line, then exploration and values, then those of retries. The same table gives the
  // same text.
  [[nodiscard]] std::string save() const;
  // Takes over what save() wrote, also that of version 1, which had no retries; with anything else nothing changes and
  // the error says what is wrong.
  [[nodiscard]] std::expected<void, std::string> restore(std::string_view text);

 private:
  void weigh(QState state) const;

  QOptions options_;
  std::array<double, k_q_states> values_{};
  // Made when they are asked for: most strategies never do.
  mutable std::array<double, k_q_states> weights_{};
  mutable std::bitset<k_q_states> stale_;
  mutable double greatest_ = 0;
  mutable bool all_stale_ = true;
  double explore_;
  std::uint64_t outcomes_ = 0;
  AdaptiveRetry retry_;
};

}  // namespace skein::inline v0
