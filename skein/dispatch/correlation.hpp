// Requests by their id, with the trace each belongs to: who asks about an id an hour later still finds its trace.
//
// Holds at most `entries_max` entries for at most `age_max`; when full, the oldest makes room. Tracking an id again
// replaces its trace and makes it the newest. A clock that stands still or goes back counts as the latest time seen.
// A value; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "skein/base/time.hpp"
#include "skein/dispatch/trace_context.hpp"

namespace skein::inline v0 {

class CorrelationTracker {
 public:
  static constexpr std::size_t k_entries_max = 100'000;
  static constexpr std::size_t k_id_bytes_max = 256;
  static constexpr Duration k_age_max = std::chrono::hours(1);

  struct Entry {
    std::string id;
    TraceContext trace;
    Instant since;
  };

  // A limit of 0 counts as 1.
  explicit CorrelationTracker(std::size_t entries_max = k_entries_max, Duration age_max = k_age_max);
  CorrelationTracker(CorrelationTracker&&) = default;
  CorrelationTracker& operator=(CorrelationTracker&&) = default;

  // False for an id that is empty or longer than k_id_bytes_max.
  bool track(std::string_view id, const TraceContext& trace, Instant now);
  [[nodiscard]] std::optional<Entry> find(std::string_view id, Instant now);
  // False: it was not there.
  bool forget(std::string_view id);

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] std::uint64_t evicted() const { return evicted_; }  // for want of room

 private:
  void expire(Instant now);
  void drop(std::list<Entry>::iterator entry);

  std::size_t entries_max_;
  Duration age_max_;
  Instant latest_ = Instant::min();
  std::list<Entry> entries_;                                                 // oldest first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> places_;  // keys point into entries_
  std::uint64_t evicted_ = 0;
};

}  // namespace skein::inline v0
