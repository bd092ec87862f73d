// What supervisors do, as events for those who follow the node and as figures for its status. The log has every line of
// it; here is what people look for: restarts, starts that failed, children that are parked, restart limits nearly or
// quite used up.
//
// Any thread. A restart of the engine happens while there is no event stream: such events are kept, at most k_kept_max
// of them, the oldest go first, until the next stream takes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "skein/operations/event_stream.hpp"
#include "skein/operations/node_hooks.hpp"
#include "skein/supervision/events.hpp"

namespace skein::inline v0::node {

// Nothing: the event is no news. The publisher sets the time.
[[nodiscard]] std::optional<operations::Event> event_of(const SupervisionEvent& event);

class SupervisionLog {
 public:
  static constexpr std::size_t k_kept_max = 256;

  void count(const SupervisionEvent& event);
  [[nodiscard]] operations::SupervisionFigures figures() const;

  void keep(operations::Event event);
  // In the order in which they were kept; they are then gone.
  [[nodiscard]] std::vector<operations::Event> take_kept();

 private:
  mutable std::mutex mutex_;
  operations::SupervisionFigures figures_;
  std::deque<operations::Event> kept_;
};

}  // namespace skein::inline v0::node
