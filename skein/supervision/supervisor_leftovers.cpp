// Processes that a dead child supervisor left dying: watched until the last is dead, and only then is the child tried
// again. OTP has no such thing: there a killed supervisor's names may still be taken when it is restarted.
#include "skein/supervision/supervisor.hpp"

namespace skein::inline v0 {

Supervisor::Owner Supervisor::owner(Index index) const { return Owner{index, at(index).key, at(index).spec->id}; }

Supervisor::Owner Supervisor::owner_of(Pid dead, const Owner& starting) const {
  const std::optional<Index> found = view_->children.find(dead);
  if (found) return owner(*found);
  const auto ref = leftover_refs_.find(dead);
  if (ref == leftover_refs_.end()) return starting;
  const Leftover& leftover = leftovers_.at(ref->second);
  return Owner{leftover.index, leftover.key, leftover.id};
}

void Supervisor::publish_leftovers() {
  const std::scoped_lock lock(view_->mutex);
  view_->leftovers = leftovers_.size();
}

void Supervisor::settle_remains(Self self, const Owner& starting) {
  if (!view_->has_remains()) return;
  for (const Remains& remains : view_->take_remains()) {
    const Owner owner = owner_of(remains.of, starting);
    for (const Pid pid : remains.pids) {
      const MonitorRef ref = self.monitor(pid);
      leftovers_.emplace(ref.id, Leftover{pid, owner.index, owner.key, owner.id});
      leftover_refs_.insert_or_assign(pid, ref.id);
      ++leftover_counts_[owner.key];
    }
    report(self, EventKind::leftovers, EventLevel::info, nullptr, {}, {}, remains.pids.size());
  }
  publish_leftovers();
}

void Supervisor::on_leftover_down(Self self, std::uint64_t ref) {
  if (!leftovers_.contains(ref)) return;
  // First: it may have been a supervisor that left others, and they count for the same child.
  settle_remains(self, Owner{});
  const auto found = leftovers_.find(ref);
  const Leftover gone = std::move(found->second);
  leftovers_.erase(found);
  const auto same = leftover_refs_.find(gone.pid);
  if (same != leftover_refs_.end() && same->second == ref) leftover_refs_.erase(same);
  publish_leftovers();
  const auto count = leftover_counts_.find(gone.key);
  if (--count->second != 0) return;
  leftover_counts_.erase(count);
  if (!children().holds(gone.index, gone.key)) return;
  const Troubles* troubles = at(gone.index).troubles.get();
  if (troubles == nullptr || !troubles->waits_for_leftovers) return;
  arm_retry(self, gone.index, Duration::zero(), troubles->counted);
}

Async<bool> Supervisor::leftovers_gone(Self self, std::string id, Duration limit) {
  settle_remains(self, Owner{});
  const Instant deadline = later(self.now(), limit);
  for (;;) {
    // Each round takes those that are known; while they die more may come to light.
    std::vector<std::uint64_t> refs;
    for (const auto& [each, leftover] : leftovers_) {
      if (id.empty() || leftover.id == id) refs.push_back(each);
    }
    if (refs.empty()) co_return true;
    for (const std::uint64_t ref : refs) {
      const Duration left = deadline == Instant::max() ? k_forever : deadline - self.now();
      auto ending = self.down(MonitorRef{ref}, left);
      const std::optional<ExitReason> reason = co_await ending;
      if (!reason) co_return false;
      on_leftover_down(self, ref);
    }
  }
}

}  // namespace skein::inline v0
