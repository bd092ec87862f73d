#include "skein/supervision/stop_tree.hpp"

#include <atomic>
#include <thread>

#include "skein/supervision/supervisor_testing.hpp"

namespace skein::inline v0::testing {
namespace {

using ::testing::HasSubstr;

class StopTree : public SupervisorTest {};

TEST_F(StopTree, ends_a_tree_gracefully) {
  const Pid sup = start(tree(Strategy::one_for_one, 1, 5s, {worker("a"), worker("b")}));
  const StopReport report = stop_tree(rt, sup, 10s);
  EXPECT_TRUE(report.clean);
  EXPECT_EQ(report.text(), "stopped");
  EXPECT_EQ(end_of(sup), "shutdown");
  EXPECT_TRUE(stop_tree(rt, sup, 10s).clean) << "it is gone, which is what was asked for";
}

TEST_F(StopTree, kills_and_names_who_takes_too_long) {
  auto slow = plan();
  slow->slow = 24h;
  const SupervisorSpec below = tree(Strategy::one_for_one, 1, 5s, {worker("slow", slow).with(Shutdown::infinity())});
  const Pid sup = start(tree(Strategy::one_for_one, 1, 5s, {supervisor_child("sub", below), worker("b")}));
  const Instant before = rt.now();
  const StopReport report = stop_tree(rt, sup, 8s);
  EXPECT_LE(rt.now() - before, 8s);
  EXPECT_FALSE(report.clean);
  EXPECT_TRUE(report.stuck.empty());
  EXPECT_THAT(report.text(), HasSubstr("sup/sub/slow"));
  EXPECT_EQ(rt.whereis("none"), Pid{});
  EXPECT_FALSE(alive(sup));
}

// The only way to be truly stuck: a handler that does not return. Real threads, and a flag that lets it go.
TEST(StopTreeForReal, returns_at_the_deadline_and_names_the_stuck) {
  struct Block {};
  struct Stuck {
    Stuck(std::atomic<bool>* begun, std::atomic<bool>* free) : begun_(begun), free_(free) {}
    void handle_info(Self /*self*/, Message message) {
      if (!message.is<Block>()) return;
      *begun_ = true;
      begun_->notify_all();
      free_->wait(false);
    }
    std::atomic<bool>* begun_;
    std::atomic<bool>* free_;
  };
  std::atomic<bool> begun = false;
  std::atomic<bool> free = false;
  RuntimeOptions options;
  options.workers = 2;
  options.report_stuck = [](const StuckReport&) {};
  Runtime rt(options);
  const StartResult started =
      start_supervisor(rt, tree(Strategy::one_for_one, 1, 5s, {child<Stuck>("stuck", &begun, &free)}));
  ASSERT_TRUE(started);
  const auto children = which_children(rt, started->pid);
  rt.send(children->front().pid, Block{});
  begun.wait(false);
  const StopReport report = stop_tree(rt, started->pid, 400ms);
  EXPECT_FALSE(report.clean);
  ASSERT_EQ(report.stuck.size(), 1U) << report.text();
  EXPECT_EQ(report.stuck.front().path, "sup/stuck");
  EXPECT_THAT(report.text(), HasSubstr("stuck"));
  free = true;
  free.notify_all();
}

}  // namespace
}  // namespace skein::inline v0::testing
