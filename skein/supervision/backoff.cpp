#include "skein/supervision/backoff.hpp"

#include <algorithm>
#include <cmath>

namespace skein::inline v0 {

Backoff Backoff::fixed(Duration delay) {
  Backoff backoff;
  backoff.kind = BackoffKind::fixed;
  backoff.initial = delay;
  backoff.max = delay;
  return backoff;
}

Backoff Backoff::linear(Duration step, Duration max) {
  Backoff backoff;
  backoff.kind = BackoffKind::linear;
  backoff.initial = step;
  backoff.max = max;
  return backoff;
}

Backoff Backoff::exponential(Duration initial, Duration max) {
  Backoff backoff;
  backoff.kind = BackoffKind::exponential;
  backoff.initial = initial;
  backoff.max = max;
  return backoff;
}

Duration Backoff::delay(std::uint32_t attempt, Random& random) const {
  if (kind == BackoffKind::none) return Duration::zero();
  const auto first = static_cast<double>(initial.count());
  double wait = first;
  if (kind == BackoffKind::linear) wait = first * static_cast<double>(std::max(attempt, 1U));
  if (kind == BackoffKind::exponential) wait = first * std::pow(factor, static_cast<double>(std::max(attempt, 1U) - 1));
  wait = std::min(wait, static_cast<double>(max.count()));
  wait *= 1.0 + jitter * (2.0 * random.unit() - 1.0);
  return Duration(std::llround(wait));
}

std::optional<std::string> Backoff::fault() const {
  if (kind == BackoffKind::none) return std::nullopt;
  if (initial <= Duration::zero()) return "backoff.initial must be more than 0";
  if (max < initial) return "backoff.max must not be less than backoff.initial";
  if (max > std::chrono::hours(24 * 365)) return "backoff.max must be at most a year";
  if (!(jitter >= 0.0 && jitter <= 1.0)) return "backoff.jitter must be between 0 and 1";
  if (kind == BackoffKind::exponential && !(factor >= 1.0)) return "backoff.factor must be at least 1";
  return std::nullopt;
}

}  // namespace skein::inline v0
