// The rest of RegistryTable: watches, counters, groups, subscriptions, and what the Registry process needs.
#include <algorithm>
#include <limits>

#include "skein/registry/registry_table.hpp"

namespace skein::inline v0 {

using detail::EntryTable;
using detail::Key;
using detail::KeyKind;

RegistryResult<WatchRef> RegistryTable::watch_name(std::string_view name, Pid watcher, WatchMode mode) {
  if (auto checked = check_name(name); !checked) return std::unexpected(checked.error());
  if (!runtime_.is_alive(watcher)) return registry_error(RegistryFailure::dead_process);
  const Key key(KeyKind::agent, name);
  const auto lock = entries_.lock(key);
  const Pid holder = settle(key, name);
  if (!holder && mode == WatchMode::standby) {
    if (auto inserted = insert(key, true, watcher, 0, {}); !inserted) return std::unexpected(inserted.error());
    tell(name, NameChange::registered, watcher, {});
  }
  if (!holder && mode != WatchMode::follow) {
    // Over at once, and told so: it takes no place among the watches, so there is always room for it.
    const WatchRef over = watches_.add_nothing();
    const bool has_it = mode == WatchMode::standby;
    watches_.tell_one(over, watcher, has_it ? NameChange::failover : NameChange::unregistered, name,
                      has_it ? watcher : Pid{}, {});
    return over;
  }
  const auto ref = watches_.add(name, watcher, mode);
  if (!ref) return ref;
  if (owners_.tie(watcher, ref->id)) monitor(watcher);
  if (mode == WatchMode::follow) {
    watches_.tell_one(*ref, watcher, holder ? NameChange::registered : NameChange::unregistered, name, holder, {});
  }
  return ref;
}

RegistryResult<WatchRef> RegistryTable::watch_resource(std::string_view name, Pid watcher) {
  if (auto checked = check_name(name); !checked) return std::unexpected(checked.error());
  if (!runtime_.is_alive(watcher)) return registry_error(RegistryFailure::dead_process);
  const auto ref = resource_watches_.add(name, watcher, WatchMode::follow);
  if (ref && owners_.tie(watcher, ref->id)) monitor(watcher);
  return ref;
}

void RegistryTable::unwatch(WatchRef ref) {
  detail::NameWatches& among = detail::is_resource_watch_id(ref.id) ? resource_watches_ : watches_;
  if (const Pid watcher = among.remove(ref)) owners_.untie(watcher, ref.id);
}

RegistryResult<void> RegistryTable::register_agents(std::span<const AgentName> names, Pid pid) {
  if (names.size() > options_.limits.names_at_once) {
    return registry_limit(RegistryFailure::too_many_names, options_.limits.names_at_once);
  }
  std::vector<Key> keys;
  std::array<bool, EntryTable::k_shards> in_shard{};
  keys.reserve(names.size());
  for (const AgentName& each : names) {
    if (auto checked = check_name(each.id); !checked) return checked;
    if (auto checked = check_capabilities(each.capabilities, options_.limits.capabilities_per_agent, false); !checked) {
      return checked;
    }
    keys.emplace_back(KeyKind::agent, each.id);
    in_shard[EntryTable::shard_of(keys.back())] = true;
  }
  if (!runtime_.is_alive(pid)) return registry_error(RegistryFailure::dead_process);
  // In the order of shards; everybody else holds one at a time.
  std::vector<std::unique_lock<std::mutex>> locks;
  for (std::size_t shard = 0; shard < in_shard.size(); ++shard) {
    if (in_shard[shard]) locks.push_back(entries_.lock_shard(shard));
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (const Pid holder = settle(keys[i], names[i].id)) {
      return registry_error(RegistryFailure::already_registered, holder);
    }
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto inserted = entries_.find_held(keys[i]) == EntryTable::k_none
                        ? insert(keys[i], true, pid, 0, capability_keys(names[i].capabilities))
                        : registry_error(RegistryFailure::already_registered, pid);
    if (inserted) continue;
    while (i > 0) {
      --i;
      drop_entry(keys[i], entries_.find_held(keys[i]), true);
    }
    return inserted;
  }
  for (const AgentName& each : names) tell(each.id, NameChange::registered, pid, {});
  return {};
}

RegistryResult<void> RegistryTable::add_scoped(KeyKind kind, KeyKind set, std::string_view name, Pid owner,
                                               std::int64_t value) {
  if (auto checked = check_name(name); !checked) return checked;
  if (!runtime_.is_alive(owner)) return registry_error(RegistryFailure::dead_process);
  const Key key(kind, owner, name);
  const Key in_set(set, name);
  const auto lock = entries_.lock(key);
  if (entries_.find_held(key) != EntryTable::k_none) {
    return registry_error(RegistryFailure::already_registered, owner);
  }
  return insert(key, false, owner, value, std::span(&in_set, 1));
}

RegistryResult<void> RegistryTable::remove_scoped(KeyKind kind, std::string_view name, Pid owner) {
  if (auto checked = check_name(name); !checked) return checked;
  const Key key(kind, owner, name);
  const auto lock = entries_.lock(key);
  const std::uint32_t index = entries_.find_held(key);
  if (index == EntryTable::k_none || !runtime_.is_alive(owner)) return registry_error(RegistryFailure::not_found);
  drop_entry(key, index, false);
  return {};
}

RegistryResult<void> RegistryTable::add_counter(std::string_view name, Pid owner, std::int64_t value) {
  return add_scoped(KeyKind::counter, KeyKind::counter_set, name, owner, value);
}

RegistryResult<void> RegistryTable::remove_counter(std::string_view name, Pid owner) {
  return remove_scoped(KeyKind::counter, name, owner);
}

template <class Change>
RegistryResult<std::pair<std::int64_t, std::int64_t>> RegistryTable::change_counter(std::string_view name, Pid owner,
                                                                                    Change&& change) {
  if (auto checked = check_name(name); !checked) return std::unexpected(checked.error());
  const Key key(KeyKind::counter, owner, name);
  const auto lock = entries_.lock(key);
  const std::uint32_t index = entries_.find_held(key);
  if (index == EntryTable::k_none || !runtime_.is_alive(owner)) return registry_error(RegistryFailure::not_found);
  std::atomic<std::uint64_t>& value = entries_.hot(index).value;
  const auto before = static_cast<std::int64_t>(value.load(std::memory_order_acquire));
  std::int64_t after = 0;
  if (!change(before, &after)) return registry_error(RegistryFailure::counter_overflow);
  value.store(static_cast<std::uint64_t>(after), std::memory_order_release);
  return std::pair(before, after);
}

RegistryResult<std::int64_t> RegistryTable::update_counter(std::string_view name, Pid owner, std::int64_t by) {
  const auto changed = change_counter(name, owner, [&](std::int64_t before, std::int64_t* after) {
    return !__builtin_add_overflow(before, by, after);
  });
  if (!changed) return std::unexpected(changed.error());
  return changed->second;
}

RegistryResult<std::int64_t> RegistryTable::reset_counter(std::string_view name, Pid owner, std::int64_t value) {
  const auto changed = change_counter(name, owner, [&](std::int64_t, std::int64_t* after) {
    *after = value;
    return true;
  });
  if (!changed) return std::unexpected(changed.error());
  return changed->first;
}

RegistryResult<std::int64_t> RegistryTable::counter(std::string_view name, Pid owner) const {
  if (!is_readable(name)) return registry_error(RegistryFailure::not_found);
  for (;;) {
    const EntryTable::Seen seen = see(Key(KeyKind::counter, owner, name));
    if (!seen) return registry_error(RegistryFailure::not_found);
    const std::uint64_t value = entries_.hot(seen.index).value.load(std::memory_order_acquire);
    if (entries_.is_live(seen.ref())) return static_cast<std::int64_t>(value);
  }
}

RegistryResult<std::int64_t> RegistryTable::sum_of_counters(std::string_view name) const {
  if (!is_readable(name)) return registry_limit(RegistryFailure::bad_name, options_.limits.name_bytes);
  __extension__ using Wide = __int128;
  Wide sum = 0;
  sets_.read(
      Key(KeyKind::counter_set, name), [&] { sum = 0; },
      [&](std::uint64_t ref) {
        const std::uint64_t value =
            entries_.hot(static_cast<std::uint32_t>(ref >> 32U)).value.load(std::memory_order_acquire);
        if (living_owner(ref)) sum += static_cast<std::int64_t>(value);
        return true;
      });
  if (sum > std::numeric_limits<std::int64_t>::max() || sum < std::numeric_limits<std::int64_t>::min()) {
    return registry_error(RegistryFailure::counter_overflow);
  }
  return static_cast<std::int64_t>(sum);
}

RegistryResult<void> RegistryTable::join_group(std::string_view group, Pid member) {
  return add_scoped(KeyKind::member, KeyKind::group_set, group, member, 0);
}

RegistryResult<void> RegistryTable::leave_group(std::string_view group, Pid member) {
  return remove_scoped(KeyKind::member, group, member);
}

std::vector<Pid> RegistryTable::group_members(std::string_view group) const {
  return is_readable(group) ? owners_in(Key(KeyKind::group_set, group)) : std::vector<Pid>{};
}

RegistryResult<void> RegistryTable::add_resource(std::string_view name, Pid owner) {
  return add_scoped(KeyKind::resource, KeyKind::resource_set, name, owner, 0);
}

RegistryResult<void> RegistryTable::remove_resource(std::string_view name, Pid owner) {
  return remove_scoped(KeyKind::resource, name, owner);
}

std::size_t RegistryTable::resource_count(std::string_view name) const {
  return is_readable(name) ? owners_in(Key(KeyKind::resource_set, name)).size() : 0;
}

std::vector<Pid> RegistryTable::owners_in(const Key& set) const {
  std::vector<Pid> owners;
  sets_.read(
      set, [&] { owners.clear(); },
      [&](std::uint64_t ref) {
        if (const Pid owner = living_owner(ref)) owners.push_back(owner);
        return true;
      });
  return owners;
}

RegistryResult<SubscriptionRef> RegistryTable::add_subscription(std::string_view topic, Pid subscriber, Deliver deliver,
                                                                detail::Condition condition) {
  if (auto checked = check_name(topic); !checked) return std::unexpected(checked.error());
  if (!runtime_.is_alive(subscriber)) return registry_error(RegistryFailure::dead_process);
  const auto ref = topics_.add(topic, subscriber, deliver, std::move(condition));
  if (ref && owners_.tie(subscriber, ref->id)) monitor(subscriber);
  return ref;
}

void RegistryTable::unsubscribe(SubscriptionRef ref) {
  if (const Pid subscriber = topics_.remove(ref)) owners_.untie(subscriber, ref.id);
}

void RegistryTable::monitor(Pid owner) {
  Pid registry;
  {
    // Read under the lock: a successor that attaches in between would be believed to be woken, and never was.
    const std::scoped_lock lock(new_owners_mutex_);
    registry = attached();
    if (!registry) return;  // the next process that attaches gets all owners
    new_owners_.push_back(owner);
    if (std::exchange(woken_, true)) return;
  }
  // Gets into a full mailbox too; there is one of them at a time.
  if (runtime_.notify(registry, detail::NewOwners{}) == SendResult::ok) return;
  const std::scoped_lock lock(new_owners_mutex_);
  if (attached() != registry) return;
  // Dead: its successor gets all owners.
  woken_ = false;
  new_owners_.clear();
}

std::vector<Pid> RegistryTable::attach(Pid registry) {
  {
    const std::scoped_lock lock(new_owners_mutex_);
    process_.store(registry.bits(), std::memory_order_release);
    new_owners_.clear();
    woken_ = false;
  }
  return owners_.all();
}

std::vector<Pid> RegistryTable::take_new_owners(std::size_t at_most) {
  const std::scoped_lock lock(new_owners_mutex_);
  const std::size_t taken = std::min(at_most, new_owners_.size());
  std::vector<Pid> owners(new_owners_.end() - static_cast<std::ptrdiff_t>(taken), new_owners_.end());
  new_owners_.resize(new_owners_.size() - taken);
  woken_ = taken == at_most;
  return owners;
}

bool RegistryTable::is_settled() {
  const std::scoped_lock lock(new_owners_mutex_);
  return !woken_ && new_owners_.empty();
}

void RegistryTable::process_ended(Pid pid) {
  for (;;) {
    while (const auto owned = owners_.first(pid)) {
      const bool is_agent = owned->kind == KeyKind::agent;
      const Key key = is_agent ? Key(owned->kind, owned->text) : Key(owned->kind, pid, owned->text);
      const auto lock = entries_.lock(key);
      const std::uint32_t index = entries_.find_held(key);
      if (index == EntryTable::k_none || entries_.hot(index).owner.load(std::memory_order_acquire) != pid.bits()) {
        continue;
      }
      end_entry(key, index, is_agent ? std::string_view(owned->text) : std::string_view{});
    }
    const auto ids = owners_.forget(pid);
    if (!ids) continue;
    for (const std::uint64_t id : *ids) {
      if (detail::is_name_watch_id(id)) {
        watches_.remove(WatchRef{id});
      } else if (detail::is_resource_watch_id(id)) {
        resource_watches_.remove(WatchRef{id});
      } else {
        topics_.remove(SubscriptionRef{id});
      }
    }
    return;
  }
}

}  // namespace skein::inline v0
