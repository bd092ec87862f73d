// Processes that are not asked to announce themselves: they would be refused again, or take their name from its present
// holder. They may still announce themselves. The last k_turned_away_max of them. A value; one thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>

#include "skein/runtime/pid.hpp"

namespace skein::inline v0::dispatch {

class TurnedAway {
 public:
  static constexpr std::size_t k_turned_away_max = 1'024;

  void add(Pid pid) {
    if (pids_.size() == k_turned_away_max) pids_.pop_front();
    pids_.push_back(pid);
  }
  [[nodiscard]] bool has(Pid pid) const { return std::ranges::find(pids_, pid) != pids_.end(); }

 private:
  std::deque<Pid> pids_;
};

}  // namespace skein::inline v0::dispatch
