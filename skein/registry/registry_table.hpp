// The registry: agents by name and capability, their load and heartbeat, counters, groups, watches, publish/subscribe.
//
// A plain object that belongs to the maker of the runtime; any thread and any process may call it, until the runtime
// ends. Shared, because the Registry process may handle its last messages when its maker has let go of it already.
// Reading (find, query, loads, heartbeats, counters, groups) never waits for a writer; writers wait for each other only
// when they meet in the same shard. Keep one Registry process (registry.hpp) on it: it removes what the dead owned.
//
// 1. What a process owned is not returned once its death can be known: every read asks the runtime whether the owner
//    lives, and the runtime says no before the first Down is sent. Cleaning up comes later and shows only in memory.
// 2. A name has one entry. Taking a name whose owner is dead ends the old entry first, as its Down would.
// 3. What is registered during a query may be in its result or not; what was there all along is.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skein/registry/entry_table.hpp"
#include "skein/registry/name_watches.hpp"
#include "skein/registry/owners.hpp"
#include "skein/registry/registry_types.hpp"
#include "skein/registry/sets.hpp"
#include "skein/registry/topics.hpp"
#include "skein/runtime/runtime.hpp"

namespace skein::inline v0 {

namespace detail {
// Tells the Registry that take_new_owners has something for it.
struct NewOwners {};
}  // namespace detail

// The capability that everybody has, in queries.
inline constexpr std::string_view k_any_capability = "any";

using WallTime = std::chrono::system_clock::time_point;

struct Heartbeat {
  Duration ago{};
  WallTime at;
};

// A name to take, with its capabilities.
struct AgentName {
  std::string id;
  std::vector<std::string> capabilities = {};
};

struct RegistryOptions {
  RegistryLimits limits;
  std::function<WallTime()> wall_clock = [] { return std::chrono::system_clock::now(); };
};

class RegistryTable {
 public:
  // Throws std::system_error when there is no address space.
  explicit RegistryTable(Runtime& runtime, RegistryOptions options = {});
  RegistryTable(const RegistryTable&) = delete;
  RegistryTable& operator=(const RegistryTable&) = delete;

  // already_registered, dead_process, bad_name, bad_capability, too_many_capabilities, full. The mark is a number for
  // callers of mark_of(); it means nothing here.
  RegistryResult<void> register_agent(std::string_view id, Pid pid, const std::vector<std::string>& capabilities = {},
                                      std::uint64_t mark = 0);
  // Registers, or returns the present holder of the name.
  RegistryResult<Pid> register_or_locate(std::string_view id, Pid pid,
                                         const std::vector<std::string>& capabilities = {});
  // The same with a process T(args...) that is made only if nobody has the name, and then has it from its first moment:
  // exactly one is made, however many ask at once. Throws SpawnError.
  template <class T, class... Args>
  RegistryResult<Pid> register_or_spawn(std::string_view id, const std::vector<std::string>& capabilities,
                                        Args&&... args) {
    return register_or_make(id, capabilities, [&] { return runtime_.spawn<T>(std::forward<Args>(args)...); });
  }
  // All of them or none, and nobody else gets one of them in between; a reader may see the first before the last. Fails
  // as register_agent does, with too_many_names, or already_registered also when one name is there twice.
  RegistryResult<void> register_agents(std::span<const AgentName> names, Pid pid);
  // A standby takes the name over, if there is one.
  RegistryResult<void> unregister_agent(std::string_view id);
  // Gives the name, with its capabilities and load, to another process. not_owner, dead_process.
  RegistryResult<void> give_away(std::string_view id, Pid from, Pid to);

  [[nodiscard]] RegistryResult<Pid> find_agent(std::string_view id) const;
  // Many at once: found[i] becomes the agent with ids[i], or nobody. With so many agents that each lookup waits for
  // memory, this waits for a batch of them together. `found` is as long as `ids`.
  void find_agents(std::span<const std::string_view> ids, std::span<Pid> found) const;
  // noproc when nobody has the name.
  template <class T>
  SendResult send_to_agent(std::string_view id, T&& value) {
    return runtime_.send(find_agent(id).value_or(Pid{}), std::forward<T>(value));
  }
  // One Pid per registered name, in no particular order, at most `limit`; `any` gives all.
  [[nodiscard]] std::vector<Pid> find_agents_by_capability(std::string_view capability,
                                                           std::size_t limit = SIZE_MAX) const;
  // The names of those that have all of them. An empty list asks for everybody.
  [[nodiscard]] RegistryResult<std::vector<std::string>> query_agents(
      const std::vector<std::string>& capabilities) const;
  [[nodiscard]] RegistryResult<std::vector<std::string>> capabilities_of(std::string_view id) const;
  // What it was registered with; not_found.
  [[nodiscard]] RegistryResult<std::uint64_t> mark_of(std::string_view id) const;
  [[nodiscard]] std::size_t agent_count() const;

  // Tasks assigned. The new load; load_below_zero changes nothing.
  RegistryResult<std::uint32_t> increment_load(std::string_view id, std::uint32_t by = 1);
  RegistryResult<std::uint32_t> decrement_load(std::string_view id, std::uint32_t by = 1);
  [[nodiscard]] RegistryResult<std::uint32_t> get_load(std::string_view id) const;
  RegistryResult<void> update_heartbeat(std::string_view id);
  [[nodiscard]] RegistryResult<Heartbeat> get_last_heartbeat(std::string_view id) const;

  // Waits until somebody has the name; for ordinary threads. In a process co_await await_agent (registry.hpp).
  RegistryResult<Pid> await_agent(std::string_view id, Duration timeout);
  // The watcher gets NameEvents. Watching a free name: info is told unregistered, a standby takes it at once.
  RegistryResult<WatchRef> watch_name(std::string_view name, Pid watcher, WatchMode mode);
  // The watcher gets a NameEvent `emptied` each time the last resource of that name goes, with its owner or before.
  RegistryResult<WatchRef> watch_resource(std::string_view name, Pid watcher);
  // Nothing is sent for it afterwards; what was sent before may still arrive.
  void unwatch(WatchRef ref);

  // A counter belongs to a process: one per name and process.
  RegistryResult<void> add_counter(std::string_view name, Pid owner, std::int64_t value = 0);
  RegistryResult<void> remove_counter(std::string_view name, Pid owner);
  // The new value.
  RegistryResult<std::int64_t> update_counter(std::string_view name, Pid owner, std::int64_t by);
  // Sets it; the value it had.
  RegistryResult<std::int64_t> reset_counter(std::string_view name, Pid owner, std::int64_t value = 0);
  [[nodiscard]] RegistryResult<std::int64_t> counter(std::string_view name, Pid owner) const;
  // The sum over the counters of that name whose owners live; 0 when there are none.
  [[nodiscard]] RegistryResult<std::int64_t> sum_of_counters(std::string_view name) const;

  // A resource belongs to a process: one per name and process. Count them, or be told when there is none (above).
  RegistryResult<void> add_resource(std::string_view name, Pid owner);
  RegistryResult<void> remove_resource(std::string_view name, Pid owner);
  [[nodiscard]] std::size_t resource_count(std::string_view name) const;

  RegistryResult<void> join_group(std::string_view group, Pid member);
  RegistryResult<void> leave_group(std::string_view group, Pid member);
  [[nodiscard]] std::vector<Pid> group_members(std::string_view group) const;
  // How many mailboxes took it.
  template <class T>
  std::size_t send_to_group(std::string_view group, const T& value) {
    std::size_t sent = 0;
    for (const Pid member : group_members(group)) sent += runtime_.send(member, T(value)) == SendResult::ok ? 1 : 0;
    return sent;
  }

  // The subscriber gets a copy of each value published under the topic, as a message of its own type.
  RegistryResult<SubscriptionRef> subscribe(std::string_view topic, Pid subscriber, Deliver deliver = Deliver::always) {
    return add_subscription(topic, subscriber, deliver, {});
  }
  // The same for values of type T that `condition` likes.
  template <class T, class F>
  RegistryResult<SubscriptionRef> subscribe_if(std::string_view topic, Pid subscriber, F condition,
                                               Deliver deliver = Deliver::always) {
    return add_subscription(topic, subscriber, deliver,
                            [liked = std::move(condition)](const inspect::PayloadType* type, const void* value) {
                              return type == inspect::payload_type<T>() && liked(*static_cast<const T*>(value));
                            });
  }
  void unsubscribe(SubscriptionRef ref);
  // How many mailboxes took it.
  template <class T>
  std::size_t publish(std::string_view topic, const T& value) {
    std::size_t sent = 0;
    for (const auto& each : topics_.of(topic)) {
      if (!each->wants(inspect::payload_type<T>(), &value) || !each->take()) continue;
      sent += runtime_.send(each->subscriber, T(value)) == SendResult::ok ? 1 : 0;
      if (each->deliver == Deliver::once) unsubscribe(SubscriptionRef{each->id});
    }
    return sent;
  }

  [[nodiscard]] const RegistryLimits& limits() const { return options_.limits; }
  // Entries of all kinds, also of the dead whose Down has not been handled.
  [[nodiscard]] std::uint32_t entry_count() const { return entries_.count(); }
  [[nodiscard]] std::uint32_t set_count() const { return sets_.count(); }
  [[nodiscard]] std::uint32_t watch_count() const { return watches_.count() + resource_watches_.count(); }
  // NameEvents that a watcher with watch_backlog messages waiting did not get.
  [[nodiscard]] std::uint64_t dropped_events() const { return watches_.dropped() + resource_watches_.dropped(); }
  [[nodiscard]] std::size_t subscription_count() const { return topics_.count(); }

  // For the Registry process.
  // Makes `registry` the one that is told of new owners; returns those there are.
  [[nodiscard]] std::vector<Pid> attach(Pid registry);
  [[nodiscard]] Pid attached() const { return Pid::from_bits(process_.load(std::memory_order_acquire)); }
  // Some of the owners to monitor; when there were more, it has to call wake_again.
  [[nodiscard]] std::vector<Pid> take_new_owners(std::size_t at_most);
  void wake_again() { runtime_.notify(attached(), detail::NewOwners{}); }
  // Whether the Registry knows of all owners.
  [[nodiscard]] bool is_settled();
  // Removes all that a dead process owned.
  void process_ended(Pid pid);

 private:
  [[nodiscard]] RegistryResult<void> check_name(std::string_view name) const;
  [[nodiscard]] RegistryResult<void> check_capabilities(const std::vector<std::string>& capabilities, std::size_t limit,
                                                        bool any_allowed) const;
  [[nodiscard]] bool is_readable(std::string_view name) const {
    return !name.empty() && name.size() <= options_.limits.name_bytes;
  }
  // A live entry of a live owner, or nothing.
  [[nodiscard]] detail::EntryTable::Seen see(const detail::Key& key) const;
  [[nodiscard]] detail::EntryTable::Seen see_agent(std::string_view id) const;
  [[nodiscard]] Pid living_owner(std::uint64_t ref) const;
  [[nodiscard]] static std::vector<detail::Key> capability_keys(const std::vector<std::string>& capabilities);
  [[nodiscard]] std::vector<Pid> owners_in(const detail::Key& set) const;
  // Changes a counter under its lock: change(before, &after) says whether it may be.
  template <class Change>
  RegistryResult<std::pair<std::int64_t, std::int64_t>> change_counter(std::string_view name, Pid owner,
                                                                       Change&& change);
  RegistryResult<Pid> register_or_make(std::string_view id, const std::vector<std::string>& capabilities,
                                       const std::function<Pid()>& make);
  RegistryResult<std::uint32_t> change_load(std::string_view id, std::int64_t by);
  // Puts what make(ref) returns for each agent into `into`, leaving out what is nothing.
  template <class T, class Make>
  void collect_agents(std::vector<T>& into, std::size_t limit, Make&& make) const;
  RegistryResult<SubscriptionRef> add_subscription(std::string_view topic, Pid subscriber, Deliver deliver,
                                                   detail::Condition condition);
  RegistryResult<void> add_scoped(detail::KeyKind kind, detail::KeyKind set, std::string_view name, Pid owner,
                                  std::int64_t value);
  RegistryResult<void> remove_scoped(detail::KeyKind kind, std::string_view name, Pid owner);

  // Holding the key's lock.
  // Ends the entry if its owner is dead; returns the key's holder then. `agent` is the name, or empty for other kinds.
  [[nodiscard]] Pid settle(const detail::Key& key, std::string_view agent);
  RegistryResult<void> insert(const detail::Key& key, bool is_agent, Pid owner, std::int64_t value,
                              std::span<const detail::Key> sets, std::uint64_t mark = 0);
  void end_entry(const detail::Key& key, std::uint32_t index, std::string_view agent);
  void drop_entry(const detail::Key& key, std::uint32_t index, bool is_agent);
  void move_entry(const detail::Key& key, std::uint32_t index, Pid from, Pid to);
  void tell(std::string_view agent, NameChange change, Pid pid, Pid previous);

  void monitor(Pid owner);

  Runtime& runtime_;
  RegistryOptions options_;
  detail::EntryTable entries_;
  detail::Sets sets_;
  detail::Owners owners_;
  detail::NameWatches watches_;
  detail::NameWatches resource_watches_;
  detail::Topics topics_;
  std::array<detail::EntrySet, detail::EntryTable::k_shards> agents_;  // all, by the shard of their name

  std::atomic<std::uint64_t> process_{0};
  std::mutex new_owners_mutex_;
  std::vector<Pid> new_owners_;
  bool woken_ = false;  // the Registry was told, and has not taken them all yet
};

}  // namespace skein::inline v0
