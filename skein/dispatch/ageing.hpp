// Ready tasks by when they rise to the next class of priority: a heap by that time. Entries of tasks that no longer
// wait stay until they come up or are swept, so the taker asks whether the task still waits. One thread at a
// time.
//
// Invariant: entries are taken in the order of `due`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "skein/base/time.hpp"
#include "skein/dispatch/dispatcher_records.hpp"

namespace skein::inline v0::dispatch {

class Ageing {
 public:
  struct Entry {
    Instant due;
    Instant since;           // when it began to wait at its present class
    std::int64_t order = 0;  // of its task's place in the queue; no other task has had it
    SlotNumber slot = 0;
  };

  void add(const Entry& entry) {
    entries_.push_back(entry);
    std::push_heap(entries_.begin(), entries_.end(), is_later);
  }

  // The first that is due, if one is.
  [[nodiscard]] std::optional<Entry> take_due(Instant now) {
    if (entries_.empty() || entries_.front().due > now) return std::nullopt;
    std::pop_heap(entries_.begin(), entries_.end(), is_later);
    const Entry first = entries_.back();
    entries_.pop_back();
    return first;
  }

  // Drops the entries of tasks that wait no longer, once there are many of them beside those of `waiting` tasks.
  template <class IsWaiting>
  void sweep(std::size_t waiting, IsWaiting is_waiting) {
    if (entries_.size() <= 2 * waiting + k_slack) return;
    std::erase_if(entries_, [&](const Entry& each) { return !is_waiting(each); });
    std::make_heap(entries_.begin(), entries_.end(), is_later);
  }

  void clear() { entries_.clear(); }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  static constexpr std::size_t k_slack = 1'024;
  [[nodiscard]] static bool is_later(const Entry& one, const Entry& other) { return one.due > other.due; }

  std::vector<Entry> entries_;
};

}  // namespace skein::inline v0::dispatch
