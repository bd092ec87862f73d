#include "sim/raft_net.hpp"

#include <algorithm>

namespace skein::sim::raft {

Duration RaftNet::delay() {
  const auto spread = static_cast<std::uint64_t>((weather.delay_max - weather.delay_min).count());
  Duration delay = weather.delay_min + Duration(static_cast<std::int64_t>(luck_.below(spread + 1)));
  if (luck_.chance(weather.very_late)) delay += Duration(static_cast<std::int64_t>(luck_.below(k_very_late.count())));
  return delay;
}

RaftNet::Fate RaftNet::fate_of(consensus::MemberId from, consensus::MemberId to, Instant now) {
  Fate fate;
  if (luck_.chance(weather.loss)) return fate;
  Instant arrives = now + delay();
  if (!luck_.chance(weather.reordered)) {
    Instant& newest = newest_[{from, to}];
    arrives = newest = std::max(newest, arrives);
    // A link that is as late as that has been torn down and made again.
    if (newest > now + std::chrono::milliseconds(500)) newest = now;
  }
  fate.arrives = arrives;
  if (luck_.chance(weather.twice)) fate.again = arrives + delay();
  return fate;
}

}  // namespace skein::sim::raft
