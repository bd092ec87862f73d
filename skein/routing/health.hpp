// How an agent does: success and speed of its recent tasks, and one score made of them.
//
//   score = success × (1 − slowness / 1000 ms)
//
// Slowness is the median of the agent's recent successful runs, each scaled by the median of its type
// (type_figures.hpp), so that an agent is compared with others that do the same and not with a clock. The score falls
// below .5 when more than half of its tasks fail, or when it takes five times as long as is usual, or both in part. How
// much work it gets says nothing about it and does not count. The median and not a high percentile, because runs of one
// type differ: one of a hundred that takes ten times as long is the task's doing, half of them are the agent's.
//
// A value, told of outcomes and of the time. Success and slowness are exact over the last k_window outcomes, throughput
// over the last k_seconds. Stated behaviour: a negative time counts as zero; an unknown one (nothing)
// leaves the times as they are; a clock that stands still or goes back counts as the latest time seen.
// No figure is ever NaN or infinite. One thread at a time.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "skein/base/time.hpp"

namespace skein::inline v0 {

class AgentHealth {
 public:
  static constexpr std::size_t k_window = 100;
  static constexpr std::size_t k_seconds = 10;
  static constexpr double k_latency_scale_ms = 1000.0;
  static constexpr double k_smoothing = 0.1;

  // `scaled` is the time of the run by what is usual for its type. That of a failure is not looked at: a quick failure
  // is no merit.
  void record(std::optional<Duration> scaled, bool ok, Instant now);
  // As if new.
  void forget();

  [[nodiscard]] std::size_t outcomes() const { return outcomes_; }  // in the window
  // Share of the window that succeeded; 1 when nothing is known.
  [[nodiscard]] double success() const;
  // The median of the window's times; 0 when nothing is known.
  [[nodiscard]] double slowness_ms() const { return sorted_.empty() ? 0.0 : double{sorted_[sorted_.size() / 2]}; }
  // Follows the times, newer ones count more; 0 when nothing is known.
  [[nodiscard]] double typical_ms() const { return typical_ms_; }
  [[nodiscard]] double per_second(Instant now) const;
  // From 0 to 1.
  [[nodiscard]] double score() const;

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
