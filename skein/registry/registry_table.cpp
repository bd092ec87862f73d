// Registering, finding, removing. Counters, groups and subscriptions are in registry_extras.cpp.
#include "skein/registry/registry_table.hpp"

#include <algorithm>
#include <cassert>
#include <limits>
#include <optional>

namespace skein::inline v0 {

using detail::EntryTable;
using detail::Key;
using detail::KeyKind;

namespace {

constexpr std::int64_t k_no_heartbeat = std::numeric_limits<std::int64_t>::min();
constexpr std::uint32_t k_load_max = std::numeric_limits<std::uint32_t>::max();

// An agent's value: its load in the upper half, the entry's incarnation in the lower, so that a change that comes too
// late fails instead of changing the load of the entry's next owner.
[[nodiscard]] std::uint64_t load_word(std::uint32_t load, std::uint32_t incarnation) {
  return (std::uint64_t{load} << 32U) | incarnation;
}

RegistryOptions clamped(RegistryOptions options) {
  options.limits.name_bytes = std::min(options.limits.name_bytes, k_registry_text_max);
  options.limits.capability_bytes = std::min(options.limits.capability_bytes, k_registry_text_max);
  options.limits.capabilities_per_agent = std::min(options.limits.capabilities_per_agent, k_capabilities_max);
  return options;
}

}  // namespace

RegistryTable::RegistryTable(Runtime& runtime, RegistryOptions options)
    : runtime_(runtime),
      options_(clamped(std::move(options))),
      entries_(options_.limits.entries),
      sets_(entries_, options_.limits.sets),
      owners_(entries_),
      watches_(runtime, options_.limits.watches, options_.limits.watch_backlog, detail::k_first_name_watch),
      resource_watches_(runtime, options_.limits.watches, options_.limits.watch_backlog,
                        detail::k_first_resource_watch),
      topics_(options_.limits.subscriptions) {}

RegistryResult<void> RegistryTable::check_name(std::string_view name) const {
  if (is_readable(name)) return {};
  return registry_limit(RegistryFailure::bad_name, options_.limits.name_bytes);
}

RegistryResult<void> RegistryTable::check_capabilities(const std::vector<std::string>& capabilities, std::size_t limit,
                                                       bool any_allowed) const {
  if (capabilities.size() > limit) return registry_limit(RegistryFailure::too_many_capabilities, limit);
  for (const std::string& each : capabilities) {
    if (each.empty() || each.size() > options_.limits.capability_bytes || (!any_allowed && each == k_any_capability)) {
      return registry_limit(RegistryFailure::bad_capability, options_.limits.capability_bytes);
    }
  }
  return {};
}

EntryTable::Seen RegistryTable::see(const Key& key) const {
  const EntryTable::Seen seen = entries_.find(key);
  return seen && runtime_.is_alive(Pid::from_bits(seen.owner)) ? seen : EntryTable::Seen{};
}

EntryTable::Seen RegistryTable::see_agent(std::string_view id) const {
  return is_readable(id) ? see(Key(KeyKind::agent, id)) : EntryTable::Seen{};
}

Pid RegistryTable::living_owner(std::uint64_t ref) const {
  const Pid owner = entries_.owner_of(ref);
  return runtime_.is_alive(owner) ? owner : Pid{};
}

void RegistryTable::tell(std::string_view agent, NameChange change, Pid pid, Pid previous) {
  for (const auto& [watcher, id] : watches_.tell(agent, change, pid, previous)) owners_.untie(watcher, id);
}

Pid RegistryTable::settle(const Key& key, std::string_view agent) {
  for (;;) {
    const std::uint32_t index = entries_.find_held(key);
    if (index == EntryTable::k_none) return {};
    const Pid owner = Pid::from_bits(entries_.hot(index).owner.load(std::memory_order_acquire));
    if (runtime_.is_alive(owner)) return owner;
    end_entry(key, index, agent);
  }
}

RegistryResult<void> RegistryTable::insert(const Key& key, bool is_agent, Pid owner, std::int64_t value,
                                           std::span<const Key> sets, std::uint64_t mark) {
  const std::uint32_t index = entries_.claim(key, sets.size());
  if (index == EntryTable::k_none) return registry_limit(RegistryFailure::full, options_.limits.entries);
  const std::uint32_t incarnation = entries_.next_incarnation(index);
  for (std::size_t i = 0; i < sets.size(); ++i) {
    if (sets_.add(sets[i], index, incarnation, i)) continue;
    while (i > 0) sets_.remove(index, --i);
    entries_.release(key, index);
    return registry_limit(RegistryFailure::full, options_.limits.sets);
  }
  detail::HotEntry& entry = entries_.hot(index);
  entry.owner.store(owner.bits(), std::memory_order_release);
  entry.value.store(is_agent ? load_word(0, incarnation) : static_cast<std::uint64_t>(value),
                    std::memory_order_release);
  entry.heartbeat.store(k_no_heartbeat, std::memory_order_release);
  entries_.cold(index).mark.store(mark, std::memory_order_release);
  if (is_agent) {
    entries_.cold(index).all_place = agents_[EntryTable::shard_of(key)].add(
        detail::entry_ref(index, incarnation),
        [&](std::uint64_t ref, auto to) { entries_.cold(static_cast<std::uint32_t>(ref >> 32U)).all_place = to; });
  }
  const bool is_new_owner = owners_.link(owner, index);
  entries_.publish(key, index);
  if (is_new_owner) monitor(owner);
  return {};
}

void RegistryTable::drop_entry(const Key& key, std::uint32_t index, bool is_agent) {
  const Pid owner = Pid::from_bits(entries_.hot(index).owner.load(std::memory_order_acquire));
  entries_.hide(key, index);
  detail::ColdEntry& cold = entries_.cold(index);
  const std::size_t sets = cold.sets_count.load(std::memory_order_acquire);
  bool last = false;
  for (std::size_t i = 0; i < sets; ++i) last = sets_.remove(index, i);
  if (last && key.kind() == KeyKind::resource) {
    (void)resource_watches_.tell(key.text(), NameChange::emptied, {}, owner);  // none of these ends by being told
  }
  if (is_agent) {
    agents_[EntryTable::shard_of(key)].remove(cold.all_place, [&](std::uint64_t ref, auto to) {
      entries_.cold(static_cast<std::uint32_t>(ref >> 32U)).all_place = to;
    });
  }
  owners_.unlink(owner, index);
  entries_.release(key, index);
}

void RegistryTable::move_entry(const Key& key, std::uint32_t index, Pid from, Pid to) {
  owners_.unlink(from, index);
  entries_.set_owner(key, index, to);
  if (owners_.link(to, index)) monitor(to);
}

void RegistryTable::end_entry(const Key& key, std::uint32_t index, std::string_view agent) {
  detail::HotEntry& entry = entries_.hot(index);
  const Pid owner = Pid::from_bits(entry.owner.load(std::memory_order_acquire));
  if (agent.empty()) {
    drop_entry(key, index, false);
    return;
  }
  const auto heir = watches_.take_heir(agent, owner);
  if (!heir) {
    drop_entry(key, index, true);
    tell(agent, NameChange::unregistered, {}, owner);
    return;
  }
  owners_.untie(heir->first, heir->second.id);
  // What was assigned to the old owner is not the heir's.
  entry.value.store(load_word(0, entry.incarnation.load(std::memory_order_acquire)), std::memory_order_release);
  entry.heartbeat.store(k_no_heartbeat, std::memory_order_release);
  move_entry(key, index, owner, heir->first);
  watches_.tell_one(heir->second, heir->first, NameChange::failover, agent, heir->first, owner);
  tell(agent, NameChange::failover, heir->first, owner);
}

std::vector<Key> RegistryTable::capability_keys(const std::vector<std::string>& capabilities) {
  std::vector<Key> sets;
  sets.reserve(capabilities.size());
  for (auto each = capabilities.begin(); each != capabilities.end(); ++each) {
    if (std::find(capabilities.begin(), each, *each) == each) sets.emplace_back(KeyKind::capability_set, *each);
  }
  return sets;
}

RegistryResult<void> RegistryTable::register_agent(std::string_view id, Pid pid,
                                                   const std::vector<std::string>& capabilities, std::uint64_t mark) {
  if (auto checked = check_name(id); !checked) return checked;
  if (auto checked = check_capabilities(capabilities, options_.limits.capabilities_per_agent, false); !checked) {
    return checked;
  }
  if (!runtime_.is_alive(pid)) return registry_error(RegistryFailure::dead_process);
  const std::vector<Key> sets = capability_keys(capabilities);
  const Key key(KeyKind::agent, id);
  const auto lock = entries_.lock(key);
  if (const Pid holder = settle(key, id)) return registry_error(RegistryFailure::already_registered, holder);
  auto inserted = insert(key, true, pid, 0, sets, mark);
  if (inserted) tell(id, NameChange::registered, pid, {});
  return inserted;
}

RegistryResult<Pid> RegistryTable::register_or_locate(std::string_view id, Pid pid,
                                                      const std::vector<std::string>& capabilities) {
  const auto registered = register_agent(id, pid, capabilities);
  if (registered) return pid;
  if (registered.error().failure == RegistryFailure::already_registered) return registered.error().holder;
  return std::unexpected(registered.error());
}

RegistryResult<Pid> RegistryTable::register_or_make(std::string_view id, const std::vector<std::string>& capabilities,
                                                    const std::function<Pid()>& make) {
  if (auto checked = check_name(id); !checked) return std::unexpected(checked.error());
  if (auto checked = check_capabilities(capabilities, options_.limits.capabilities_per_agent, false); !checked) {
    return std::unexpected(checked.error());
  }
  const std::vector<Key> sets = capability_keys(capabilities);
  const Key key(KeyKind::agent, id);
  const auto lock = entries_.lock(key);
  if (const Pid holder = settle(key, id)) return holder;
  // Under the lock: a new process runs in a turn of its own, so it cannot ask for the lock before it is let go.
  const Pid made = make();
  if (auto inserted = insert(key, true, made, 0, sets); !inserted) {
    runtime_.exit(made, ExitReason::kill());
    return std::unexpected(inserted.error());
  }
  tell(id, NameChange::registered, made, {});
  return made;
}

RegistryResult<void> RegistryTable::unregister_agent(std::string_view id) {
  if (auto checked = check_name(id); !checked) return checked;
  const Key key(KeyKind::agent, id);
  const auto lock = entries_.lock(key);
  if (!settle(key, id)) return registry_error(RegistryFailure::not_found);
  end_entry(key, entries_.find_held(key), id);
  return {};
}

RegistryResult<void> RegistryTable::give_away(std::string_view id, Pid from, Pid to) {
  if (auto checked = check_name(id); !checked) return checked;
  if (!runtime_.is_alive(to)) return registry_error(RegistryFailure::dead_process);
  const Key key(KeyKind::agent, id);
  const auto lock = entries_.lock(key);
  const Pid holder = settle(key, id);
  if (!holder) return registry_error(RegistryFailure::not_found);
  if (holder != from) return registry_error(RegistryFailure::not_owner, holder);
  if (from == to) return {};
  move_entry(key, entries_.find_held(key), from, to);
  tell(id, NameChange::migrated, to, from);
  return {};
}

RegistryResult<Pid> RegistryTable::find_agent(std::string_view id) const {
  const EntryTable::Seen seen = see_agent(id);
  if (!seen) return registry_error(RegistryFailure::not_found);
  return Pid::from_bits(seen.owner);
}

void RegistryTable::find_agents(std::span<const std::string_view> ids, std::span<Pid> found) const {
  assert(ids.size() == found.size());
  constexpr std::size_t k_batch = 16;
  std::array<std::optional<Key>, k_batch> keys;
  for (std::size_t begin = 0; begin < ids.size(); begin += k_batch) {
    const std::size_t count = std::min(k_batch, ids.size() - begin);
    for (std::size_t i = 0; i < count; ++i) {
      keys[i].reset();
      if (!is_readable(ids[begin + i])) continue;
      keys[i].emplace(KeyKind::agent, ids[begin + i]);
      entries_.prefetch(*keys[i]);
    }
    for (std::size_t i = 0; i < count; ++i) {
      found[begin + i] = keys[i] ? Pid::from_bits(entries_.find(*keys[i]).owner) : Pid{};
    }
    for (Pid& each : found.subspan(begin, count)) {
      if (!runtime_.is_alive(each)) each = Pid{};
    }
  }
}

template <class T, class Make>
void RegistryTable::collect_agents(std::vector<T>& into, std::size_t limit, Make&& make) const {
  for (const detail::EntrySet& shard : agents_) {
    const std::size_t before = into.size();
    while (!shard.each([&](std::uint64_t ref) {
      if (into.size() >= limit) return false;
      if (std::optional<T> made = make(ref)) into.push_back(std::move(*made));
      return true;
    })) {
      into.resize(before);
    }
  }
}

std::vector<Pid> RegistryTable::find_agents_by_capability(std::string_view capability, std::size_t limit) const {
  std::vector<Pid> found;
  const auto make = [&](std::uint64_t ref) -> std::optional<Pid> {
    const Pid owner = living_owner(ref);
    return owner ? std::optional(owner) : std::nullopt;
  };
  if (capability == k_any_capability) {
    collect_agents(found, limit, make);
  } else if (!capability.empty() && capability.size() <= options_.limits.capability_bytes) {
    sets_.read(
        Key(KeyKind::capability_set, capability), [&] { found.clear(); },
        [&](std::uint64_t ref) {
          if (found.size() >= limit) return false;
          if (const Pid owner = living_owner(ref)) found.push_back(owner);
          return found.size() < limit;
        });
  }
  return found;
}

RegistryResult<std::vector<std::string>> RegistryTable::query_agents(
    const std::vector<std::string>& capabilities) const {
  if (auto checked = check_capabilities(capabilities, options_.limits.capabilities_per_query, true); !checked) {
    return std::unexpected(checked.error());
  }
  std::vector<Key> sets;
  sets.reserve(capabilities.size());
  for (const std::string& each : capabilities) {
    if (each != k_any_capability) sets.emplace_back(KeyKind::capability_set, each);
  }
  std::vector<std::string> found;
  std::string name;
  const auto make = [&](std::uint64_t ref) -> std::optional<std::string> {
    if (!living_owner(ref) || !entries_.read_text(ref, name)) return std::nullopt;
    return name;
  };
  if (sets.empty()) {
    collect_agents(found, SIZE_MAX, make);
    return found;
  }
  sets_.query(
      sets, [&] { found.clear(); },
      [&](std::uint64_t ref) {
        if (auto made = make(ref)) found.push_back(std::move(*made));
        return true;
      });
  return found;
}

RegistryResult<std::vector<std::string>> RegistryTable::capabilities_of(std::string_view id) const {
  const EntryTable::Seen seen = see_agent(id);
  if (!seen) return registry_error(RegistryFailure::not_found);
  return sets_.names_of(seen.ref());
}

RegistryResult<std::uint64_t> RegistryTable::mark_of(std::string_view id) const {
  const EntryTable::Seen seen = see_agent(id);
  if (!seen) return registry_error(RegistryFailure::not_found);
  const std::uint64_t mark = entries_.cold(seen.index).mark.load(std::memory_order_acquire);
  const bool is_same = entries_.hot(seen.index).incarnation.load(std::memory_order_acquire) == seen.incarnation;
  if (!is_same) return registry_error(RegistryFailure::not_found);
  return mark;
}

std::size_t RegistryTable::agent_count() const { return find_agents_by_capability(k_any_capability).size(); }

RegistryResult<std::uint32_t> RegistryTable::change_load(std::string_view id, std::int64_t by) {
  const EntryTable::Seen seen = see_agent(id);
  if (!seen) return registry_error(RegistryFailure::not_found);
  std::atomic<std::uint64_t>& value = entries_.hot(seen.index).value;
  std::uint64_t word = value.load(std::memory_order_acquire);
  for (;;) {
    if (static_cast<std::uint32_t>(word) != seen.incarnation) return registry_error(RegistryFailure::not_found);
    const std::int64_t load = static_cast<std::int64_t>(word >> 32U) + by;
    if (load < 0) return registry_error(RegistryFailure::load_below_zero);
    if (load > std::int64_t{k_load_max}) return registry_limit(RegistryFailure::load_too_large, k_load_max);
    const auto changed = static_cast<std::uint32_t>(load);
    if (value.compare_exchange_weak(word, load_word(changed, seen.incarnation), std::memory_order_acq_rel)) {
      return changed;
    }
  }
}

RegistryResult<std::uint32_t> RegistryTable::increment_load(std::string_view id, std::uint32_t by) {
  return change_load(id, std::int64_t{by});
}

RegistryResult<std::uint32_t> RegistryTable::decrement_load(std::string_view id, std::uint32_t by) {
  return change_load(id, -std::int64_t{by});
}

RegistryResult<std::uint32_t> RegistryTable::get_load(std::string_view id) const {
  const EntryTable::Seen seen = see_agent(id);
  if (!seen) return registry_error(RegistryFailure::not_found);
  const std::uint64_t word = entries_.hot(seen.index).value.load(std::memory_order_acquire);
  if (static_cast<std::uint32_t>(word) != seen.incarnation) return registry_error(RegistryFailure::not_found);
  return static_cast<std::uint32_t>(word >> 32U);
}

RegistryResult<void> RegistryTable::update_heartbeat(std::string_view id) {
  const EntryTable::Seen seen = see_agent(id);
  if (!seen) return registry_error(RegistryFailure::not_found);
  // If the entry ends meanwhile and is another's, that one was registered just now: its heartbeat is no lie.
  entries_.hot(seen.index).heartbeat.store(runtime_.now().time_since_epoch().count(), std::memory_order_release);
  return {};
}

RegistryResult<Heartbeat> RegistryTable::get_last_heartbeat(std::string_view id) const {
  const EntryTable::Seen seen = see_agent(id);
  if (!seen) return registry_error(RegistryFailure::not_found);
  const std::int64_t at = entries_.hot(seen.index).heartbeat.load(std::memory_order_acquire);
  if (!entries_.is_live(seen.ref())) return registry_error(RegistryFailure::not_found);
  if (at == k_no_heartbeat) return registry_error(RegistryFailure::no_heartbeat);
  const Duration ago = std::max(runtime_.now() - Instant(Duration(at)), Duration::zero());
  return Heartbeat{ago, options_.wall_clock() - std::chrono::duration_cast<WallTime::duration>(ago)};
}

}  // namespace skein::inline v0
