#include "skein/resilience/retry_policy.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace skein::inline v0 {
namespace {

RetryOptions checked(const RetryOptions& options) {
  if (const auto problem = options.problem()) throw std::invalid_argument("retry policy: " + *problem);
  return options;
}

// Written so that an infinite product is capped too, and one that is no number (0 times infinity) is none.
Duration capped(double delay_ns, Duration longest) {
  if (!(delay_ns > 0)) return Duration::zero();
  return delay_ns < static_cast<double>(longest.count()) ? Duration(static_cast<std::int64_t>(delay_ns)) : longest;
}

}  // namespace

std::string_view retry_class_name(RetryClass error) {
  switch (error) {
    case RetryClass::transient:
      return "transient";
    case RetryClass::permanent:
      return "permanent";
    case RetryClass::rate_limited:
      return "rate_limited";
    case RetryClass::resource:
      return "resource";
  }
  return "unknown";
}

std::optional<std::string> RetryOptions::problem() const {
  if (attempts == 0) return "attempts must be at least 1 (the first one counts)";
  if (first < Duration::zero()) return "first must not be negative";
  if (longest < first) return "longest must not be below first";
  if (!std::isfinite(factor) || factor < 1.0) return "factor must be a number of at least 1";
  if (!std::isfinite(jitter) || jitter < 0.0 || jitter > 1.0) return "jitter must be from 0 to 1";
  return std::nullopt;
}

RetryPolicy::RetryPolicy(RetryOptions options) {
  classes_.fill(checked(options));
  classes_[static_cast<std::size_t>(RetryClass::permanent)].attempts = 1;
}

void RetryPolicy::set(RetryClass error, RetryOptions options) {
  classes_[static_cast<std::size_t>(error)] = checked(options);
}

std::optional<Duration> RetryPolicy::base_delay(std::uint32_t attempt, RetryClass error) const {
  const RetryOptions& options = this->options(error);
  if (attempt == 0 || attempt >= options.attempts) return std::nullopt;
  const auto first = static_cast<double>(options.first.count());
  double delay = 0;
  switch (options.growth) {
    case Growth::none:
      break;
    case Growth::fixed:
      delay = first;
      break;
    case Growth::linear:
      delay = first * attempt;
      break;
    case Growth::exponential:
      delay = first * std::pow(options.factor, attempt - 1);
      break;
  }
  return capped(delay, options.longest);
}

std::optional<Duration> RetryPolicy::next(std::uint32_t attempt, RetryClass error, Random& random,
                                          std::optional<Duration> retry_after) const {
  const auto base = base_delay(attempt, error);
  if (!base) return std::nullopt;
  const double spread = 1.0 + options(error).jitter * (2.0 * random.unit() - 1.0);
  const Duration delay = capped(static_cast<double>(base->count()) * spread, options(error).longest);
  return std::max(delay, honoured(retry_after));
}

}  // namespace skein::inline v0
