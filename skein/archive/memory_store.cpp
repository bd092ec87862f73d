#include "skein/archive/memory_store.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "skein/archive/words.hpp"

namespace skein::inline v0::archive {
namespace {

bool fits(const ledger::FinishedTask& each, const Query& query, const std::vector<std::string>& words) {
  const auto& task = each.task;
  if (query.state && task.state != *query.state) return false;
  if (!query.swarm.empty() && task.shape->swarm != query.swarm) return false;
  if (!query.type.empty() && task.shape->type != query.type) return false;
  if (!query.id_prefix.empty() && !task.id.digits().starts_with(query.id_prefix)) return false;
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

ArchiveResult<void> MemoryStore::check_conflict(const ledger::FinishedTask& each) const {
  // Almost always it is the last of all, whose place is free.
  if (each.finish_number > state_.marks.last) return {};
  const auto at = state_.tasks.find(each.finish_number);
  if (at == state_.tasks.end() || at->second->task.id == each.task.id) return {};
  return std::unexpected(number_conflict("in memory", each, at->second->task.id));
}

void MemoryStore::insert_one(const Finished& each) {
  auto& marks = state_.marks;
  const bool is_next = each->finish_number > marks.last;
  bool is_there = false;
  if (!is_next) {
    is_there = state_.tasks.contains(each->finish_number);
    remove(each->finish_number);
  }
  if (const auto at = numbers_.find(each->task.id); at != numbers_.end()) {
    remove(at->second);
    ++marks.removed;
  }
  // Written off, and here after all.
  if (!is_next && !is_there) {
    auto& written_off = marks.removed > 0 ? marks.removed : marks.lost;
    if (written_off > 0) --written_off;
  }
  numbers_[each->task.id] = each->finish_number;
  state_.tasks.emplace_hint(state_.tasks.begin(), each->finish_number, each);
  marks.last = std::max(marks.last, each->finish_number);
}

ArchiveResult<void> MemoryStore::insert(std::span<const Finished> tasks) {
  const std::lock_guard lock(mutex_);
  if (failure_) return std::unexpected(*failure_);
  for (const auto& each : tasks) {
    if (auto ok = check_conflict(*each); !ok) return ok;
  }
  for (const auto& each : tasks) insert_one(each);
  return {};
}

ArchiveResult<ledger::FinishNumber> MemoryStore::seal() {
  const std::lock_guard lock(mutex_);
  if (failure_) return std::unexpected(*failure_);
  if (seal_failure_) return std::unexpected(*seal_failure_);
  return state_.marks.last;
}

ArchiveResult<Marks> MemoryStore::marks() {
  const std::lock_guard lock(mutex_);
  Marks marks = state_.marks;
  marks.rows = state_.tasks.size();
  marks.newest = state_.tasks.empty() ? 0 : state_.tasks.begin()->second->finished_at;
  return marks;
}

ArchiveResult<void> MemoryStore::check_whole(ledger::FinishNumber number) const {
  if (!state_.damaged.contains(number)) return {};
  return std::unexpected(damaged_record("in memory", number, "made so"));
}

ArchiveResult<Finished> MemoryStore::find(ledger::TaskId id) {
  const std::lock_guard lock(mutex_);
  const auto at = numbers_.find(id);
  if (at == numbers_.end()) return nullptr;
  if (auto ok = check_whole(at->second); !ok) return std::unexpected(ok.error());
  return state_.tasks.at(at->second);
}

ArchiveResult<std::vector<Finished>> MemoryStore::query(const Query& query) {
  const auto words = words_of(query.text, k_words_max);
  const std::size_t limit = std::min(query.limit, k_page_max);
  std::vector<Finished> page;
  const std::lock_guard lock(mutex_);
  for (const auto& [number, each] : state_.tasks) {
    if (query.order == Query::SortOrder::last_finished_first && page.size() == limit) break;
    if (!fits(*each, query, words)) continue;
    if (auto ok = check_whole(number); !ok) return std::unexpected(ok.error());
    page.push_back(without_bodies(*each));
  }
  if (query.order == Query::SortOrder::last_submitted_first) {
    std::ranges::sort(page, std::greater{}, [](const Finished& each) { return each->task.number; });
    if (page.size() > limit) page.resize(limit);
  }
  return page;
}

ArchiveResult<bool> MemoryStore::link_retry(ledger::TaskId old_task, ledger::TaskId new_task) {
  const std::lock_guard lock(mutex_);
  const auto at = numbers_.find(old_task);
  if (at == numbers_.end()) return false;
  if (auto ok = check_whole(at->second); !ok) return std::unexpected(ok.error());
  auto linked = std::make_shared<ledger::FinishedTask>(*state_.tasks.at(at->second));
  linked->retried_as = new_task;
  state_.tasks[at->second] = std::move(linked);
  return true;
}

ArchiveResult<std::uint64_t> MemoryStore::retain(const Retention& retention, ledger::WallMs now,
                                                 std::uint64_t at_most) {
  const std::lock_guard lock(mutex_);
  auto& tasks = state_.tasks;
  const ledger::WallMs newest = tasks.empty() ? 0 : tasks.begin()->second->finished_at;
  const ledger::WallMs kept_from = oldest_kept(retention, now, newest);
  std::uint64_t removed = 0;
  while (removed < at_most && !tasks.empty()) {
    const auto& [number, oldest] = *tasks.rbegin();
    const bool too_many = retention.tasks != 0 && tasks.size() > retention.tasks;
    if (oldest->finished_at >= kept_from && !too_many) break;
    remove(number);
    ++removed;
  }
  state_.marks.removed += removed;
  return removed;
}

ArchiveResult<std::uint64_t> MemoryStore::count() {
  const std::lock_guard lock(mutex_);
  return state_.tasks.size();
}

ArchiveResult<Checked> MemoryStore::verify(ledger::FinishNumber after, std::size_t at_most) {
  const std::lock_guard lock(mutex_);
  Checked checked{.up_to = after};
  auto at = std::make_reverse_iterator(state_.tasks.lower_bound(after));  // the one after it: descending order
  for (; at != state_.tasks.rend() && checked.rows < at_most; ++at, ++checked.rows) {
    checked.up_to = at->first;
    if (state_.damaged.contains(at->first)) checked.damaged.emplace_back(at->first, "made so");
  }
  checked.is_end = at == state_.tasks.rend();
  return checked;
}

ArchiveResult<void> MemoryStore::record_loss(const Loss& loss) {
  const std::lock_guard lock(mutex_);
  state_.losses.push_back(loss);
  auto& marks = state_.marks;
  marks.lost += loss.count;
  marks.last = std::max(marks.last, loss.to);
  // The rows that are there are what counts from here on.
  const std::uint64_t known = state_.tasks.size() + marks.lost;
  marks.removed = marks.last > known ? marks.last - known : 0;
  return {};
}

ArchiveResult<std::vector<Loss>> MemoryStore::losses() {
  const std::lock_guard lock(mutex_);
  return state_.losses;
}

ArchiveResult<void> MemoryStore::skip_to(ledger::FinishNumber number) {
  const std::lock_guard lock(mutex_);
  auto& marks = state_.marks;
  if (number <= marks.last) return {};
  marks.removed += number - marks.last;
  marks.last = number;
  return {};
}

ArchiveResult<std::string> MemoryStore::note(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto at = state_.notes.find(name);
  return at == state_.notes.end() ? std::string() : at->second;
}

ArchiveResult<void> MemoryStore::keep_note(std::string_view name, const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (failure_) return std::unexpected(*failure_);
  state_.notes.insert_or_assign(std::string(name), text);
  return {};
}

bool MemoryStore::damage(ledger::FinishNumber number) {
  const std::lock_guard lock(mutex_);
  if (!state_.tasks.contains(number)) return false;
  state_.damaged.insert(number);
  return true;
}

MemoryStore::Image MemoryStore::image() {
  const std::lock_guard lock(mutex_);
  return state_;
}

void MemoryStore::become(Image image) {
  const std::lock_guard lock(mutex_);
  state_ = std::move(image);
  numbers_.clear();
  for (const auto& [number, each] : state_.tasks) numbers_.emplace(each->task.id, number);
}

void MemoryStore::fail_seal_with(std::optional<ArchiveError> error) {
  const std::lock_guard lock(mutex_);
  seal_failure_ = std::move(error);
}

void MemoryStore::fail_with(std::optional<ArchiveError> error) {
  const std::lock_guard lock(mutex_);
  failure_ = std::move(error);
}

void MemoryStore::remove(ledger::FinishNumber number) {
  const auto at = state_.tasks.find(number);
  if (at == state_.tasks.end()) return;
  numbers_.erase(at->second->task.id);
  state_.damaged.erase(number);
  state_.tasks.erase(at);
}

}  // namespace skein::inline v0::archive
