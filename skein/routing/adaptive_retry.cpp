#include "skein/routing/adaptive_retry.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "skein/routing/q_text.hpp"

namespace skein::inline v0 {
namespace {

constexpr double k_success_reward = 1.0;
constexpr double k_failed_again_reward = -10.0;
constexpr std::string_view k_retries_version_line = "skein-retry 1\n";

constexpr bool is_other(std::size_t action) { return action >= AdaptiveRetry::k_multiples.size(); }

}  // namespace

std::optional<std::string> AdaptiveRetryOptions::problem() const {
  const auto share = [](double value) { return value >= 0 && value <= 1; };
  if (!share(learning_rate) || learning_rate == 0) return "learning_rate must be above 0 and at most 1";
  if (!share(explore_first) || !share(explore_last) || explore_last > explore_first) {
    return "explore_first and explore_last must be from 0 to 1, the last not above the first";
  }
  if (!share(explore_decay)) return "explore_decay must be from 0 to 1";
  if (longest <= Duration::zero()) return "longest must be above 0";
  return std::nullopt;
}

AdaptiveRetry::AdaptiveRetry(AdaptiveRetryOptions options) : options_(options) {
  if (const auto problem = options_.problem()) throw std::invalid_argument("adaptive retry: " + *problem);
  explore_.fill(options_.explore_first);
}

AdaptiveRetry::Chosen AdaptiveRetry::choose(RetryClass error, Duration usual, std::optional<Duration> retry_after,
                                            Random& random, Prospects prospects) const {
  const auto number = static_cast<std::size_t>(error);
  std::size_t action = 0;
  if (random.chance(explore_[number])) {
    action = random.below(k_actions);
  } else {
    // The first of the greatest: with nothing learned, what the policy says, at the same agent.
    const auto worth = [&](std::size_t each) {
      return values_[number][each] + (is_other(each) ? prospects.other : prospects.same);
    };
    for (std::size_t each = 1; each < k_actions; ++each) {
      if (worth(each) > worth(action)) action = each;
    }
  }
  const double usual_ns = static_cast<double>(std::max(usual, Duration::zero()).count());
  const double wanted_ns = usual_ns * k_multiples[action % k_multiples.size()];
  Duration delay = wanted_ns < static_cast<double>(options_.longest.count())
                       ? Duration(static_cast<std::int64_t>(wanted_ns))
                       : options_.longest;
  delay = std::max(delay, honoured(retry_after));
  return {delay, is_other(action), error, static_cast<std::uint8_t>(action)};
}

void AdaptiveRetry::learn(const Chosen& chosen, bool ok) {
  const auto number = static_cast<std::size_t>(chosen.error);
  if (number >= k_retry_classes || chosen.action >= k_actions) return;
  const double waited = std::clamp(std::chrono::duration<double>(chosen.delay).count(), 0.0, 60.0);
  double& value = values_[number][chosen.action];
  value += options_.learning_rate * ((ok ? k_success_reward : k_failed_again_reward) - waited - value);
  explore_[number] = std::max(options_.explore_last, explore_[number] * options_.explore_decay);
  ++outcomes_;
}

std::string AdaptiveRetry::save() const {
  std::string text(k_retries_version_line);
  q_text::append_line(text, "explore", explore_);
  for (std::size_t i = 0; i < k_retry_classes; ++i) {
    q_text::append_line(text, retry_class_name(static_cast<RetryClass>(i)), values_[i]);
  }
  return text;
}

std::expected<void, std::string> AdaptiveRetry::restore(std::string_view text) {
  if (text.size() > k_text_bytes_max)
    return std::unexpected("learned table: too long; delete the file to start afresh");
  if (!text.starts_with(k_retries_version_line)) {
    return std::unexpected("learned table: does not begin with 'skein-retry 1'; delete the file to start afresh");
  }
  text.remove_prefix(k_retries_version_line.size());
  AdaptiveRetry read(options_);
  if (auto line = q_text::take_line(text, "explore", read.explore_); !line) return line;
  for (std::size_t i = 0; i < k_retry_classes; ++i) {
    if (auto line = q_text::take_line(text, retry_class_name(static_cast<RetryClass>(i)), read.values_[i]); !line) {
      return line;
    }
  }
  if (!text.empty()) return std::unexpected("learned table: goes on after its end; delete the file to start afresh");
  if (std::ranges::any_of(read.explore_, [](double each) { return each < 0 || each > 1; })) {
    return std::unexpected("learned table: line 'explore' is not from 0 to 1; delete the file to start afresh");
  }
  values_ = read.values_;
  explore_ = read.explore_;
  return {};
}

}  // namespace skein::inline v0
