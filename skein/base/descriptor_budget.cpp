#include "skein/base/descriptor_budget.hpp"

#include <iterator>
#include <utility>
#include <vector>

namespace skein::inline v0 {

bool DescriptorBudget::has_room(const Entry& entry) const {
  const bool is_share_full = entry.is_stranger && strangers_.size() - leaving_ >= limits_.strangers_max;
  return !is_share_full && used_ - leaving_ + entry.count <= limits_.total;
}

// The stranger that has been here longest, of those that stay.
DescriptorBudget::Entry* DescriptorBudget::oldest_stranger() {
  for (Entry& each : strangers_) {
    if (!each.is_leaving) return &each;
  }
  return nullptr;
}

DescriptorPlace DescriptorBudget::admit(Entry entry) {
  std::vector<std::function<void()>> told;
  Place place;
  {
    const std::scoped_lock lock(mutex_);
    while (!has_room(entry) && leaving_ < limits_.leaving_max) {
      Entry* const oldest = oldest_stranger();
      if (oldest == nullptr) break;
      oldest->is_leaving = true;
      ++leaving_;
      ++sent_away_;
      // One that has not said yet how it is told hears of it when it does.
      if (oldest->go) told.push_back(std::exchange(oldest->go, nullptr));
    }
    if (has_room(entry)) {
      used_ += entry.count;
      if (entry.count > 1) ++processes_;
      Entries& entries = entry.is_stranger ? strangers_ : others_;
      entries.push_back(std::move(entry));
      place = Place(shared_from_this(), std::prev(entries.end()));
    } else {
      ++refused_;
    }
  }
  for (const auto& go : told) go();
  return place;
}

DescriptorPlace DescriptorBudget::admit_stranger() {
  Entry entry;
  entry.is_stranger = true;
  return admit(std::move(entry));
}

DescriptorPlace DescriptorBudget::admit_member() { return admit({}); }

DescriptorPlace DescriptorBudget::admit_process(std::size_t descriptors) {
  Entry entry;
  entry.count = descriptors;
  return admit(std::move(entry));
}

DescriptorBudget::Use DescriptorBudget::use() const {
  const std::scoped_lock lock(mutex_);
  return {limits_.total, used_, strangers_.size(), limits_.strangers_max, processes_, sent_away_, refused_};
}

void DescriptorBudget::Place::trust() {
  if (!budget_) return;
  const std::scoped_lock lock(budget_->mutex_);
  if (!at_->is_stranger) return;
  // One that was just told to go stays, although its place is taken: there are as many too many for a while.
  if (std::exchange(at_->is_leaving, false)) --budget_->leaving_;
  at_->is_stranger = false;
  at_->go = nullptr;
  budget_->others_.splice(budget_->others_.end(), budget_->strangers_, at_);
}

void DescriptorBudget::Place::when_to_go(std::function<void()> go) {
  if (!budget_) return;
  {
    const std::scoped_lock lock(budget_->mutex_);
    if (!at_->is_leaving) {
      if (at_->is_stranger) at_->go = std::move(go);
      return;
    }
  }
  go();
}

void DescriptorBudget::Place::give_back() {
  if (!budget_) return;
  const auto budget = std::move(budget_);
  Entries gone;  // its function is let go of outside the lock
  const std::scoped_lock lock(budget->mutex_);
  if (at_->is_leaving) --budget->leaving_;
  if (at_->count > 1) --budget->processes_;
  budget->used_ -= at_->count;
  gone.splice(gone.end(), at_->is_stranger ? budget->strangers_ : budget->others_, at_);
}

}  // namespace skein::inline v0
