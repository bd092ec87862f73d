#include "skein/resilience/phi_detector.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace skein::inline v0 {
namespace {

constexpr double k_longest_interval = 1e18;  // ns, some thirty years: keeps the sums finite

// Suspicion after `elapsed` ns without a heartbeat.
double tail(double elapsed, double mean, double deviation) {
  const double y = (elapsed - mean) / deviation;
  const double exponent = -y * (1.5976 + 0.070566 * y * y);
  if (elapsed > mean) {
    // e/(1+e) with e = exp(exponent): for a very negative exponent e underflows, but its logarithm is the exponent.
    if (exponent < -700) return std::min(-exponent / std::log(10.0), PhiDetector::k_phi_max);
    const double e = std::exp(exponent);
    return -std::log10(e / (1.0 + e));
  }
  if (exponent > 700) return 0.0;
  return -std::log10(1.0 - 1.0 / (1.0 + std::exp(exponent)));
}

}  // namespace

std::optional<std::string> PhiOptions::problem() const {
  if (!(threshold > 0) || !std::isfinite(threshold)) return "threshold must be a number above 0";
  if (threshold > PhiDetector::k_phi_max) return "threshold must be at most 1000";
  if (window == 0) return "window must be at least 1";
  if (window > 1'000'000) return "window must be at most 1000000";
  if (min_deviation <= Duration::zero()) return "min_deviation must be above 0";
  if (acceptable_pause < Duration::zero()) return "acceptable_pause must not be negative";
  if (first_interval <= Duration::zero()) return "first_interval must be above 0";
  if (local_pause <= Duration::zero()) return "local_pause must be above 0";
  return std::nullopt;
}

PhiDetector::PhiDetector(std::shared_ptr<const PhiOptions> options)
    : options_(std::move(options)), usual_gap_(least_gap()) {
  if (const auto problem = options_->problem()) throw std::invalid_argument("phi detector: " + *problem);
}

void PhiDetector::learn(double interval_ns) {
  const auto rounded = static_cast<float>(std::clamp(interval_ns, 0.0, k_longest_interval));
  const double interval = rounded;
  if (ring_.size() < options_->window) {
    ring_.push_back(rounded);
  } else {
    const double oldest = ring_[next_];
    sum_ -= oldest;
    squares_ -= oldest * oldest;
    ring_[next_] = rounded;
    next_ = (next_ + 1) % static_cast<std::uint32_t>(ring_.size());
  }
  sum_ += interval;
  squares_ += interval * interval;
  if (next_ != 0 || ring_.size() < options_->window) return;
  // Once a window, afresh: what was added and taken away again leaves rounding behind, a lot after a long interval.
  sum_ = 0;
  squares_ = 0;
  for (const double each : ring_) {
    sum_ += each;
    squares_ += each * each;
  }
}

Instant PhiDetector::latest(Instant now) const { return std::max({now, last_, last_asked_}); }

void PhiDetector::heartbeat(Instant now) {
  if (last_ == k_never) {
    // Mean and spread of the first guess: two intervals, a quarter below and above it.
    const auto guess = static_cast<double>(options_->first_interval.count());
    learn(guess * 0.75);
    learn(guess * 1.25);
    last_ = now;
    return;
  }
  const Instant at = latest(now);
  // Read before the asker has noticed that it slept.
  if (last_asked_ != k_never && is_pause(between(last_asked_, at))) woken_ = at;
  const bool after_sleep = woken_ != k_never && last_ < later(woken_, mean());
  if (!after_sleep && is_available(at)) learn(static_cast<double>((between(last_, at) - forgiven_).count()));
  last_ = at;
  forgiven_ = Duration::zero();
}

void PhiDetector::asked(Instant now) {
  const Instant at = latest(now);
  if (last_asked_ != k_never) {
    const Duration gap = between(last_asked_, at);
    if (is_pause(gap)) {
      // Only time after the last heartbeat can be held against the node; the usual gap still counts.
      const Duration quiet = last_ != k_never ? between(last_, at) : Duration::zero();
      forgiven_ += std::min(gap - usual_gap_, quiet - forgiven_);
      woken_ = at;
      usual_gap_ *= 2;
    } else {
      usual_gap_ = std::max(least_gap(), usual_gap_ + (gap - usual_gap_) / 8);
    }
  }
  last_asked_ = at;
}

Duration PhiDetector::mean() const {
  if (ring_.empty()) return options_->first_interval;
  return Duration(static_cast<std::int64_t>(std::max(0.0, sum_) / static_cast<double>(ring_.size())));
}

Duration PhiDetector::deviation() const {
  if (ring_.empty()) return options_->min_deviation;
  const auto n = static_cast<double>(ring_.size());
  const double average = sum_ / n;
  // Sums of squares cancel badly for regular nodes; what is left below zero is rounding.
  const double variance = std::max(0.0, squares_ / n - average * average);
  return std::max(options_->min_deviation, Duration(static_cast<std::int64_t>(std::sqrt(variance))));
}

double PhiDetector::phi(Instant now) const {
  if (last_ == k_never) return 0.0;
  const Duration quiet = between(last_, latest(now)) - forgiven_;
  if (quiet <= Duration::zero()) return 0.0;
  const auto expected = static_cast<double>(mean().count()) + static_cast<double>(options_->acceptable_pause.count());
  const double value = tail(static_cast<double>(quiet.count()), expected, static_cast<double>(deviation().count()));
  return std::isfinite(value) ? std::clamp(value, 0.0, k_phi_max) : k_phi_max;
}

}  // namespace skein::inline v0
