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
  const auto ref = watches_.add(name, watcher, mode);
  if (!ref) return ref;
  if (!holder && mode != WatchMode::follow) {
    // Over at once, and told so.
    const bool has_it = mode == WatchMode::standby;
    watches_.tell_one(*ref, watcher, has_it ? NameChange::failover : NameChange::unregistered, name,
                      has_it ? watcher : Pid{}, {});
    watches_.remove(*ref);
    return ref;
  }
  if (owners_.tie(watcher, ref->id)) monitor(watcher);
  if (mode == WatchMode::follow) {
    watches_.tell_one(*ref, watcher, holder ? NameChange::registered : NameChange::unregistered, name, holder, {});
  }
  return ref;
}

void RegistryTable::unwatch(WatchRef ref) {
  if (const Pid watcher = watches_.remove(ref)) owners_.untie(watcher, ref.id);
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

RegistryResult<std::int64_t> RegistryTable::update_counter(std::string_view name, Pid owner, std::int64_t by) {
  if (auto checked = check_name(name); !checked) return std::unexpected(checked.error());
  const Key key(KeyKind::counter, owner, name);
  const auto lock = entries_.lock(key);
  const std::uint32_t index = entries_.find_held(key);
  if (index == EntryTable::k_none || !runtime_.is_alive(owner)) return registry_error(RegistryFailure::not_found);
  std::atomic<std::uint64_t>& value = entries_.hot(index).value;
  std::int64_t sum = 0;
  if (__builtin_add_overflow(static_cast<std::int64_t>(value.load(std::memory_order_acquire)), by, &sum)) {
    return registry_error(RegistryFailure::counter_overflow);
  }
  value.store(static_cast<std::uint64_t>(sum), std::memory_order_release);
  return sum;
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
  std::vector<Pid> members;
  if (!is_readable(group)) return members;
  sets_.read(
      Key(KeyKind::group_set, group), [&] { members.clear(); },
      [&](std::uint64_t ref) {
        if (const Pid member = living_owner(ref)) members.push_back(member);
        return true;
      });
  return members;
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
    if (!registry) return;  // whoever attaches first gets all owners
    new_owners_.push_back(owner);
    if (std::exchange(woken_, true)) return;
  }
  const SendResult sent = runtime_.send(registry, detail::NewOwners{});
  if (sent == SendResult::ok) return;
  const std::scoped_lock lock(new_owners_mutex_);
  if (attached() != registry) return;
  // Dead: its successor gets all owners. Full: the next owner tries again for all.
  woken_ = false;
  if (sent == SendResult::noproc) new_owners_.clear();
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
      if (detail::is_watch_id(id)) {
        watches_.remove(WatchRef{id});
      } else {
        topics_.remove(SubscriptionRef{id});
      }
    }
    return;
  }
}

}  // namespace skein::inline v0
