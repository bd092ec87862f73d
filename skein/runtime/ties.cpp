// Links and monitors of one process: the first of each lives in the slot, more in the extension; two more watchers in
// the spare place of a slot that has one.
#include "skein/runtime/core.hpp"

namespace skein::inline v0::detail {

Extension& extend(Slot& slot) {
  if (slot.extension == nullptr) slot.extension = new Extension;
  return *slot.extension;
}

bool has_link(const Slot& slot, Pid other) {
  if (slot.first_link == other) return true;
  return slot.extension != nullptr && slot.extension->links.contains(other.bits());
}

void add_link(Slot& slot, Pid other) {
  if (has_link(slot, other)) return;
  if (!slot.first_link) {
    slot.first_link = other;
  } else {
    extend(slot).links.insert(other.bits());
  }
}

bool remove_link(Slot& slot, Pid other) {
  if (slot.first_link == other) {
    slot.first_link = Pid{};
    return true;
  }
  return slot.extension != nullptr && slot.extension->links.erase(other.bits()) > 0;
}

void add_watcher(Slot& slot, Watcher watcher) {
  if (!slot.first_watcher.pid) {
    slot.first_watcher = watcher;
    return;
  }
  if (slot.has_spare) {
    for (Watcher& each : slot.spare().watchers) {
      if (each.pid) continue;
      each = watcher;
      return;
    }
  }
  extend(slot).watchers.insert(watcher);
}

void remove_watcher(Slot& slot, Watcher watcher) {
  if (slot.first_watcher == watcher) {
    slot.first_watcher = Watcher{};
    return;
  }
  if (slot.has_spare) {
    for (Watcher& each : slot.spare().watchers) {
      if (each != watcher) continue;
      each = Watcher{};
      return;
    }
  }
  if (slot.extension != nullptr) slot.extension->watchers.erase(watcher);
}

void add_monitor(Slot& slot, std::uint64_t ref, Pid whom) {
  if (slot.first_monitor.ref == 0) {
    slot.first_monitor = Watcher{whom, ref};
  } else {
    extend(slot).monitors.emplace(ref, whom);
  }
}

bool has_monitor(const Slot& slot, std::uint64_t ref) {
  if (slot.first_monitor.ref == ref) return true;
  return slot.extension != nullptr && slot.extension->monitors.contains(ref);
}

Pid remove_monitor(Slot& slot, std::uint64_t ref) {
  if (slot.first_monitor.ref == ref) return std::exchange(slot.first_monitor, Watcher{}).pid;
  if (slot.extension == nullptr) return {};
  const auto found = slot.extension->monitors.find(ref);
  if (found == slot.extension->monitors.end()) return {};
  const Pid whom = found->second;
  slot.extension->monitors.erase(found);
  return whom;
}

}  // namespace skein::inline v0::detail
