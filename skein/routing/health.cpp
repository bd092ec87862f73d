#include "skein/routing/health.hpp"

#include <algorithm>

namespace skein::inline v0 {
namespace {

constexpr double k_longest_ms = 86'400'000.0;  // a day; longer is as bad

std::size_t place_of(std::int64_t second) {
  const auto seconds = static_cast<std::int64_t>(AgentHealth::k_seconds);
  return static_cast<std::size_t>(((second % seconds) + seconds) % seconds);
}

}  // namespace

std::int64_t AgentHealth::second_of(Instant now) const {
  return std::max(latest_second_, std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count());
}

void AgentHealth::record(std::optional<Duration> scaled, bool ok, Instant now) {
  failed_[next_outcome_] = !ok;
  next_outcome_ = (next_outcome_ + 1) % k_window;
  outcomes_ = std::min(outcomes_ + 1, k_window);

  const std::int64_t second = second_of(now);
  if (latest_second_ == INT64_MIN || second - latest_second_ >= static_cast<std::int64_t>(k_seconds)) {
    finished_.fill(0);
  } else {
    for (std::int64_t each = latest_second_ + 1; each <= second; ++each) finished_[place_of(each)] = 0;
  }
  latest_second_ = second;
  ++finished_[place_of(second)];

  if (scaled && ok) {
    const double exact = std::chrono::duration<double, std::milli>(std::max(*scaled, Duration::zero())).count();
    remember_latency(static_cast<float>(std::min(exact, k_longest_ms)));
  }
}

void AgentHealth::remember_latency(float milliseconds) {
  const auto known = static_cast<double>(milliseconds);
  typical_ms_ = latencies_.empty() ? known : typical_ms_ + k_smoothing * (known - typical_ms_);
  if (latencies_.size() < k_window) {
    latencies_.push_back(milliseconds);
  } else {
    float& oldest = latencies_[next_latency_];
    sorted_.erase(std::ranges::lower_bound(sorted_, oldest));
    oldest = milliseconds;
    next_latency_ = (next_latency_ + 1) % k_window;
  }
  sorted_.insert(std::ranges::upper_bound(sorted_, milliseconds), milliseconds);
}

void AgentHealth::forget() {
  const std::int64_t second = latest_second_;
  *this = AgentHealth();
  latest_second_ = second;
}

double AgentHealth::success() const {
  if (outcomes_ == 0) return 1.0;
  return 1.0 - static_cast<double>(failed_.count()) / static_cast<double>(outcomes_);
}

double AgentHealth::per_second(Instant now) const {
  if (latest_second_ == INT64_MIN) return 0.0;
  const std::int64_t second = second_of(now);
  std::uint64_t sum = 0;
  for (std::int64_t back = 0; back < static_cast<std::int64_t>(k_seconds); ++back) {
    const std::int64_t each = latest_second_ - back;
    if (second - each < static_cast<std::int64_t>(k_seconds)) sum += finished_[place_of(each)];
  }
  return static_cast<double>(sum) / static_cast<double>(k_seconds);
}

double AgentHealth::score() const { return success() * (1.0 - std::min(1.0, slowness_ms() / k_latency_scale_ms)); }

}  // namespace skein::inline v0
