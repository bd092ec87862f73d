#include "skein/node/watchdog.hpp"

#include <fmt/format.h>

#include "skein/node/sd_notify.hpp"
#include "skein/supervision/child.hpp"

namespace skein::inline v0::node {
namespace {

constexpr int k_beats_in_time = 10;

}  // namespace

Watchdog::Watchdog(Self self, Duration every) { self.send_interval(every, self.pid(), Beat{}); }

void Watchdog::handle_info(Self, Message message) {
  if (!message.is<Beat>()) return;
  ++beats_;
  // No process may wait here: it would hold one of the scheduler's threads.
  sd_notify("WATCHDOG=1", NotifyWait::forbidden);
}

std::string Watchdog::describe() const { return fmt::format("{} beats", beats_); }

std::optional<ChildSpec> watchdog_child() {
  const auto allowed = sd_watchdog();
  if (!allowed) return std::nullopt;
  return named_child<Watchdog>("watchdog", "watchdog", Duration(*allowed / k_beats_in_time));
}

}  // namespace skein::inline v0::node
