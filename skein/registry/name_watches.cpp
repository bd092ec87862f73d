#include "skein/registry/name_watches.hpp"

namespace skein::inline v0::detail {

RegistryResult<WatchRef> NameWatches::add(std::string_view name, Pid watcher, WatchMode mode) {
  const std::scoped_lock lock(mutex_);
  if (names_.size() >= limit_) return registry_limit(RegistryFailure::full, limit_);
  const std::uint64_t id = std::exchange(next_, next_ + k_watch_step);
  by_name_[std::string(name)].push_back({id, watcher, mode});
  names_.emplace(id, name);
  count_.fetch_add(1, std::memory_order_release);
  return WatchRef{id};
}

WatchRef NameWatches::add_nothing() {
  const std::scoped_lock lock(mutex_);
  return WatchRef{std::exchange(next_, next_ + k_watch_step)};
}

void NameWatches::erase(ByName::iterator at, std::size_t i) {
  auto& watches = at->second;
  names_.erase(watches[i].id);
  watches.erase(watches.begin() + static_cast<std::ptrdiff_t>(i));
  if (watches.empty()) by_name_.erase(at);
  count_.fetch_sub(1, std::memory_order_release);
}

Pid NameWatches::remove(WatchRef ref) {
  const std::scoped_lock lock(mutex_);
  const auto named = names_.find(ref.id);
  if (named == names_.end()) return {};
  const auto at = by_name_.find(named->second);
  std::size_t i = 0;
  while (at->second[i].id != ref.id) ++i;
  const Pid watcher = at->second[i].watcher;
  erase(at, i);
  return watcher;
}

void NameWatches::tell_one(WatchRef ref, Pid watcher, NameChange change, std::string_view name, Pid pid, Pid previous) {
  if (runtime_.mailbox_length(watcher) >= backlog_) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  runtime_.notify(watcher, NameEvent{ref, change, pid, previous, std::string(name)});
}

NameWatches::Ended NameWatches::tell(std::string_view name, NameChange change, Pid pid, Pid previous) {
  Ended ended;
  if (empty()) return ended;
  const std::scoped_lock lock(mutex_);
  const auto at = by_name_.find(std::string(name));
  if (at == by_name_.end()) return ended;
  for (const Watch& each : at->second) {
    tell_one(WatchRef{each.id}, each.watcher, change, name, pid, previous);
    if (change == NameChange::unregistered && each.mode == WatchMode::info) ended.emplace_back(each.watcher, each.id);
  }
  if (ended.empty()) return ended;
  count_.fetch_sub(static_cast<std::uint32_t>(ended.size()), std::memory_order_release);
  for (const auto& each : ended) names_.erase(each.second);
  std::erase_if(at->second, [](const Watch& each) { return each.mode == WatchMode::info; });
  if (at->second.empty()) by_name_.erase(at);
  return ended;
}

std::optional<std::pair<Pid, WatchRef>> NameWatches::take_heir(std::string_view name, Pid except) {
  if (empty()) return std::nullopt;
  const std::scoped_lock lock(mutex_);
  const auto at = by_name_.find(std::string(name));
  if (at == by_name_.end()) return std::nullopt;
  for (std::size_t i = 0; i < at->second.size(); ++i) {
    const Watch each = at->second[i];
    if (each.mode != WatchMode::standby || each.watcher == except || !runtime_.is_alive(each.watcher)) continue;
    erase(at, i);
    return std::pair(each.watcher, WatchRef{each.id});
  }
  return std::nullopt;
}

}  // namespace skein::inline v0::detail
