// Random trees under random attack, and that the account beside them sees what is wrong when something is.
#include "sim/tree_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/tree_account.hpp"

namespace skein::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t k_seeds = 1000;

TEST(TreeModel, supervisors_do_what_they_must_in_a_thousand_attacked_trees) {
  std::uint64_t restarts = 0;
  std::uint64_t give_ups = 0;
  for (std::uint64_t seed = 1; seed <= k_seeds; ++seed) {
    const TreeModelResult result = run_tree_model(seed, false);
    EXPECT_THAT(result.violations, IsEmpty()) << "see it with: skein-sim trees --seed " << seed << " --trace";
    restarts += result.restarts;
    give_ups += result.give_ups;
  }
  EXPECT_GT(restarts, k_seeds);
  EXPECT_GT(give_ups, k_seeds / 10);
}

TEST(TreeModel, repeats_a_seed_exactly) { EXPECT_EQ(run_tree_model(7, true).trace, run_tree_model(7, true).trace); }

// What a supervisor with two children could do, told to an account by hand.
class Told : public testing::Test {
 protected:
  void declare(Strategy strategy, Restart restart, std::uint32_t intensity = 1) {
    AccountSupervisor supervisor{"s", {}, {}};
    supervisor.flags.strategy = strategy;
    supervisor.flags.intensity = intensity;
    supervisor.children = {AccountChild{"a", restart}, AccountChild{"b", restart}};
    account_.declare(supervisor);
    start("a", 1);
    start("b", 2);
  }
  void start(const std::string& child, std::uint32_t pid, StartOutcome outcome = StartOutcome::ok) {
    account_.starting(k_supervisor, "s", child, now_);
    account_.started(k_supervisor, child, outcome, Pid(0, pid, 1));
    if (outcome == StartOutcome::ok) living_.insert(pid);
  }
  void say(EventKind kind, const std::string& child, std::uint32_t pid, ExitReason reason = ExitReason::killed()) {
    living_.erase(pid);
    SupervisionEvent event;
    event.kind = kind;
    event.supervisor = "s";
    event.supervisor_pid = k_supervisor;
    event.child = child;
    event.pid = Pid(0, pid, 1);
    event.reason = std::move(reason);
    event.at = now_;
    account_.reported(event);
  }
  void rest() { account_.at_rest(k_supervisor, "s", {}); }

  static constexpr Pid k_supervisor{0, 9, 1};
  std::set<std::uint32_t> living_;
  Instant now_{};
  TreeAccount account_{[this](Pid pid) { return living_.contains(pid.slot()); }};
};

TEST_F(Told, accepts_a_restart_as_it_should_be) {
  declare(Strategy::one_for_all, Restart::permanent);
  say(EventKind::child_terminated, "a", 1);
  say(EventKind::child_stopped, "b", 2);
  start("a", 3);
  start("b", 4);
  EXPECT_THAT(account_.violations(), IsEmpty());
}

TEST_F(Told, sees_a_restart_too_many) {
  declare(Strategy::one_for_one, Restart::permanent);
  say(EventKind::child_terminated, "a", 1);
  start("a", 3);
  now_ += std::chrono::seconds(5);  // exactly a period later: it still counts
  say(EventKind::child_terminated, "a", 3);
  start("a", 4);
  EXPECT_THAT(account_.violations(), testing::Contains(HasSubstr("starts a although it must end")));
}

TEST_F(Told, sees_a_supervisor_give_up_too_early) {
  declare(Strategy::one_for_one, Restart::permanent);
  say(EventKind::child_terminated, "a", 1);
  say(EventKind::intensity_exceeded, "a", 1);
  EXPECT_THAT(account_.violations(), ElementsAre("s: gives up because of a with restarts left"));
}

TEST_F(Told, sees_a_failed_restart_that_was_not_counted) {
  declare(Strategy::one_for_one, Restart::permanent);
  say(EventKind::child_terminated, "a", 1);
  start("a", 0, StartOutcome::failed);
  start("a", 3);
  EXPECT_THAT(account_.violations(), ElementsAre("s: starts a again beyond its intensity"));
}

TEST_F(Told, sees_a_temporary_or_a_normally_ended_transient_child_restarted) {
  declare(Strategy::one_for_one, Restart::transient);
  say(EventKind::child_terminated, "a", 1, ExitReason::normal());
  start("a", 3);
  EXPECT_THAT(account_.violations(), ElementsAre("s: starts a for no reason"));
}

TEST_F(Told, sees_a_group_restarted_beside_a_living_sibling) {
  declare(Strategy::one_for_all, Restart::permanent);
  say(EventKind::child_terminated, "b", 2);
  living_.insert(1);
  start("a", 3);
  EXPECT_THAT(account_.violations(), ElementsAre("s: starts a while a of its group still lives"));
}

TEST_F(Told, sees_rest_for_one_leave_one_out) {
  declare(Strategy::rest_for_one, Restart::permanent);
  say(EventKind::child_terminated, "a", 1);
  say(EventKind::child_stopped, "b", 2);
  start("a", 3);
  rest();
  EXPECT_THAT(account_.violations(), testing::Contains("s: never started b"));
}

TEST_F(Told, sees_children_stopped_in_the_wrong_order) {
  declare(Strategy::one_for_all, Restart::permanent);
  say(EventKind::child_stopped, "a", 1, ExitReason::shutdown());
  EXPECT_THAT(account_.violations(), ElementsAre("s: stopped a before b, which was started later"));
}

}  // namespace
}  // namespace skein::sim
