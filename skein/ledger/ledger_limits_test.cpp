// Swarms, agents, limits and versions.
#include <gmock/gmock.h>

#include "skein/ledger/test_ledger.hpp"

namespace skein::ledger {
namespace {

class LedgerSwarm : public TestLedger, public testing::Test {};
class LedgerLimits : public TestLedger, public testing::Test {};

TEST_F(LedgerSwarm, there_is_a_default_one_that_stays) {
  ASSERT_EQ(ledger.swarms().size(), 1U);
  EXPECT_EQ(ledger.swarms()[0].name, "default");
  EXPECT_EQ(verdict(SwarmRemove{"default"}), Verdict::swarm_busy);
}

TEST_F(LedgerSwarm, takes_and_gives_out_tasks_as_its_state_says) {
  struct Case {
    SwarmState state;
    Verdict submits;
    Verdict assigns;
  };
  dispatch();
  std::uint64_t n = 0;
  for (const auto& each : {Case{SwarmState::active, Verdict::ok, Verdict::ok},
                           Case{SwarmState::paused, Verdict::ok, Verdict::swarm_closed},
                           Case{SwarmState::draining, Verdict::swarm_closed, Verdict::ok},
                           Case{SwarmState::stopped, Verdict::swarm_closed, Verdict::swarm_closed}}) {
    EXPECT_EQ(verdict(SwarmSetState{"default", SwarmState::active}), Verdict::ok);
    const auto waiting = ++n;
    EXPECT_EQ(verdict(submit(waiting)), Verdict::ok);
    EXPECT_EQ(verdict(SwarmSetState{"default", each.state}), Verdict::ok);
    EXPECT_EQ(verdict(submit(++n)), each.submits) << name_of(each.state);
    EXPECT_EQ(verdict(Assign{epoch, task_id(waiting), "a", 1}), each.assigns) << name_of(each.state);
  }
}

TEST_F(LedgerSwarm, an_open_breaker_gives_out_nothing_and_takes_all) {
  EXPECT_EQ(verdict(submit(1)), Verdict::ok);
  dispatch();
  EXPECT_EQ(verdict(SwarmSetBreaker{"default", Breaker::open, 60'000}), Verdict::ok);
  EXPECT_EQ(told<SwarmChanged>()[0].swarm.breaker_until, 60'000U);
  EXPECT_EQ(verdict(submit(2)), Verdict::ok);
  EXPECT_EQ(verdict(Assign{epoch, task_id(1), "a", 1}), Verdict::swarm_closed);
  EXPECT_EQ(verdict(SwarmSetBreaker{"default", Breaker::half_open, 0}), Verdict::ok);
  EXPECT_EQ(verdict(Assign{epoch, task_id(1), "a", 1}), Verdict::ok);
}

TEST_F(LedgerSwarm, overrides_win_until_they_are_dropped) {
  EXPECT_EQ(verdict(SwarmPut{"s", Origin::config, {{"topology", "star"}, {"open_tasks", "5"}}}), Verdict::ok);
  EXPECT_EQ(verdict(SwarmOverride{"s", {{"topology", "mesh"}, {"open_tasks", "0"}}}), Verdict::ok);
  EXPECT_EQ(ledger.find_swarm("s")->field("topology"), "mesh");
  auto op = submit(1);
  op.spec.swarm = "s";
  EXPECT_EQ(verdict(op), Verdict::queue_full);
  EXPECT_EQ(verdict(SwarmPut{"s", Origin::config, {{"topology", "ring"}, {"open_tasks", "6"}}}), Verdict::ok);
  EXPECT_EQ(ledger.find_swarm("s")->field("topology"), "mesh") << "a new definition keeps them";
  EXPECT_EQ(verdict(SwarmOverride{"s", {{"topology", ""}}}), Verdict::ok);
  EXPECT_EQ(ledger.find_swarm("s")->field("topology"), "ring");
  EXPECT_EQ(verdict(SwarmDropOverrides{""}), Verdict::ok);
  EXPECT_EQ(told<SwarmChanged>().size(), 1U);
  EXPECT_EQ(verdict(op), Verdict::ok);
  EXPECT_EQ(ledger.find_swarm("s")->open_tasks, 1U);
}

TEST_F(LedgerSwarm, numbers_must_be_numbers_also_under_an_override) {
  EXPECT_EQ(verdict(SwarmPut{"s", Origin::api, {{"open_tasks", "many"}}}), Verdict::malformed);
  EXPECT_EQ(verdict(SwarmPut{"s", Origin::api, {}}), Verdict::ok);
  EXPECT_EQ(verdict(SwarmOverride{"s", {{"open_bytes", "-1"}}}), Verdict::malformed);
  EXPECT_EQ(verdict(SwarmOverride{"s", {{"open_tasks", "1"}}}), Verdict::ok);
  EXPECT_EQ(verdict(SwarmPut{"s", Origin::api, {{"open_tasks", "many"}}}), Verdict::malformed);
}

TEST_F(LedgerSwarm, is_removed_only_when_it_has_no_open_tasks) {
  EXPECT_EQ(verdict(SwarmPut{"s", Origin::api, {}}), Verdict::ok);
  auto op = submit(1);
  op.spec.swarm = "s";
  EXPECT_EQ(verdict(op), Verdict::ok);
  EXPECT_EQ(verdict(SwarmRemove{"s"}), Verdict::swarm_busy);
  EXPECT_EQ(verdict(Cancel{task_id(1), 1, ""}), Verdict::ok);
  EXPECT_EQ(verdict(SwarmRemove{"s"}), Verdict::ok);
  EXPECT_EQ(told<SwarmRemoved>()[0].name, "s");
  op.id = task_id(2);
  EXPECT_EQ(verdict(op), Verdict::no_such_swarm);
  EXPECT_EQ(verdict(Retry{task_id(1), task_id(3), 1}), Verdict::no_such_swarm);
  for (const Op& each :
       std::vector<Op>{SwarmRemove{"s"}, SwarmOverride{"s", {}}, SwarmDropOverrides{"s"},
                       SwarmSetState{"s", SwarmState::active}, SwarmSetBreaker{"s", Breaker::open, 0}}) {
    EXPECT_EQ(verdict(each), Verdict::no_such_swarm);
  }
}

TEST_F(LedgerSwarm, agents_of_the_config_come_and_go) {
  EXPECT_EQ(verdict(AgentPut{"b", {{"role", "worker"}}}), Verdict::ok);
  EXPECT_EQ(verdict(AgentPut{"a", {}}), Verdict::ok);
  ASSERT_EQ(ledger.agents().size(), 2U);
  EXPECT_EQ(ledger.agents()[0].name, "a");
  EXPECT_EQ(ledger.agents()[1].fields.at("role"), "worker");
  EXPECT_EQ(verdict(AgentRemove{"b"}), Verdict::ok);
  EXPECT_EQ(verdict(AgentRemove{"b"}), Verdict::no_such_agent);
  EXPECT_EQ(verdict(AgentPut{"a\n", {}}), Verdict::malformed);
}

TEST_F(LedgerLimits, hold_exactly_for_a_swarm_in_tasks_and_bytes) {
  EXPECT_EQ(verdict(SwarmOverride{"default", {{"open_tasks", "2"}}}), Verdict::ok);
  EXPECT_EQ(verdict(submit(1)), Verdict::ok);
  EXPECT_EQ(verdict(submit(2)), Verdict::ok);
  EXPECT_EQ(run(submit(3)), (OpResult{Verdict::queue_full, std::nullopt, 2, {}}));
  const auto bytes = charge_of(task(1));
  EXPECT_EQ(bytes, k_task_overhead_bytes + 2 + 4);
  const Fields room_for_two{{"open_tasks", ""}, {"open_bytes", std::to_string(2 * bytes)}};
  EXPECT_EQ(verdict(SwarmOverride{"default", room_for_two}), Verdict::ok);
  EXPECT_EQ(verdict(submit(3)), Verdict::queue_full);
  EXPECT_EQ(verdict(Cancel{task_id(1), 1, ""}), Verdict::ok);
  auto larger = submit(3);
  larger.spec.params = body_of("{ }");
  EXPECT_EQ(run(larger), (OpResult{Verdict::queue_full, std::nullopt, 2 * bytes, {}}));
  EXPECT_EQ(verdict(submit(3)), Verdict::ok);
  EXPECT_EQ(broken_limit(*ledger.freeze()), std::nullopt);
}

TEST_F(LedgerLimits, hold_for_the_whole_ledger_and_for_what_waits_for_the_archive) {
  Limits limits;
  limits.open_tasks = 1;
  limits.finished_tasks = 1;
  EXPECT_EQ(verdict(SetLimits{limits}), Verdict::ok);
  EXPECT_EQ(told<LimitsChanged>()[0].limits, limits);
  EXPECT_EQ(verdict(submit(1)), Verdict::ok);
  EXPECT_EQ(verdict(submit(2)), Verdict::ledger_full);
  EXPECT_EQ(verdict(Cancel{task_id(1), 1, ""}), Verdict::ok);
  EXPECT_EQ(verdict(submit(2)), Verdict::archive_behind);
  EXPECT_EQ(verdict(Retry{task_id(1), task_id(2), 1}), Verdict::archive_behind);
  EXPECT_EQ(verdict(Archived{1}), Verdict::ok);
  EXPECT_EQ(verdict(submit(2)), Verdict::ok);
}

TEST_F(LedgerLimits, lowered_below_what_is_there_take_nothing_away_and_let_nothing_in) {
  for (std::uint64_t n = 1; n <= 3; ++n) EXPECT_EQ(verdict(submit(n)), Verdict::ok);
  const auto full = ledger.freeze();
  Limits limits;
  limits.swarm_tasks = 2;
  EXPECT_EQ(verdict(SetLimits{limits}), Verdict::ok);
  const auto lowered = ledger.freeze();
  EXPECT_NE(broken_limit(*lowered), std::nullopt);
  EXPECT_EQ(grown_past_limit(*full, *lowered), std::nullopt);
  EXPECT_EQ(verdict(submit(4)), Verdict::queue_full);
  EXPECT_EQ(verdict(Cancel{task_id(1), 1, ""}), Verdict::ok);
  EXPECT_EQ(verdict(submit(4)), Verdict::queue_full);
  const auto smaller = ledger.freeze();
  EXPECT_EQ(grown_past_limit(*lowered, *smaller), std::nullopt);
  EXPECT_EQ(broken_limit(*smaller), std::nullopt);
  EXPECT_NE(grown_past_limit(*smaller, *lowered), std::nullopt) << "one more than there was";
}

TEST_F(LedgerLimits, refuse_what_is_too_large_and_say_the_limit) {
  Limits limits;
  limits.params_bytes = 10;
  limits.result_bytes = 11;
  limits.name_bytes = 12;
  limits.key_bytes = 13;
  limits.trace_bytes = 14;
  limits.capabilities = 2;
  limits.dependencies = 1;
  limits.attempts = 5;
  limits.mark_bytes = 15;
  limits.message_bytes = 16;
  limits.swarms = 2;
  limits.agents = 1;
  limits.fields = 2;
  limits.field_bytes = 20;
  EXPECT_EQ(verdict(SetLimits{limits}), Verdict::ok);
  const auto expect_limit = [this](const Op& op, std::uint64_t limit, Verdict verdict = Verdict::too_large) {
    EXPECT_EQ(run(op), (OpResult{verdict, std::nullopt, limit, {}}));
  };
  const auto submit_with = [](auto change) {
    auto op = submit(1);
    change(op.spec);
    return op;
  };
  const std::string long_text(17, 'x');
  expect_limit(submit_with([&](TaskSpec& s) { s.params = body_of(long_text); }), 10);
  expect_limit(submit_with([&](TaskSpec& s) { s.type = long_text; }), 12);
  expect_limit(submit_with([&](TaskSpec& s) { s.capabilities = {long_text}; }), 12);
  expect_limit(submit_with([&](TaskSpec& s) { s.capabilities = {"a", "b", "c"}; }), 2);
  expect_limit(submit_with([&](TaskSpec& s) { s.extras.key = long_text; }), 13);
  expect_limit(submit_with([&](TaskSpec& s) { s.extras.trace = long_text; }), 14);
  expect_limit(submit_with([&](TaskSpec& s) { s.extras.dependencies = {task_id(1), task_id(2)}; }), 1);
  expect_limit(submit_with([&](TaskSpec& s) { s.attempts_max = 6; }), 5);
  EXPECT_EQ(verdict(submit_with([&](TaskSpec& s) { s.attempts_max = 0; })), Verdict::malformed);
  EXPECT_EQ(verdict(submit_with([&](TaskSpec& s) { s.type = ""; })), Verdict::malformed);
  EXPECT_EQ(verdict(submit_with([&](TaskSpec& s) { s.priority = 51; })), Verdict::malformed);
  const Fence fence = submitted_and_assigned(1);
  expect_limit(Assign{epoch, task_id(1), long_text, 1}, 12);
  expect_limit(Progress{task_id(1), fence, 1, body_of(long_text)}, 15);
  expect_limit(Complete{task_id(1), fence, 1, body_of(long_text)}, 11);
  expect_limit(Fail{task_id(1), fence, 1, ErrorClass::transient, 0, long_text}, 16);
  expect_limit(Cancel{task_id(1), 1, long_text}, 16);
  expect_limit(TakeDispatch{long_text, 1}, 12);
  expect_limit(SwarmPut{long_text, Origin::api, {}}, 12);
  expect_limit(SwarmPut{"s", Origin::api, {{"a", ""}, {"b", ""}, {"c", ""}}}, 2);
  expect_limit(SwarmPut{"s", Origin::api, {{"a", long_text}, {"b", long_text}}}, 20);
  expect_limit(SwarmOverride{"default", {{"a", long_text}, {"b", long_text}}}, 20);
  EXPECT_EQ(verdict(SwarmPut{"s", Origin::api, {}}), Verdict::ok);
  expect_limit(SwarmPut{"t", Origin::api, {}}, 2, Verdict::ledger_full);
  EXPECT_EQ(verdict(AgentPut{"s", {}}), Verdict::ok);
  EXPECT_EQ(verdict(AgentPut{"s", {{"a", "b"}}}), Verdict::ok);
  expect_limit(AgentPut{"t", {}}, 1, Verdict::ledger_full);
}

TEST_F(LedgerLimits, that_leave_no_way_back_are_refused) {
  Limits limits;
  limits.name_bytes = 0;
  EXPECT_EQ(verdict(SetLimits{limits}), Verdict::malformed);
  EXPECT_EQ(ledger.limits(), Limits{});
}

TEST_F(LedgerLimits, lowered_below_what_is_there_stop_what_is_new_alone) {
  EXPECT_EQ(verdict(SwarmPut{"s", Origin::api, {{"a", "1"}, {"b", "2"}}}), Verdict::ok);
  const Fence fence = submitted_and_assigned(1);
  EXPECT_EQ(verdict(submit(2)), Verdict::ok);
  Limits limits;
  limits.open_tasks = 1;
  limits.fields = 1;
  limits.open_bytes = 1;
  EXPECT_EQ(verdict(SetLimits{limits}), Verdict::ok);
  EXPECT_EQ(verdict(submit(3)), Verdict::ledger_full);
  EXPECT_EQ(verdict(Complete{task_id(1), fence, 1, nullptr}), Verdict::ok);
  EXPECT_EQ(verdict(SwarmSetState{"s", SwarmState::paused}), Verdict::ok);
}

TEST_F(LedgerLimits, a_command_that_goes_on_with_an_unknown_version_changes_nothing) {
  const Op ops[] = {TakeDispatch{"newer", 1}, LedgerVersion{k_ledger_version + 1}};
  const auto before = ledger.digest();
  EXPECT_THROW(ledger.apply(99, encode_command(ops)), UnknownEntry);
  EXPECT_EQ(ledger.digest(), before);
  EXPECT_TRUE(told<DispatchTaken>().empty());
}

TEST_F(LedgerLimits, the_version_goes_up_only_and_never_beyond_what_is_known) {
  EXPECT_EQ(ledger.version(), 1U);
  EXPECT_EQ(run(LedgerVersion{1}), (OpResult{Verdict::ok, std::nullopt, 1, {}}));
  EXPECT_EQ(verdict(LedgerVersion{0}), Verdict::old_version);
  EXPECT_EQ(run(LedgerVersion{2}), (OpResult{Verdict::ok, std::nullopt, 2, {}}));
  EXPECT_EQ(told<VersionChanged>().size(), 1U);
  EXPECT_EQ(run(LedgerVersion{1}), (OpResult{Verdict::old_version, std::nullopt, 2, {}}));
  EXPECT_THROW(ledger.apply(99, encode_command(LedgerVersion{k_ledger_version + 1})), UnknownEntry);
}

TEST(RemovedSwarm, takes_nothing_new_and_goes_once_empty) {
  TestLedger world;
  world.run({LedgerVersion{k_removed_version}, SwarmPut{"old", Origin::config, {}}});
  world.dispatch();
  auto op = submit(1);
  op.spec.swarm = "old";
  ASSERT_EQ(world.verdict(op), Verdict::ok);
  EXPECT_EQ(world.verdict(SwarmRemove{"old"}), Verdict::swarm_busy);
  EXPECT_EQ(world.verdict(SwarmSetState{"old", SwarmState::removed}), Verdict::ok);
  auto more = submit(2);
  more.spec.swarm = "old";
  EXPECT_EQ(world.verdict(more), Verdict::swarm_closed);
  EXPECT_EQ(world.verdict(SwarmSetState{"old", SwarmState::active}), Verdict::swarm_closed);
  const Fence fence = world.assign(1);
  EXPECT_NE(fence, 0U) << "it gives out what it has";
  EXPECT_EQ(world.verdict(Complete{task_id(1), fence, 3000, {}}), Verdict::ok);
  EXPECT_EQ(world.verdict(SwarmRemove{"old"}), Verdict::ok);
}

TEST(RemovedSwarm, is_active_again_when_it_is_declared_again) {
  TestLedger world;
  world.run({LedgerVersion{k_removed_version}, SwarmPut{"old", Origin::config, {}}});
  EXPECT_EQ(world.verdict(SwarmSetState{"old", SwarmState::removed}), Verdict::ok);
  EXPECT_EQ(world.verdict(SwarmPut{"old", Origin::config, {}}), Verdict::ok);
  EXPECT_EQ(world.ledger.find_swarm("old")->state, SwarmState::active);
}

TEST(RemovedSwarm, is_unknown_to_a_ledger_of_before_and_never_the_default) {
  TestLedger world;
  world.run({LedgerVersion{k_sound_version}, SwarmPut{"old", Origin::config, {}}});
  EXPECT_EQ(world.verdict(SwarmSetState{"old", SwarmState::removed}), Verdict::old_version);
  world.run(LedgerVersion{k_removed_version});
  EXPECT_EQ(world.verdict(SwarmSetState{"default", SwarmState::removed}), Verdict::swarm_busy);
}

}  // namespace
}  // namespace skein::ledger
