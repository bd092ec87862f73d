// How an agent does: latency, success and throughput of its recent tasks, and one score made of them.
//
//   score = .4 (1 − p99 / 1000 ms) + .4 success + .2 min(1, tasks per second / 100)
//
// A value, told of outcomes and of the time. The percentile and the success are exact over the last k_window outcomes,
// throughput over the last k_seconds. Stated behaviour: a negative latency counts as zero; an unknown one (nothing, see
// known_latency) leaves the latencies as they are; a clock that stands still or goes back counts as the latest time
// seen. No figure is ever NaN or infinite. One thread at a time.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "skein/base/time.hpp"

namespace skein::inline v0 {

// A latency reported as a number of milliseconds; nothing for NaN, infinity and negative numbers.
[[nodiscard]] std::optional<Duration> known_latency(double milliseconds);

class AgentHealth {
 public:
  static constexpr std::size_t k_window = 100;
  static constexpr std::size_t k_seconds = 10;
  static constexpr double k_latency_scale_ms = 1000.0;
  static constexpr double k_throughput_scale = 100.0;
  static constexpr double k_smoothing = 0.1;

  void record(std::optional<Duration> latency, bool ok, Instant now);
  // As if new.
  void forget();

  [[nodiscard]] std::size_t outcomes() const { return outcomes_; }  // in the window
  // Share of the window that succeeded; 1 when nothing is known.
  [[nodiscard]] double success() const;
  // Of the window's latencies; 0 when nothing is known.
  [[nodiscard]] double p99_ms() const;
  // Follows the latencies, newer ones count more; 0 when nothing is known.
  [[nodiscard]] double typical_ms() const { return typical_ms_; }
  [[nodiscard]] double per_second(Instant now) const;
  // From 0 to 1.
  [[nodiscard]] double score(Instant now) const;

 private:
  void remember_latency(float milliseconds);
  [[nodiscard]] std::int64_t second_of(Instant now) const;

  std::vector<float> latencies_;  // in the order told, a ring once full
  std::vector<float> sorted_;     // the same ones
  std::size_t next_latency_ = 0;
  double typical_ms_ = 0;
  std::bitset<k_window> failed_;
  std::size_t next_outcome_ = 0;
  std::size_t outcomes_ = 0;
  std::array<std::uint32_t, k_seconds> finished_{};
  std::int64_t latest_second_ = INT64_MIN;
};

}  // namespace skein::inline v0
