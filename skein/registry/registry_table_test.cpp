#include "skein/registry/registry_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "skein/registry/registry_world.hpp"

namespace skein::inline v0::registry_tests {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using Failure = RegistryFailure;

TEST(RegistryTable, finds_whom_it_registered) {
  World world;
  const Pid pid = world.agent();
  ASSERT_TRUE(world.table.register_agent("a", pid, {"execute"}));
  EXPECT_EQ(world.table.find_agent("a"), pid);
  EXPECT_EQ(failure_of(world.table.find_agent("b")), Failure::not_found);
}

TEST(RegistryTable, a_name_has_one_owner) {
  World world;
  const Pid first = world.agent();
  const Pid second = world.agent();
  ASSERT_TRUE(world.table.register_agent("a", first));
  const auto again = world.table.register_agent("a", second);
  EXPECT_EQ(failure_of(again), Failure::already_registered);
  EXPECT_EQ(again.error().holder, first);
  EXPECT_EQ(world.table.find_agent("a"), first);
  EXPECT_EQ(failure_of(world.table.register_agent("a", first)), Failure::already_registered);
}

TEST(RegistryTable, unregistering_frees_the_name) {
  World world;
  const Pid pid = world.agent();
  ASSERT_TRUE(world.table.register_agent("a", pid));
  EXPECT_TRUE(world.table.unregister_agent("a"));
  EXPECT_EQ(failure_of(world.table.unregister_agent("a")), Failure::not_found);
  EXPECT_EQ(failure_of(world.table.find_agent("a")), Failure::not_found);
  EXPECT_TRUE(world.table.register_agent("a", world.agent()));
}

TEST(RegistryTable, names_of_every_length_are_kept_apart) {
  World world;
  const Pid pid = world.agent();
  for (std::size_t bytes = 1; bytes <= k_registry_text_max; ++bytes) {
    ASSERT_TRUE(world.table.register_agent(std::string(bytes, 'x'), pid)) << bytes;
  }
  EXPECT_EQ(world.table.agent_count(), k_registry_text_max);
  for (std::size_t bytes = 1; bytes <= k_registry_text_max; ++bytes) {
    EXPECT_EQ(world.table.find_agent(std::string(bytes, 'x')), pid);
    EXPECT_FALSE(world.table.find_agent(std::string(bytes - 1, 'x') + 'y'));
    ASSERT_TRUE(world.table.unregister_agent(std::string(bytes, 'x')));
  }
  EXPECT_EQ(world.table.entry_count(), 0U);
}

TEST(RegistryTable, a_name_may_hold_any_byte) {
  World world;
  const std::string odd("a\0b\xff", 4);
  ASSERT_TRUE(world.table.register_agent(odd, world.agent()));
  EXPECT_TRUE(world.table.find_agent(odd));
  EXPECT_FALSE(world.table.find_agent("a"));
  EXPECT_THAT(*world.table.query_agents({}), UnorderedElementsAre(odd));
}

TEST(RegistryTable, refuses_bad_names) {
  World world;
  const Pid pid = world.agent();
  const std::string absurd(1'000'000, 'x');
  for (const std::string& name : {std::string(), std::string(k_registry_text_max + 1, 'x'), absurd}) {
    EXPECT_EQ(failure_of(world.table.register_agent(name, pid)), Failure::bad_name);
    EXPECT_EQ(failure_of(world.table.unregister_agent(name)), Failure::bad_name);
    EXPECT_EQ(failure_of(world.table.find_agent(name)), Failure::not_found);
    EXPECT_EQ(failure_of(world.table.add_counter(name, pid)), Failure::bad_name);
    EXPECT_EQ(failure_of(world.table.join_group(name, pid)), Failure::bad_name);
    EXPECT_EQ(failure_of(world.table.subscribe(name, pid)), Failure::bad_name);
    EXPECT_EQ(failure_of(world.table.watch_name(name, pid, WatchMode::info)), Failure::bad_name);
    EXPECT_EQ(failure_of(world.table.await_agent(name, Duration(1))), Failure::bad_name);
    EXPECT_EQ(failure_of(world.table.sum_of_counters(name)), Failure::bad_name);
    EXPECT_EQ(failure_of(world.table.counter(name, pid)), Failure::not_found);
    EXPECT_THAT(world.table.group_members(name), IsEmpty());
    EXPECT_THAT(world.table.find_agents_by_capability(name), IsEmpty());
  }
  EXPECT_THAT(world.table.register_agent("", pid).error().text(), HasSubstr("1 to 255 bytes"));
}

TEST(RegistryTable, refuses_bad_capability_lists) {
  World world;
  const Pid pid = world.agent();
  EXPECT_EQ(failure_of(world.table.register_agent("a", pid, {""})), Failure::bad_capability);
  EXPECT_EQ(failure_of(world.table.register_agent("a", pid, {"any"})), Failure::bad_capability);
  EXPECT_EQ(failure_of(world.table.register_agent("a", pid, {std::string(129, 'c')})), Failure::bad_capability);
  const std::vector<std::string> many(k_capabilities_max + 1, "c");
  EXPECT_EQ(failure_of(world.table.register_agent("a", pid, many)), Failure::too_many_capabilities);
  EXPECT_EQ(failure_of(world.table.query_agents(many)), Failure::too_many_capabilities);
  EXPECT_EQ(failure_of(world.table.query_agents({""})), Failure::bad_capability);
  EXPECT_EQ(world.table.entry_count(), 0U);
  EXPECT_EQ(world.table.set_count(), 0U);
}

TEST(RegistryTable, refuses_dead_processes_and_nobody) {
  World world;
  const Pid dead = world.agent();
  const Pid living = world.agent();
  world.kill(dead);
  ASSERT_TRUE(world.table.register_agent("b", living));
  for (const Pid pid : {dead, Pid{}}) {
    EXPECT_EQ(failure_of(world.table.register_agent("a", pid)), Failure::dead_process);
    EXPECT_EQ(failure_of(world.table.give_away("b", living, pid)), Failure::dead_process);
    EXPECT_EQ(failure_of(world.table.add_counter("c", pid)), Failure::dead_process);
    EXPECT_EQ(failure_of(world.table.join_group("g", pid)), Failure::dead_process);
    EXPECT_EQ(failure_of(world.table.subscribe("t", pid)), Failure::dead_process);
    EXPECT_EQ(failure_of(world.table.watch_name("a", pid, WatchMode::info)), Failure::dead_process);
  }
}

TEST(RegistryTable, finds_by_capability) {
  World world;
  const Pid a = world.agent();
  const Pid b = world.agent();
  const Pid c = world.agent();
  ASSERT_TRUE(world.table.register_agent("a", a, {"execute", "report"}));
  ASSERT_TRUE(world.table.register_agent("b", b, {"execute", "execute"}));
  ASSERT_TRUE(world.table.register_agent("c", c));
  EXPECT_THAT(world.table.find_agents_by_capability("execute"), UnorderedElementsAre(a, b));
  EXPECT_THAT(world.table.find_agents_by_capability("report"), UnorderedElementsAre(a));
  EXPECT_THAT(world.table.find_agents_by_capability("fly"), IsEmpty());
  EXPECT_THAT(world.table.find_agents_by_capability("any"), UnorderedElementsAre(a, b, c));
  EXPECT_EQ(world.table.find_agents_by_capability("execute", 1).size(), 1U);
  EXPECT_EQ(world.table.find_agents_by_capability("any", 2).size(), 2U);
  EXPECT_THAT(*world.table.capabilities_of("a"), UnorderedElementsAre("execute", "report"));
  ASSERT_TRUE(world.table.unregister_agent("b"));
  EXPECT_THAT(world.table.find_agents_by_capability("execute"), UnorderedElementsAre(a));
}

TEST(RegistryTable, queries_ask_for_all_capabilities) {
  World world;
  std::vector<std::string> many;
  for (std::size_t i = 0; i < k_capabilities_max; ++i) many.push_back("c" + std::to_string(i));
  ASSERT_TRUE(world.table.register_agent("all", world.agent(), many));
  ASSERT_TRUE(world.table.register_agent("two", world.agent(), {"c0", "c63"}));
  ASSERT_TRUE(world.table.register_agent("one", world.agent(), {"c0"}));
  EXPECT_THAT(*world.table.query_agents({"c0", "c63"}), UnorderedElementsAre("all", "two"));
  EXPECT_THAT(*world.table.query_agents({"c0", "any", "c0"}), UnorderedElementsAre("all", "two", "one"));
  EXPECT_THAT(*world.table.query_agents({"c40", "c1"}), UnorderedElementsAre("all"));
  EXPECT_THAT(*world.table.query_agents({"c0", "unknown"}), IsEmpty());
  EXPECT_THAT(*world.table.query_agents({}), UnorderedElementsAre("all", "two", "one"));
  EXPECT_EQ(world.table.capabilities_of("all")->size(), k_capabilities_max);
}

TEST(RegistryTable, load_never_falls_below_zero) {
  World world;
  ASSERT_TRUE(world.table.register_agent("a", world.agent()));
  EXPECT_EQ(world.table.get_load("a"), 0U);
  EXPECT_EQ(world.table.increment_load("a", 3), 3U);
  EXPECT_EQ(world.table.decrement_load("a"), 2U);
  const auto below = world.table.decrement_load("a", 3);
  EXPECT_EQ(failure_of(below), Failure::load_below_zero);
  EXPECT_THAT(below.error().text(), HasSubstr("below zero"));
  EXPECT_EQ(world.table.get_load("a"), 2U);
  EXPECT_EQ(failure_of(world.table.increment_load("a", std::numeric_limits<std::uint32_t>::max())),
            Failure::load_too_large);
  EXPECT_EQ(world.table.get_load("a"), 2U);
  EXPECT_EQ(failure_of(world.table.increment_load("b")), Failure::not_found);
  EXPECT_EQ(failure_of(world.table.get_load("b")), Failure::not_found);
}

TEST(RegistryTable, a_new_registration_begins_without_load_or_heartbeat) {
  World world;
  const Pid pid = world.agent();
  ASSERT_TRUE(world.table.register_agent("a", pid));
  ASSERT_TRUE(world.table.increment_load("a"));
  ASSERT_TRUE(world.table.update_heartbeat("a"));
  ASSERT_TRUE(world.table.unregister_agent("a"));
  ASSERT_TRUE(world.table.register_agent("a", pid));
  EXPECT_EQ(world.table.get_load("a"), 0U);
  EXPECT_EQ(failure_of(world.table.get_last_heartbeat("a")), Failure::no_heartbeat);
}

TEST(RegistryTable, heartbeats_are_told_by_age_and_by_wall_time) {
  World world;
  ASSERT_TRUE(world.table.register_agent("a", world.agent()));
  ASSERT_TRUE(world.table.update_heartbeat("a"));
  world.runtime.run_for(std::chrono::milliseconds(250));
  const auto last = world.table.get_last_heartbeat("a");
  ASSERT_TRUE(last);
  EXPECT_EQ(last->ago, std::chrono::milliseconds(250));
  EXPECT_EQ(last->at, WallTime(std::chrono::hours(1)) - std::chrono::milliseconds(250));
  EXPECT_EQ(failure_of(world.table.update_heartbeat("b")), Failure::not_found);
}

TEST(RegistryTable, giving_away_keeps_capabilities_and_load) {
  World world;
  const Pid from = world.agent();
  const Pid to = world.agent();
  ASSERT_TRUE(world.table.register_agent("a", from, {"execute"}));
  ASSERT_TRUE(world.table.increment_load("a"));
  EXPECT_EQ(failure_of(world.table.give_away("a", to, from)), Failure::not_owner);
  EXPECT_EQ(failure_of(world.table.give_away("b", from, to)), Failure::not_found);
  ASSERT_TRUE(world.table.give_away("a", from, to));
  world.kill(from);
  EXPECT_EQ(world.table.find_agent("a"), to);
  EXPECT_EQ(world.table.get_load("a"), 1U);
  EXPECT_THAT(world.table.find_agents_by_capability("execute"), UnorderedElementsAre(to));
  world.kill(to);
  EXPECT_EQ(failure_of(world.table.find_agent("a")), Failure::not_found);
  EXPECT_EQ(world.table.entry_count(), 0U);
}

TEST(RegistryTable, register_or_locate_says_who_has_it) {
  World world;
  const Pid first = world.agent();
  const Pid second = world.agent();
  EXPECT_EQ(world.table.register_or_locate("a", first), first);
  EXPECT_EQ(world.table.register_or_locate("a", second), first);
  EXPECT_EQ(failure_of(world.table.register_or_locate("", second)), Failure::bad_name);
}

TEST(RegistryTable, register_or_spawn_makes_a_process_only_if_nobody_has_the_name) {
  World world;
  const auto made = world.table.register_or_spawn<Idle>("a", {"execute"});
  ASSERT_TRUE(made);
  EXPECT_EQ(world.table.find_agent("a"), *made);
  EXPECT_EQ(world.table.find_agents_by_capability("execute"), std::vector<Pid>{*made});
  const std::uint32_t processes = world.runtime.process_count();
  EXPECT_EQ(world.table.register_or_spawn<Idle>("a", {}), *made);
  EXPECT_EQ(failure_of(world.table.register_or_spawn<Idle>("", {})), Failure::bad_name);
  EXPECT_EQ(failure_of(world.table.register_or_spawn<Idle>("b", {""})), Failure::bad_capability);
  EXPECT_EQ(world.runtime.process_count(), processes) << "nobody was made for nothing";
  world.kill(*made);
  const auto next = world.table.register_or_spawn<Idle>("a", {});
  ASSERT_TRUE(next);
  EXPECT_NE(*next, *made);
}

TEST(RegistryTable, register_or_spawn_leaves_no_process_when_there_is_no_room) {
  RegistryLimits limits;
  limits.entries = 1;
  World world(limits);
  ASSERT_TRUE(world.table.register_or_spawn<Idle>("a", {}));
  const std::uint32_t processes = world.runtime.process_count();
  EXPECT_EQ(failure_of(world.table.register_or_spawn<Idle>("b", {})), Failure::full);
  world.runtime.run_ready();
  EXPECT_EQ(world.runtime.process_count(), processes);
}

TEST(RegistryTable, counters_add_up_over_living_owners) {
  World world;
  const Pid a = world.agent();
  const Pid b = world.agent();
  ASSERT_TRUE(world.table.add_counter("jobs", a, 5));
  ASSERT_TRUE(world.table.add_counter("jobs", b));
  EXPECT_EQ(failure_of(world.table.add_counter("jobs", a)), Failure::already_registered);
  EXPECT_EQ(world.table.update_counter("jobs", b, 7), 7);
  EXPECT_EQ(world.table.update_counter("jobs", a, -6), -1);
  EXPECT_EQ(world.table.counter("jobs", a), -1);
  EXPECT_EQ(world.table.sum_of_counters("jobs"), 6);
  world.kill(a);
  EXPECT_EQ(world.table.sum_of_counters("jobs"), 7);
  EXPECT_EQ(failure_of(world.table.counter("jobs", a)), Failure::not_found);
  EXPECT_EQ(failure_of(world.table.update_counter("jobs", a, 1)), Failure::not_found);
  ASSERT_TRUE(world.table.remove_counter("jobs", b));
  EXPECT_EQ(world.table.sum_of_counters("jobs"), 0);
}

TEST(RegistryTable, a_counter_does_not_overflow) {
  World world;
  const Pid a = world.agent();
  const Pid b = world.agent();
  constexpr std::int64_t k_most = std::numeric_limits<std::int64_t>::max();
  ASSERT_TRUE(world.table.add_counter("jobs", a, k_most));
  EXPECT_EQ(failure_of(world.table.update_counter("jobs", a, 1)), Failure::counter_overflow);
  EXPECT_EQ(world.table.counter("jobs", a), k_most);
  ASSERT_TRUE(world.table.add_counter("jobs", b, 1));
  EXPECT_EQ(failure_of(world.table.sum_of_counters("jobs")), Failure::counter_overflow);
}

TEST(RegistryTable, groups_have_members_until_they_leave_or_die) {
  World world;
  const Pid a = world.listener();
  const Pid b = world.listener();
  ASSERT_TRUE(world.table.join_group("g", a));
  ASSERT_TRUE(world.table.join_group("g", b));
  EXPECT_EQ(failure_of(world.table.join_group("g", a)), Failure::already_registered);
  EXPECT_THAT(world.table.group_members("g"), UnorderedElementsAre(a, b));
  EXPECT_EQ(world.table.send_to_group("g", 7), 2U);
  EXPECT_THAT(world.heard(a).numbers, UnorderedElementsAre(7));
  ASSERT_TRUE(world.table.leave_group("g", a));
  EXPECT_EQ(failure_of(world.table.leave_group("g", a)), Failure::not_found);
  EXPECT_THAT(world.table.group_members("g"), UnorderedElementsAre(b));
  world.kill(b);
  EXPECT_THAT(world.table.group_members("g"), IsEmpty());
  EXPECT_EQ(world.table.set_count(), 0U);
}

TEST(RegistryTable, the_same_text_as_agent_counter_and_group_are_three_things) {
  World world;
  const Pid pid = world.agent();
  ASSERT_TRUE(world.table.register_agent("x", pid, {"x"}));
  ASSERT_TRUE(world.table.add_counter("x", pid, 3));
  ASSERT_TRUE(world.table.join_group("x", pid));
  EXPECT_EQ(world.table.entry_count(), 3U);
  EXPECT_EQ(world.table.set_count(), 3U);
  ASSERT_TRUE(world.table.leave_group("x", pid));
  EXPECT_EQ(world.table.sum_of_counters("x"), 3);
  EXPECT_EQ(world.table.find_agent("x"), pid);
}

TEST(RegistryTable, is_full_at_its_limits_and_usable_afterwards) {
  World world({.entries = 10, .sets = 2, .watches = 1, .subscriptions = 1});
  const Pid pid = world.agent();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(world.table.register_agent("a" + std::to_string(i), pid));
  const auto full = world.table.register_agent("b", pid);
  EXPECT_EQ(failure_of(full), Failure::full);
  EXPECT_EQ(full.error().limit, 10U);
  ASSERT_TRUE(world.table.unregister_agent("a0"));
  EXPECT_EQ(failure_of(world.table.register_agent("b", pid, {"x", "y", "z"})), Failure::full);
  EXPECT_EQ(world.table.set_count(), 0U);
  EXPECT_TRUE(world.table.register_agent("b", pid, {"x", "y"}));
  ASSERT_TRUE(world.table.watch_name("b", pid, WatchMode::info));
  EXPECT_EQ(failure_of(world.table.watch_name("b", pid, WatchMode::info)), Failure::full);
  ASSERT_TRUE(world.table.subscribe("t", pid));
  EXPECT_EQ(failure_of(world.table.subscribe("t", pid)), Failure::full);
}

TEST(RegistryTable, uses_entries_again_over_many_rounds_of_other_names) {
  World world({.entries = 500});
  const Pid pid = world.agent();
  for (int round = 0; round < 40; ++round) {
    for (int i = 0; i < 500; ++i) {
      const std::string name = std::to_string(round) + "/" + std::to_string(i);
      ASSERT_TRUE(world.table.register_agent(name, pid, {"c" + std::to_string(i % 7)})) << name;
    }
    EXPECT_EQ(world.table.find_agents_by_capability("c0").size(), 72U);
    for (int i = 0; i < 500; ++i) {
      ASSERT_TRUE(world.table.unregister_agent(std::to_string(round) + "/" + std::to_string(i)));
    }
    EXPECT_EQ(world.table.entry_count(), 0U);
    EXPECT_EQ(world.table.set_count(), 0U);
  }
}

TEST(RegistryTable, publishes_to_those_who_subscribed) {
  World world;
  const Pid a = world.listener();
  const Pid b = world.listener();
  const auto always = world.table.subscribe("t", a);
  ASSERT_TRUE(always);
  ASSERT_TRUE(world.table.subscribe("t", b, Deliver::once));
  EXPECT_EQ(world.table.publish("t", 1), 2U);
  EXPECT_EQ(world.table.publish("t", 2), 1U);
  EXPECT_EQ(world.table.publish("other", 3), 0U);
  world.table.unsubscribe(*always);
  EXPECT_EQ(world.table.publish("t", 4), 0U);
  EXPECT_THAT(world.heard(a).numbers, testing::ElementsAre(1, 2));
  EXPECT_THAT(world.heard(b).numbers, testing::ElementsAre(1));
  EXPECT_EQ(world.table.subscription_count(), 0U);
}

TEST(RegistryTable, conditions_choose_by_type_and_value) {
  World world;
  const Pid a = world.listener();
  ASSERT_TRUE(world.table.subscribe_if<int>("t", a, [](int value) { return value > 10; }, Deliver::once));
  EXPECT_EQ(world.table.publish("t", 5), 0U);
  EXPECT_EQ(world.table.publish("t", std::string("text")), 0U);
  EXPECT_EQ(world.table.publish("t", 11), 1U);
  EXPECT_EQ(world.table.publish("t", 12), 0U);
  EXPECT_THAT(world.heard(a).numbers, testing::ElementsAre(11));
}

TEST(RegistryTable, a_condition_that_throws_is_false) {
  World world;
  const Pid a = world.listener();
  const Pid b = world.listener();
  ASSERT_TRUE(world.table.subscribe_if<int>("t", a, [](int) -> bool { throw std::runtime_error("no"); }));
  ASSERT_TRUE(world.table.subscribe("t", b));
  EXPECT_EQ(world.table.publish("t", 1), 1U);
  EXPECT_THAT(world.heard(a).numbers, IsEmpty());
  EXPECT_THAT(world.heard(b).numbers, testing::ElementsAre(1));
}

TEST(RegistryError, every_text_says_what_to_do) {
  for (int i = 0; i <= static_cast<int>(Failure::unavailable); ++i) {
    const std::string text = RegistryError{static_cast<Failure>(i), {}, 7}.text();
    EXPECT_THAT(text, HasSubstr(text.find('(') != std::string::npos ? "(" : ": "));
    EXPECT_EQ(text.find("unknown"), std::string::npos) << text;
  }
}

TEST(RegistryTable, registers_many_names_or_none) {
  World world({.entries = 4, .names_at_once = 5});
  const Pid pid = world.agent();
  const Pid other = world.agent();
  using Names = std::vector<AgentName>;
  ASSERT_TRUE(world.table.register_agents(Names{{"a", {"execute"}}, {"b"}}, pid));
  EXPECT_EQ(world.table.find_agent("a"), pid);
  EXPECT_EQ(world.table.find_agent("b"), pid);
  EXPECT_EQ(world.table.find_agents_by_capability("execute").size(), 1U);
  const auto none_but_two = [&](const Names& names, Pid who, RegistryFailure why) {
    EXPECT_EQ(failure_of(world.table.register_agents(names, who)), why);
    EXPECT_EQ(world.table.entry_count(), 2U);
    EXPECT_FALSE(world.table.find_agent("c"));
  };
  none_but_two({{"c"}, {"b"}}, other, RegistryFailure::already_registered);
  none_but_two({{"c"}, {"c"}}, other, RegistryFailure::already_registered);
  none_but_two({{"c"}, {""}}, other, RegistryFailure::bad_name);
  none_but_two({{"c"}, {"d", {""}}}, other, RegistryFailure::bad_capability);
  none_but_two({{"c"}, {"d"}, {"e"}}, other, RegistryFailure::full);
  none_but_two({{"c"}, {"d"}, {"e"}, {"f"}, {"g"}, {"h"}}, other, RegistryFailure::too_many_names);
  none_but_two({{"c"}}, Pid{}, RegistryFailure::dead_process);
  EXPECT_TRUE(world.table.register_agents(Names{}, pid));
  EXPECT_TRUE(world.table.register_agents(Names{{"c"}, {"d"}}, other));
}

TEST(RegistryTable, resets_a_counter_and_says_what_it_was) {
  World world;
  const Pid pid = world.agent();
  ASSERT_TRUE(world.table.add_counter("jobs", pid, 7));
  EXPECT_EQ(world.table.reset_counter("jobs", pid), 7);
  EXPECT_EQ(world.table.counter("jobs", pid), 0);
  EXPECT_EQ(world.table.reset_counter("jobs", pid, 5), 0);
  EXPECT_EQ(world.table.sum_of_counters("jobs"), 5);
  EXPECT_EQ(failure_of(world.table.reset_counter("other", pid)), RegistryFailure::not_found);
}

TEST(RegistryTable, sends_to_whoever_has_a_name) {
  World world;
  const Pid pid = world.listener();
  ASSERT_TRUE(world.table.register_agent("a", pid));
  EXPECT_EQ(world.table.send_to_agent("a", 5), SendResult::ok);
  EXPECT_EQ(world.table.send_to_agent("b", 5), SendResult::noproc);
}

TEST(RegistryTable, finds_many_at_once) {
  World world;
  const Pid dead = world.agent();
  const Pid living = world.agent();
  std::vector<std::string> names;
  for (int i = 0; i < 50; ++i) {
    names.push_back("agent-" + std::to_string(i));
    if (i % 5 == 0) continue;
    ASSERT_TRUE(world.table.register_agent(names.back(), i % 7 == 0 ? dead : living));
  }
  world.kill(world.registry);
  world.kill(dead);
  names.emplace_back();
  names.emplace_back(1'000, 'x');
  const std::vector<std::string_view> ids(names.begin(), names.end());
  std::vector<Pid> found(ids.size(), dead);
  world.table.find_agents(ids, found);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(found[i], world.table.find_agent(ids[i]).value_or(Pid{})) << ids[i];
  }
  EXPECT_EQ(std::ranges::count(found, living), 34);
}

TEST(RegistryMarks, are_of_the_entry_and_go_with_it) {
  World world;
  const Pid pid = world.agent();
  ASSERT_TRUE(world.table.register_agent("a", pid, {"paint"}, 42));
  EXPECT_EQ(world.table.mark_of("a").value(), 42U);
  EXPECT_EQ(world.table.capabilities_of("a").value(), std::vector<std::string>{"paint"});
  ASSERT_TRUE(world.table.unregister_agent("a"));
  EXPECT_FALSE(world.table.mark_of("a"));
  ASSERT_TRUE(world.table.register_agent("a", pid));
  EXPECT_EQ(world.table.mark_of("a").value(), 0U) << "of the one before";
}

}  // namespace
}  // namespace skein::inline v0::registry_tests
