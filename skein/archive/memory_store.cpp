#include "skein/archive/memory_store.hpp"

#include <algorithm>
#include <utility>

#include "skein/archive/words.hpp"

namespace skein::inline v0::archive {
namespace {

bool fits(const ledger::FinishedTask& each, const Query& query, const std::vector<std::string>& words) {
  const auto& task = each.task;
  if (query.state && task.state != *query.state) return false;
  if (!query.swarm.empty() && task.shape->swarm != query.swarm) return false;
  if (!query.type.empty() && task.shape->type != query.type) return false;
  if (query.finished_from != 0 && each.finished_at < query.finished_from) return false;
  if (query.finished_before != 0 && each.finished_at >= query.finished_before) return false;
  if (each.finish_number <= query.above) return false;
  if (query.below != 0 && each.finish_number >= query.below) return false;
  if (query.submitted_below != 0 && task.number >= query.submitted_below) return false;
  return has_words(words, {ledger::view_of(task.params), ledger::view_of(each.result), each.message});
}

Finished without_bodies(const ledger::FinishedTask& whole) {
  auto brief = std::make_shared<ledger::FinishedTask>(whole);
  brief->task.params = brief->task.mark = brief->result = nullptr;
  brief->task.history = nullptr;
  return brief;
}

}  // namespace

ArchiveResult<void> MemoryStore::insert(std::span<const Finished> tasks) {
  const std::lock_guard lock(mutex_);
  if (failure_) return std::unexpected(*failure_);
  for (const auto& each : tasks) {
    // Almost always the last of all, whose place is known.
    if (each->finish_number <= last_) remove(each->finish_number);
    if (const auto at = numbers_.find(each->task.id); at != numbers_.end()) remove(at->second);
    numbers_[each->task.id] = each->finish_number;
    tasks_.emplace_hint(tasks_.begin(), each->finish_number, each);
    last_ = std::max(last_, each->finish_number);
  }
  return {};
}

ArchiveResult<ledger::FinishNumber> MemoryStore::last() {
  const std::lock_guard lock(mutex_);
  return last_;
}

ArchiveResult<Finished> MemoryStore::find(ledger::TaskId id) {
  const std::lock_guard lock(mutex_);
  const auto at = numbers_.find(id);
  return at == numbers_.end() ? nullptr : tasks_.at(at->second);
}

ArchiveResult<std::vector<Finished>> MemoryStore::query(const Query& query) {
  const auto words = words_of(query.text, k_words_max);
  const std::size_t limit = std::min(query.limit, k_page_max);
  std::vector<Finished> page;
  const std::lock_guard lock(mutex_);
  for (const auto& [number, each] : tasks_) {
    if (query.order == Query::Order::last_finished_first && page.size() == limit) break;
    if (fits(*each, query, words)) page.push_back(without_bodies(*each));
  }
  if (query.order == Query::Order::last_submitted_first) {
    std::ranges::sort(page, std::greater{}, [](const Finished& each) { return each->task.number; });
    if (page.size() > limit) page.resize(limit);
  }
  return page;
}

ArchiveResult<bool> MemoryStore::link_retry(ledger::TaskId old_task, ledger::TaskId new_task) {
  const std::lock_guard lock(mutex_);
  const auto at = numbers_.find(old_task);
  if (at == numbers_.end()) return false;
  auto linked = std::make_shared<ledger::FinishedTask>(*tasks_.at(at->second));
  linked->retried_as = new_task;
  tasks_[at->second] = std::move(linked);
  return true;
}

ArchiveResult<std::uint64_t> MemoryStore::retain(const Retention& retention, ledger::WallMs now,
                                                 std::uint64_t at_most) {
  const auto age = static_cast<std::uint64_t>(retention.age.count());
  const std::lock_guard lock(mutex_);
  std::uint64_t removed = 0;
  while (removed < at_most && !tasks_.empty()) {
    const auto& [number, oldest] = *tasks_.rbegin();
    const bool too_old = age != 0 && oldest->finished_at + age < now;
    const bool too_many = retention.tasks != 0 && tasks_.size() > retention.tasks;
    if (!too_old && !too_many) break;
    remove(number);
    ++removed;
  }
  return removed;
}

ArchiveResult<std::uint64_t> MemoryStore::count() {
  const std::lock_guard lock(mutex_);
  return tasks_.size();
}

void MemoryStore::fail_with(std::optional<ArchiveError> error) {
  const std::lock_guard lock(mutex_);
  failure_ = std::move(error);
}

void MemoryStore::remove(ledger::FinishNumber number) {
  const auto at = tasks_.find(number);
  if (at == tasks_.end()) return;
  numbers_.erase(at->second->task.id);
  tasks_.erase(at);
}

}  // namespace skein::inline v0::archive
