#include "skein/runtime/inspect.hpp"

#include "skein/runtime/core.hpp"
#include "skein/runtime/deterministic.hpp"
#include "skein/runtime/runtime.hpp"

namespace skein::inline v0::inspect {
namespace {

// The slot in which the process lives, or nullptr when it is gone.
const detail::Slot* slot_of(Self self, Pid pid) {
  const detail::Slot* slot = pid ? self.core().table.find(pid) : nullptr;
  return slot != nullptr && slot->generation.load(std::memory_order_acquire) == pid.generation() ? slot : nullptr;
}

}  // namespace

bool is_present(Self self, Pid pid) {
  const detail::Slot* slot = slot_of(self, pid);
  return slot != nullptr && slot->phase.load(std::memory_order_acquire) != detail::ProcessPhase::free;
}

bool is_started_by(Self self, Pid pid) {
  const detail::Slot* slot = slot_of(self, pid);
  return slot != nullptr && slot->parent.load(std::memory_order_acquire) == self.pid().bits();
}

std::vector<Pid> links(Self self) {
  std::vector<Pid> pids;
  const detail::Slot& slot = *self.slot();
  if (slot.first_link) pids.push_back(slot.first_link);
  if (slot.extension == nullptr) return pids;
  for (const std::uint64_t bits : slot.extension->links) pids.push_back(Pid::from_bits(bits));
  return pids;
}

bool has_link(Self self, Pid other) { return detail::has_link(*self.slot(), other); }

RuntimeRef::RuntimeRef(const Runtime& runtime) : core_(&runtime.core()) {}

std::weak_ptr<const void> RuntimeRef::life() const { return core_->weak_from_this(); }

bool pass_time(Runtime& runtime, Instant until) { return runtime.core().deterministic->pass_time(until); }

void set_now(Runtime& runtime, Instant now) { runtime.core().deterministic->set_now(now); }

}  // namespace skein::inline v0::inspect
