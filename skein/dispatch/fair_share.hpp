// How swarms share what is not theirs alone: an executor with `concurrency`. Start-time fair queueing (Goyal, Vin and
// Cheng, 1996) over swarms: each has a virtual time that moves on by what it was given, divided by its weight, and the
// one whose time is least is next.
//
// What is given is place-time: seconds that a run holds a place. It is charged when the run is given out, by what is
// usual for its type, and put right when the run ends. So a swarm of hour-long tasks and one of short ones get places
// for equal times and not for equal numbers of tasks.
//
// 1. A swarm that had nothing to do saves nothing up: it begins at the virtual time of who was served last.
// 2. Over any time in which two swarms have waiting tasks, what they were given differs from their weights by no more
//    than one task of each and the error of the estimates under way.
//
// A value; one thread at a time. Swarms are the caller's small numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace skein::inline v0::dispatch {

class FairShare {
 public:
  // The virtual time at which the swarm would be served; the least is next.
  [[nodiscard]] double begins(std::uint32_t swarm) const {
    return swarm < ends_.size() ? std::max(ends_[swarm], now_) : now_;
  }
  // `cost` is in seconds, already divided by the swarm's weight.
  void served(std::uint32_t swarm, double cost) {
    now_ = begins(swarm);
    end_of(swarm) = now_ + cost;
  }
  // Corrects the charge: the run was given more than it was charged, or less.
  void corrected(std::uint32_t swarm, double cost) { end_of(swarm) += cost; }

 private:
  double& end_of(std::uint32_t swarm) {
    if (swarm >= ends_.size()) ends_.resize(std::size_t{swarm} + 1);
    return ends_[swarm];
  }

  double now_ = 0;
  std::vector<double> ends_;  // by swarm
};

}  // namespace skein::inline v0::dispatch
