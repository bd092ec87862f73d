#include "skein/supervision/tree_view.hpp"

#include "skein/supervision/supervisor_testing.hpp"
#include "skein/supervision/trees.hpp"

namespace skein::inline v0::testing {
namespace {

using ::testing::HasSubstr;

class TreeView : public SupervisorTest {
 protected:
  Pid start_sample() {
    using namespace trees;  // NOLINT(google-build-using-namespace)
    auto failing = plan();
    failing->fails_from = 2;
    return start(trees::supervisor("node", one_for_one, {5, 60s},
                                   {
                                       child<Worker>("config", plan()).labelled("service"),
                                       trees::supervisor("work", rest_for_one, {50, 60s},
                                                         {
                                                             child<Worker>("ledger", plan()),
                                                             child<Worker>("flaky", failing).with(Backoff::fixed(1h)),
                                                         }),
                                       trees::pool("swarms", {10, 60s}, pool_child<Worker, PlanPtr>("swarm")),
                                   }));
  }
};

TEST_F(TreeView, reads_like_the_tree_that_was_written) {
  const Pid root = start_sample();
  crash(pid_of(root, "config"));
  crash(pid_of(pid_of(root, "work"), "flaky"));
  add_to_pool(pid_of(root, "swarms"), pool_arguments(plan()));
  const auto tree = read_tree(rt, root);
  ASSERT_TRUE(tree);
  ASSERT_TRUE(tree->supervisor);
  EXPECT_EQ(tree->supervisor->used, 1U);
  EXPECT_EQ(tree->supervisor->intensity, 5U);
  ASSERT_EQ(tree->children.size(), 3U);
  const TreeEntry& config = tree->children[0];
  EXPECT_EQ(config.label, "service");
  EXPECT_EQ(config.restarts, 1U);
  ASSERT_EQ(config.failures.size(), 1U);
  EXPECT_THAT(config.failures.front().reason, HasSubstr("told to crash"));
  const TreeEntry& work = tree->children[1];
  ASSERT_EQ(work.children.size(), 2U);
  EXPECT_EQ(work.children[1].state, ChildState::restarting);
  EXPECT_EQ(tree->children[2].supervisor->strategy, Strategy::simple_one_for_one);
  EXPECT_EQ(tree->children[2].children.size(), 1U);

  const std::string text = tree_text(*tree);
  EXPECT_THAT(text, HasSubstr("node  one_for_one 5/60 used 1"));
  EXPECT_THAT(text, HasSubstr("\n├─ config  "));
  EXPECT_THAT(text, HasSubstr("\n│  └─ flaky  "));
  EXPECT_THAT(text, HasSubstr("permanent restarting"));
  EXPECT_THAT(tree_json(*tree), HasSubstr(R"("id":"flaky","type":"worker","state":"restarting")"));
  const std::string mermaid = tree_mermaid(*tree);
  EXPECT_THAT(mermaid, HasSubstr("flowchart LR\n"));
  EXPECT_THAT(mermaid, HasSubstr("n0 --> n1\n"));
  EXPECT_THAT(mermaid, HasSubstr(" restarting\n"));
}

TEST_F(TreeView, sends_nobody_a_message) {
  const Pid root = start_sample();
  const std::uint64_t before = rt.run_ready();
  EXPECT_EQ(before, 0U);
  EXPECT_TRUE(read_tree(rt, root));
  EXPECT_EQ(rt.run_ready(), 0U) << "nothing to do afterwards either";
}

TEST_F(TreeView, shows_mailboxes_and_what_the_limit_hides) {
  const Pid root = start_sample();
  const Pid pool_pid = pid_of(root, "swarms");
  for (int n = 0; n < 5; ++n) add_to_pool(pool_pid, pool_arguments(plan()));
  rt.send(pid_of(root, "config"), 1);
  rt.send(pid_of(root, "config"), 2);
  TreeLimits limits;
  limits.children = 3;
  const Pid config = pid_of(root, "config");
  rt.send(config, 3);
  const auto tree = read_tree(rt, root, limits);
  EXPECT_GE(tree->children[0].mailbox, 1U);
  EXPECT_EQ(tree->children[2].children.size(), 3U);
  EXPECT_EQ(tree->children[2].supervisor->children, 5U);
  EXPECT_THAT(tree_text(*tree), HasSubstr("and 2 more"));
}

TEST_F(TreeView, keeps_to_a_line_per_entry_whatever_people_wrote) {
  const Pid root = start(tree(Strategy::one_for_one, 5, 500ms, {worker("a\nb")}));
  die(pid_of(root, "a\nb"), ExitReason::custom("first line\nsecond line"));
  const auto read = read_tree(rt, root);
  const std::string text = tree_text(*read);
  EXPECT_THAT(text, HasSubstr("sup  one_for_one 5/500ms used 1"));
  EXPECT_THAT(text, HasSubstr("\n└─ a b  "));
  EXPECT_THAT(text, HasSubstr("last failure: first line second line"));
  EXPECT_EQ(std::ranges::count(text, '\n'), 2);
  EXPECT_THAT(tree_mermaid(*read), HasSubstr("([\"a b\"])\n"));
}

TEST_F(TreeView, there_is_none_of_a_worker_or_the_dead) {
  const Pid root = start_sample();
  EXPECT_FALSE(read_tree(rt, pid_of(root, "config")));
  kill(root);
  EXPECT_FALSE(read_tree(rt, root));
  EXPECT_FALSE(read_tree(rt, Pid{}));
}

}  // namespace
}  // namespace skein::inline v0::testing
