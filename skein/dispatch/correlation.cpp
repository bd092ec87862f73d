#include "skein/dispatch/correlation.hpp"

#include <algorithm>

namespace skein::inline v0 {

CorrelationTracker::CorrelationTracker(std::size_t entries_max, Duration age_max)
    : entries_max_(std::max<std::size_t>(entries_max, 1)), age_max_(age_max) {}

void CorrelationTracker::drop(std::list<Entry>::iterator entry) {
  places_.erase(entry->id);
  entries_.erase(entry);
}

void CorrelationTracker::expire(Instant now) {
  latest_ = std::max(latest_, now);
  while (!entries_.empty() && later(entries_.front().since, age_max_) < latest_) drop(entries_.begin());
}

bool CorrelationTracker::track(std::string_view id, const TraceContext& trace, Instant now) {
  expire(now);
  if (id.empty() || id.size() > k_id_bytes_max) return false;
  if (const auto found = places_.find(id); found != places_.end()) drop(found->second);
  if (entries_.size() >= entries_max_) {
    drop(entries_.begin());
    ++evicted_;
  }
  entries_.push_back({std::string(id), trace, latest_});
  const auto newest = std::prev(entries_.end());
  places_.emplace(newest->id, newest);
  return true;
}

std::optional<CorrelationTracker::Entry> CorrelationTracker::find(std::string_view id, Instant now) {
  expire(now);
  const auto found = places_.find(id);
  if (found == places_.end()) return std::nullopt;
  return *found->second;
}

bool CorrelationTracker::forget(std::string_view id) {
  const auto found = places_.find(id);
  if (found == places_.end()) return false;
  drop(found->second);
  return true;
}

}  // namespace skein::inline v0
