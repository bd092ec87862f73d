#include "skein/supervision/children.hpp"

#include <utility>

namespace skein::inline v0 {

void Children::count(const Child& child, bool add) {
  const auto adjust = [add](std::size_t& number, bool applies) {
    if (!applies) return;
    number = add ? number + 1 : number - 1;
  };
  adjust(active_, child.state == ChildState::running);
  adjust(supervisors_, child.spec->type == ChildType::supervisor);
  adjust(significant_alive_, child.spec->significant && child.state != ChildState::down);
}

void Children::append(Index index) {
  Child& child = slot(index);
  child.before = last_;
  child.after = k_none;
  (last_ == k_none ? first_ : slot(last_).after) = index;
  last_ = index;
}

void Children::unlink(Index index) {
  const Child& child = slot(index);
  (child.before == k_none ? first_ : slot(child.before).after) = child.after;
  (child.after == k_none ? last_ : slot(child.after).before) = child.before;
}

Children::Index Children::place(std::shared_ptr<const ChildSpec> spec, std::any extra) {
  Index index = 0;
  if (free_.empty()) {
    index = used_;
    const std::size_t room = (std::size_t{k_first_block} << blocks_.size()) - k_first_block;
    if (index == room) blocks_.push_back(std::make_unique<Child[]>(std::size_t{k_first_block} << blocks_.size()));
    ++used_;
  } else {
    index = free_.back();
    free_.pop_back();
  }
  Child& child = slot(index);
  child.spec = std::move(spec);
  child.extra = std::move(extra);
  child.key = ++next_key_;
  append(index);
  ++size_;
  if (!pool_) by_id_.emplace(child.spec->id, index);
  return index;
}

Children::Index Children::add(std::shared_ptr<const ChildSpec> spec, std::any extra) {
  const Index index = place(std::move(spec), std::move(extra));
  count(slot(index), true);
  return index;
}

Children::Index Children::add_running(std::shared_ptr<const ChildSpec> spec, std::any extra, Pid pid, Instant since) {
  const Index index = place(std::move(spec), std::move(extra));
  Child& child = slot(index);
  child.pid = pid;
  child.since = since;
  child.state = ChildState::running;
  by_pid_.insert_or_assign(pid, index);
  count(child, true);
  return index;
}

void Children::remove(Index index) {
  Child& child = slot(index);
  count(child, false);
  if (!pool_) by_id_.erase(child.spec->id);
  if (child.pid) by_pid_.erase(child.pid);
  unlink(index);
  child = Child{};
  free_.push_back(index);
  --size_;
}

void Children::set_running(Index index, Pid pid, Instant since) {
  Child& child = slot(index);
  count(child, false);
  if (child.pid) by_pid_.erase(child.pid);
  child.pid = pid;
  child.since = since;
  child.state = ChildState::running;
  by_pid_.insert_or_assign(pid, index);
  count(child, true);
}

void Children::set_waiting(Index index, ChildState restarting_or_parked) {
  Child& child = slot(index);
  count(child, false);
  child.state = restarting_or_parked;
  // The exit of a static child's process was seen; a pool's child is still addressed by its old Pid.
  if (!pool_ && child.pid) by_pid_.erase(child.pid);
  count(child, true);
}

void Children::set_down(Index index) {
  Child& child = slot(index);
  count(child, false);
  if (child.pid) by_pid_.erase(child.pid);
  child.pid = Pid{};
  child.state = ChildState::down;
  count(child, true);
}

void Children::replace_spec(Index index, std::shared_ptr<const ChildSpec> spec) {
  Child& child = slot(index);
  count(child, false);
  if (!pool_) by_id_.erase(child.spec->id);
  child.spec = std::move(spec);
  if (!pool_) by_id_.emplace(child.spec->id, index);
  count(child, true);
}

void Children::move_to_end(Index index) {
  unlink(index);
  append(index);
}

std::optional<Children::Index> Children::find(std::string_view id) const {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return std::nullopt;
  return found->second;
}

std::optional<Children::Index> Children::find(Pid pid) const {
  const auto found = by_pid_.find(pid);
  if (found == by_pid_.end()) return std::nullopt;
  return found->second;
}

bool Children::holds(Index index, std::uint64_t key) const {
  return index < used_ && key != 0 && slot(index).key == key;
}

Troubles& Children::troubles(Index index) {
  auto& troubles = slot(index).troubles;
  if (!troubles) troubles = std::make_unique<Troubles>();
  return *troubles;
}

void Children::note_failure(Index index, Failure failure) {
  Troubles& troubles = this->troubles(index);
  if (troubles.history.size() < k_failure_history) {
    troubles.history.push_back(std::move(failure));
    return;
  }
  troubles.history[troubles.oldest] = std::move(failure);
  troubles.oldest = (troubles.oldest + 1) % k_failure_history;
}

void Children::release_memory() {
  if (size_ == 0) {
    blocks_ = std::vector<std::unique_ptr<Child[]>>();
    used_ = 0;
    free_ = std::vector<Index>();
    by_id_.rehash(0);
    by_pid_.rehash(0);
    return;
  }
  free_.shrink_to_fit();
  by_id_.rehash(0);
  by_pid_.rehash(0);
}

}  // namespace skein::inline v0
