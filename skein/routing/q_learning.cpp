#include "skein/routing/q_learning.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "skein/routing/q_text.hpp"

namespace skein::inline v0 {
namespace {

constexpr double k_fast_ms = 50.0;
constexpr double k_slow_ms = 200.0;
constexpr double k_success_low = 0.8;
constexpr double k_success_high = 0.95;
constexpr double k_failure_reward = -10.0;
constexpr double k_latency_s_max = 60.0;  // a longer wait is not worse than this, or one outcome would bury the rest
constexpr std::string_view k_version_line = "skein-q 2\n";
constexpr std::string_view k_version_line_1 = "skein-q 1\n";

}  // namespace

QState q_state(std::uint32_t load, double success, double latency_ms) {
  const std::size_t loads = std::min<std::size_t>(load, k_q_loads - 1);
  const std::size_t succeeding = success > k_success_high ? 2 : success >= k_success_low ? 1 : 0;
  const std::size_t latency = !(latency_ms >= 0) ? 2 : latency_ms < k_fast_ms ? 0 : latency_ms < k_slow_ms ? 1 : 2;
  return static_cast<QState>((loads * 3 + succeeding) * 3 + latency);
}

QState q_state_at_load(QState idle, std::uint32_t load) {
  const std::size_t loads = std::min<std::size_t>(load, k_q_loads - 1);
  return static_cast<QState>(loads * k_q_states / k_q_loads + idle);
}

std::optional<std::string> QOptions::problem() const {
  const auto share = [](double value) { return value >= 0 && value <= 1; };
  if (!share(learning_rate) || learning_rate == 0) return "learning_rate must be above 0 and at most 1";
  if (!(discount >= 0 && discount < 1)) return "discount must be from 0 to below 1";
  if (!share(explore_first) || !share(explore_last) || explore_last > explore_first) {
    return "explore_first and explore_last must be from 0 to 1, the last not above the first";
  }
  if (!share(explore_decay)) return "explore_decay must be from 0 to 1";
  if (!(temperature >= 1e-3 && temperature <= 1e6)) return "temperature must be from 0.001 to 1000000";
  if (auto problem = retry.problem()) return "retry: " + *problem;
  return std::nullopt;
}

QLearning::QLearning(QOptions options) : options_(options), explore_(options.explore_first), retry_(options.retry) {
  if (const auto problem = options_.problem()) throw std::invalid_argument("q-learning: " + *problem);
  // Until shown otherwise, a busier agent is a little worse.
  for (std::size_t state = 0; state < k_q_states; ++state) {
    const std::size_t load = state * k_q_loads / k_q_states;
    values_[state] = -0.01 * static_cast<double>(load);
  }
}

double QLearning::reward(bool ok, std::optional<Duration> latency) {
  double reward = ok ? 0.0 : k_failure_reward;
  if (!latency) return reward;
  const double seconds = std::clamp(std::chrono::duration<double>(*latency).count(), 0.0, k_latency_s_max);
  reward -= seconds;
  if (seconds * 1000 >= k_slow_ms) return reward - 1;
  // A quick failure is no merit: without this an agent that fails at once would look better than one that fails late.
  return ok && seconds * 1000 < k_fast_ms ? reward + 1 : reward;
}

void QLearning::learn(QState state, double reward, QState afterwards) {
  if (state >= k_q_states || afterwards >= k_q_states || !std::isfinite(reward)) return;
  double& value = values_[state];
  const bool was_greatest = value >= greatest_;
  const double target = std::clamp(reward, -100.0, 100.0) + options_.discount * values_[afterwards];
  value += options_.learning_rate * (target - value);
  value = std::clamp(value, -q_text::k_value_max, q_text::k_value_max);
  explore_ = std::max(options_.explore_last, explore_ * options_.explore_decay);
  ++outcomes_;
  stale_.set(state);
  if (was_greatest || value > greatest_) all_stale_ = true;
}

void QLearning::weigh(QState state) const {
  const auto weight_of = [this](std::size_t i) { return std::exp((values_[i] - greatest_) / options_.temperature); };
  if (all_stale_) {
    greatest_ = *std::ranges::max_element(values_);
    for (std::size_t i = 0; i < k_q_states; ++i) weights_[i] = weight_of(i);
    all_stale_ = false;
    stale_.reset();
  } else {
    weights_[state] = weight_of(state);
    stale_.reset(state);
  }
}

std::string QLearning::save() const {
  std::string text(k_version_line);
  q_text::append_line(text, "explore", std::span(&explore_, 1));
  q_text::append_line(text, "values", values_);
  return text + retry_.save();
}

std::expected<void, std::string> QLearning::restore(std::string_view text) {
  if (text.size() > k_text_bytes_max)
    return std::unexpected("learned table: too long; delete the file to start afresh");
  const bool without_retries = text.starts_with(k_version_line_1);
  if (!without_retries && !text.starts_with(k_version_line)) {
    return std::unexpected("learned table: does not begin with 'skein-q 2'; delete the file to start afresh");
  }
  text.remove_prefix(k_version_line.size());
  std::array<double, 1> explore{};
  std::array<double, k_q_states> values{};
  if (auto line = q_text::take_line(text, "explore", explore); !line) return line;
  if (auto line = q_text::take_line(text, "values", values); !line) return line;
  if (without_retries && !text.empty()) {
    return std::unexpected("learned table: goes on after its end; delete the file to start afresh");
  }
  if (explore[0] < 0 || explore[0] > 1) {
    return std::unexpected("learned table: line 'explore' is not from 0 to 1; delete the file to start afresh");
  }
  if (!without_retries) {
    if (auto retries = retry_.restore(text); !retries) return retries;
  }
  explore_ = explore[0];
  values_ = values;
  all_stale_ = true;
  return {};
}

}  // namespace skein::inline v0
