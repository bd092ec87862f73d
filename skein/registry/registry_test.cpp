#include "skein/registry/registry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skein/registry/registry_world.hpp"

namespace skein::inline v0::registry_tests {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using Failure = RegistryFailure;
using std::chrono::milliseconds;

std::vector<NameChange> changes(const Listener::Heard& heard) {
  std::vector<NameChange> list;
  for (const NameEvent& each : heard.events) list.push_back(each.change);
  return list;
}

TEST(Registry, removes_all_that_a_dead_process_owned) {
  World world;
  const Pid pid = world.agent();
  const Pid other = world.agent();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(world.table.register_agent(std::to_string(i), pid, {"execute"}));
  ASSERT_TRUE(world.table.add_counter("jobs", pid, 1));
  ASSERT_TRUE(world.table.join_group("g", pid));
  ASSERT_TRUE(world.table.subscribe("t", pid));
  ASSERT_TRUE(world.table.register_agent("other", other));
  ASSERT_TRUE(world.table.watch_name("other", pid, WatchMode::standby));
  world.kill(pid);
  EXPECT_EQ(world.table.entry_count(), 1U);
  EXPECT_EQ(world.table.set_count(), 0U);
  EXPECT_EQ(world.table.watch_count(), 0U);
  EXPECT_EQ(world.table.subscription_count(), 0U);
  EXPECT_EQ(world.table.find_agent("other"), other);
}

TEST(Registry, the_dead_are_not_found_even_before_the_clean_up) {
  World world;
  const Pid pid = world.agent();
  ASSERT_TRUE(world.table.register_agent("a", pid, {"execute"}));
  ASSERT_TRUE(world.table.add_counter("jobs", pid, 1));
  ASSERT_TRUE(world.table.join_group("g", pid));
  world.kill(world.registry);
  world.kill(pid);
  ASSERT_EQ(world.table.entry_count(), 3U) << "nobody cleaned up";
  EXPECT_EQ(failure_of(world.table.find_agent("a")), Failure::not_found);
  EXPECT_THAT(world.table.find_agents_by_capability("execute"), IsEmpty());
  EXPECT_THAT(world.table.find_agents_by_capability("any"), IsEmpty());
  EXPECT_THAT(*world.table.query_agents({"execute"}), IsEmpty());
  EXPECT_EQ(failure_of(world.table.get_load("a")), Failure::not_found);
  EXPECT_EQ(failure_of(world.table.increment_load("a")), Failure::not_found);
  EXPECT_EQ(world.table.sum_of_counters("jobs"), 0);
  EXPECT_THAT(world.table.group_members("g"), IsEmpty());
  // And the name can be taken.
  const Pid next = world.agent();
  EXPECT_TRUE(world.table.register_agent("a", next));
  EXPECT_EQ(world.table.find_agent("a"), next);
}

TEST(Registry, a_restart_loses_no_entry_of_a_living_process) {
  World world;
  const Pid living = world.agent();
  const Pid dead = world.agent();
  ASSERT_TRUE(world.table.register_agent("living", living, {"execute"}));
  ASSERT_TRUE(world.table.register_agent("dead", dead, {"execute"}));
  world.kill(world.registry);
  world.kill(dead);
  const Pid late = world.agent();
  ASSERT_TRUE(world.table.register_agent("late", late));
  world.restart_registry();
  EXPECT_EQ(world.table.entry_count(), 2U);
  EXPECT_EQ(world.table.find_agent("living"), living);
  EXPECT_EQ(world.table.find_agent("late"), late);
  // It monitors the old and the late ones.
  world.kill(living);
  world.kill(late);
  EXPECT_EQ(world.table.entry_count(), 0U);
}

TEST(Registry, monitors_more_owners_than_fit_in_a_turn) {
  World world;
  std::vector<Pid> pids;
  for (int i = 0; i < 1'500; ++i) {
    pids.push_back(world.runtime.spawn<Idle>());
    ASSERT_TRUE(world.table.register_agent(std::to_string(i), pids.back()));
  }
  world.runtime.run_ready();
  EXPECT_TRUE(world.table.is_settled());
  world.kill(world.registry);
  world.restart_registry();
  for (const Pid pid : pids) world.runtime.exit(pid, ExitReason::kill());
  world.runtime.run_ready();
  EXPECT_EQ(world.table.entry_count(), 0U);
}

Async<RegistryResult<Pid>> wait_for(Self self, std::shared_ptr<RegistryTable> table, std::string name,
                                    Duration timeout) {
  auto waiting = await_agent(self, *table, std::move(name), timeout);
  auto found = co_await waiting;
  co_return found;
}

// Registers itself after a while.
struct Late {
  struct Now {};
  std::shared_ptr<RegistryTable> table;
  Late(Self self, std::shared_ptr<RegistryTable> its_table, Duration after) : table(std::move(its_table)) {
    self.send_after(after, self.pid(), Now{});
  }
  void handle_info(Self self, Message message) {
    if (message.is<Now>()) (void)table->register_agent("late", self.pid());
  }
};

TEST(Registry, a_process_waits_for_a_name) {
  World world;
  const Pid late = world.runtime.spawn<Late>(world.shared, Duration(milliseconds(50)));
  const Instant begin = world.runtime.now();
  const auto found = world.runtime.run(&wait_for, world.shared, std::string("late"), Duration(milliseconds(100)));
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, late);
  EXPECT_GE(world.runtime.now() - begin, milliseconds(50));
  EXPECT_LT(world.runtime.now() - begin, milliseconds(60));
  EXPECT_EQ(world.table.watch_count(), 0U);
}

TEST(Registry, a_thread_waits_for_a_name) {
  World world;
  const Pid late = world.runtime.spawn<Late>(world.shared, Duration(milliseconds(50)));
  EXPECT_EQ(world.table.await_agent("late", std::chrono::seconds(1)), late);
  EXPECT_EQ(world.table.await_agent("late", Duration::zero()), late) << "it is there";
}

TEST(Registry, waiting_ends_in_time) {
  World world;
  const Instant begin = world.runtime.now();
  EXPECT_EQ(failure_of(world.table.await_agent("never", milliseconds(100))), Failure::timeout);
  EXPECT_GE(world.runtime.now() - begin, milliseconds(100));
  EXPECT_LT(world.runtime.now() - begin, milliseconds(110));
  EXPECT_EQ(world.table.watch_count(), 0U);
}

TEST(Registry, waiting_without_the_process_is_told) {
  World world;
  world.kill(world.registry);
  EXPECT_EQ(failure_of(world.table.await_agent("a", milliseconds(100))), Failure::unavailable);
}

TEST(Registry, a_waiter_that_dies_leaves_nothing) {
  World world({.waits = 1});
  struct Waiter {
    std::shared_ptr<RegistryTable> table;
    explicit Waiter(std::shared_ptr<RegistryTable> its_table) : table(std::move(its_table)) {}
    Async<void> handle_info(Self self, Message) {
      auto waiting = await_agent(self, *table, "never", k_forever);
      (void)co_await waiting;
    }
  };
  const Pid waiter = world.runtime.spawn<Waiter>(world.shared);
  world.runtime.send(waiter, 1);
  world.runtime.run_ready();
  EXPECT_EQ(world.table.watch_count(), 1U);
  EXPECT_EQ(failure_of(world.table.await_agent("other", milliseconds(1))), Failure::full);
  world.kill(waiter);
  EXPECT_EQ(world.table.watch_count(), 0U);
  EXPECT_EQ(failure_of(world.table.await_agent("other", milliseconds(1))), Failure::timeout);
}

TEST(Registry, info_is_told_until_the_name_is_unregistered) {
  World world;
  const Pid watcher = world.listener();
  const Pid a = world.agent();
  const Pid b = world.agent();
  ASSERT_TRUE(world.table.register_agent("n", a));
  const auto ref = world.table.watch_name("n", watcher, WatchMode::info);
  ASSERT_TRUE(ref);
  ASSERT_TRUE(world.table.give_away("n", a, b));
  world.kill(b);
  ASSERT_TRUE(world.table.register_agent("n", a));
  const auto heard = world.heard(watcher);
  EXPECT_THAT(changes(heard), ElementsAre(NameChange::migrated, NameChange::unregistered));
  EXPECT_EQ(heard.events[0].pid, b);
  EXPECT_EQ(heard.events[0].previous, a);
  EXPECT_EQ(heard.events[1].previous, b);
  EXPECT_EQ(heard.events[1].name, "n");
  EXPECT_EQ(heard.events[1].ref, *ref);
  EXPECT_EQ(world.table.watch_count(), 0U);
}

TEST(Registry, info_on_a_free_name_is_over_at_once) {
  World world;
  const Pid watcher = world.listener();
  ASSERT_TRUE(world.table.watch_name("n", watcher, WatchMode::info));
  EXPECT_THAT(changes(world.heard(watcher)), ElementsAre(NameChange::unregistered));
  EXPECT_EQ(world.table.watch_count(), 0U);
}

TEST(Registry, follow_is_told_of_the_next_owner_too) {
  World world;
  const Pid watcher = world.listener();
  const Pid a = world.agent();
  const auto ref = world.table.watch_name("n", watcher, WatchMode::follow);
  ASSERT_TRUE(ref);
  ASSERT_TRUE(world.table.register_agent("n", a));
  ASSERT_TRUE(world.table.unregister_agent("n"));
  ASSERT_TRUE(world.table.register_agent("n", a));
  world.table.unwatch(*ref);
  ASSERT_TRUE(world.table.unregister_agent("n"));
  EXPECT_THAT(changes(world.heard(watcher)), ElementsAre(NameChange::unregistered, NameChange::registered,
                                                         NameChange::unregistered, NameChange::registered));
}

TEST(Registry, a_standby_takes_over_with_the_capabilities_and_no_load) {
  World world;
  const Pid first = world.listener();
  const Pid second = world.listener();
  const Pid owner = world.agent();
  const Pid watcher = world.listener();
  ASSERT_TRUE(world.table.register_agent("n", owner, {"execute"}));
  ASSERT_TRUE(world.table.increment_load("n"));
  ASSERT_TRUE(world.table.watch_name("n", first, WatchMode::standby));
  ASSERT_TRUE(world.table.watch_name("n", second, WatchMode::standby));
  ASSERT_TRUE(world.table.watch_name("n", watcher, WatchMode::info));
  world.kill(owner);
  EXPECT_EQ(world.table.find_agent("n"), first);
  EXPECT_THAT(world.table.find_agents_by_capability("execute"), UnorderedElementsAre(first));
  EXPECT_EQ(world.table.get_load("n"), 0U);
  EXPECT_THAT(changes(world.heard(first)), ElementsAre(NameChange::failover));
  EXPECT_THAT(changes(world.heard(watcher)), ElementsAre(NameChange::failover));
  // The next one follows when the first leaves it, and nobody when that one dies.
  ASSERT_TRUE(world.table.unregister_agent("n"));
  EXPECT_EQ(world.table.find_agent("n"), second);
  world.kill(second);
  EXPECT_EQ(failure_of(world.table.find_agent("n")), Failure::not_found);
  EXPECT_EQ(world.table.entry_count(), 0U);
  EXPECT_EQ(world.table.watch_count(), 0U);
}

TEST(Registry, a_dead_standby_is_passed_over) {
  World world;
  const Pid dead = world.agent();
  const Pid living = world.agent();
  const Pid owner = world.agent();
  ASSERT_TRUE(world.table.register_agent("n", owner));
  ASSERT_TRUE(world.table.watch_name("n", dead, WatchMode::standby));
  ASSERT_TRUE(world.table.watch_name("n", living, WatchMode::standby));
  world.kill(world.registry);
  world.kill(dead);
  world.kill(owner);
  // A process that wants the name finds that the standby has it.
  EXPECT_EQ(world.table.register_or_locate("n", world.agent()), living);
}

TEST(Registry, a_standby_for_a_free_name_has_it_at_once) {
  World world;
  const Pid standby = world.listener();
  ASSERT_TRUE(world.table.watch_name("n", standby, WatchMode::standby));
  EXPECT_EQ(world.table.find_agent("n"), standby);
  EXPECT_THAT(changes(world.heard(standby)), ElementsAre(NameChange::failover));
}

TEST(Registry, an_event_gets_into_a_mailbox_that_is_full) {
  World world;
  for (const FullMailbox policy : {FullMailbox::reject, FullMailbox::drop_newest, FullMailbox::drop_oldest}) {
    SpawnOptions options;
    options.mailbox_limit = 2;
    options.when_full = policy;
    const Pid watcher = world.runtime.spawn_with<Listener>(options);
    const Pid owner = world.agent();
    ASSERT_TRUE(world.table.register_agent("n", owner));
    ASSERT_TRUE(world.table.watch_name("n", watcher, WatchMode::info));
    for (int i = 0; i < 10; ++i) (void)world.runtime.send(watcher, i);
    ASSERT_TRUE(world.table.unregister_agent("n"));
    for (int i = 0; i < 10; ++i) (void)world.runtime.send(watcher, i);
    world.runtime.run_ready();
    EXPECT_THAT(changes(world.heard(watcher)), ElementsAre(NameChange::unregistered));
  }
  EXPECT_EQ(world.table.dropped_events(), 0U);
}

TEST(Registry, events_beyond_the_backlog_are_dropped_and_counted) {
  World world({.watch_backlog = 5});
  const Pid watcher = world.runtime.spawn<Listener>();
  const Pid owner = world.agent();
  ASSERT_TRUE(world.table.watch_name("n", watcher, WatchMode::follow));
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(world.table.register_agent("n", owner));
    ASSERT_TRUE(world.table.unregister_agent("n"));
  }
  EXPECT_EQ(world.table.dropped_events() + world.heard(watcher).events.size(), 9U);
  EXPECT_GT(world.table.dropped_events(), 0U);
}

TEST(Registry, a_standby_for_a_free_name_needs_no_room_among_the_watches) {
  World world({.watches = 0});
  const Pid standby = world.listener();
  ASSERT_TRUE(world.table.watch_name("n", standby, WatchMode::standby));
  EXPECT_EQ(world.table.find_agent("n"), standby);
  EXPECT_THAT(changes(world.heard(standby)), ElementsAre(NameChange::failover));
  const Pid other = world.listener();
  EXPECT_EQ(failure_of(world.table.watch_name("n", other, WatchMode::standby)), Failure::full);
}

TEST(Registry, monitors_the_last_owner_though_its_mailbox_was_full) {
  World world;
  world.kill(world.registry);
  SpawnOptions options;
  options.mailbox_limit = 1;
  world.registry = world.runtime.spawn_with<Registry>(options, world.shared);
  world.runtime.run_ready();
  const Pid owner = world.agent();
  for (int i = 0; i < 5; ++i) (void)world.runtime.send(world.registry, i);
  ASSERT_TRUE(world.table.register_agent("n", owner));
  world.runtime.run_ready();
  EXPECT_TRUE(world.table.is_settled());
  world.kill(owner);
  EXPECT_EQ(world.table.entry_count(), 0U);
}

TEST(Registry, tells_when_the_last_resource_of_a_name_is_gone) {
  World world;
  const Pid watcher = world.listener();
  const Pid a = world.agent();
  const Pid b = world.agent();
  ASSERT_TRUE(world.table.add_resource("slot", a));
  ASSERT_TRUE(world.table.add_resource("slot", b));
  ASSERT_TRUE(world.table.add_resource("other", b));
  EXPECT_EQ(failure_of(world.table.add_resource("slot", a)), Failure::already_registered);
  const auto ref = world.table.watch_resource("slot", watcher);
  ASSERT_TRUE(ref);
  EXPECT_EQ(world.table.resource_count("slot"), 2U);
  ASSERT_TRUE(world.table.remove_resource("slot", a));
  EXPECT_EQ(world.table.resource_count("slot"), 1U);
  EXPECT_THAT(world.heard(watcher).events, IsEmpty());
  world.kill(b);
  EXPECT_EQ(world.table.resource_count("slot"), 0U);
  // Each time, until it is not wanted any more.
  ASSERT_TRUE(world.table.add_resource("slot", a));
  ASSERT_TRUE(world.table.remove_resource("slot", a));
  const auto heard = world.heard(watcher);
  ASSERT_THAT(changes(heard), ElementsAre(NameChange::emptied, NameChange::emptied));
  EXPECT_EQ(heard.events[0].name, "slot");
  EXPECT_EQ(heard.events[0].previous, b);
  EXPECT_EQ(heard.events[0].ref, *ref);
  world.table.unwatch(*ref);
  ASSERT_TRUE(world.table.add_resource("slot", a));
  ASSERT_TRUE(world.table.remove_resource("slot", a));
  EXPECT_EQ(world.heard(watcher).events.size(), 2U);
  EXPECT_EQ(world.table.watch_count(), 0U);
  ASSERT_TRUE(world.table.watch_resource("slot", watcher));
  world.kill(watcher);
  EXPECT_EQ(world.table.watch_count(), 0U) << "it goes with its watcher";
}

TEST(Registry, describes_itself) {
  World world;
  ASSERT_TRUE(world.table.register_agent("a", world.agent(), {"execute"}));
  EXPECT_EQ(world.runtime.describe(world.registry).value_or(""),
            "1 entries, 1 sets, 0 watches, 0 subscriptions, 0 waits, 0 events dropped");
}

}  // namespace
}  // namespace skein::inline v0::registry_tests
