#include "skein/dispatch/ready_queue.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "skein/base/random.hpp"

namespace skein::dispatch {
namespace {

std::shared_ptr<const ledger::Shape> shape(std::string swarm, std::string type, std::vector<std::string> more = {}) {
  return std::make_shared<const ledger::Shape>(ledger::Shape{std::move(swarm), std::move(type), std::move(more)});
}

constexpr auto k_all_open = [](std::uint32_t) { return true; };

class Tasks {
 public:
  ReadyQueue queue{[this](const ReadyEntry& entry, std::uint32_t) {
    const auto at = live.find(entry.slot);
    return at != live.end() && at->second.order == entry.order && at->second.priority == entry.priority;
  }};
  std::map<std::uint32_t, ReadyEntry> live;

  void push(std::uint32_t lane, std::uint32_t slot, std::uint16_t priority, std::int64_t order) {
    live[slot] = {order, slot, priority};
    queue.push(lane, live[slot]);
  }
  std::optional<std::uint32_t> take() {
    const auto next = queue.next();
    if (!next) return std::nullopt;
    live.erase(next->entry.slot);
    queue.taken();
    return next->entry.slot;
  }
};

TEST(ReadyQueue, tasks_with_the_same_capabilities_in_any_order_share_a_need_and_swarms_and_types_have_their_own_lanes) {
  Tasks tasks;
  const auto a = tasks.queue.hold(shape("one", "x", {"b", "a"}), 0).lane;
  const auto b = tasks.queue.hold(shape("one", "x", {"a", "b", "a"}), 0).lane;
  const auto c = tasks.queue.hold(shape("two", "x", {"a", "b"}), 1).lane;
  const auto d = tasks.queue.hold(shape("one", "y", {"a", "b"}), 0).lane;
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
  EXPECT_NE(a, d);
  EXPECT_EQ(tasks.queue.lane(a).need, tasks.queue.lane(d).need);
  EXPECT_EQ(tasks.queue.lane(a).need, tasks.queue.lane(c).need);
}

TEST(ReadyQueue, goes_by_priority_then_order_across_lanes_and_passes_over_unmet_needs) {
  Tasks tasks;
  const auto x = tasks.queue.hold(shape("s", "x"), 0).lane;
  const auto y = tasks.queue.hold(shape("s", "y"), 0).lane;
  tasks.push(x, 1, 50, 10);
  tasks.push(y, 2, 100, 20);
  tasks.push(x, 3, 50, 5);
  tasks.push(y, 4, 50, 7);
  tasks.queue.begin_round(k_all_open);
  EXPECT_EQ(tasks.take(), 2U);
  EXPECT_EQ(tasks.take(), 3U);
  EXPECT_EQ(tasks.queue.next()->entry.slot, 4U);
  tasks.queue.unmet(Instant{});
  EXPECT_EQ(tasks.take(), 1U);
  EXPECT_EQ(tasks.take(), std::nullopt);
  tasks.queue.begin_round(k_all_open);
  EXPECT_EQ(tasks.take(), std::nullopt);
  tasks.queue.ask_again();
  tasks.queue.begin_round(k_all_open);
  EXPECT_EQ(tasks.take(), 4U);
}

// At 400d72d thirty tasks of one swarm, then one of another: its came last.
TEST(ReadyQueue, swarms_that_share_an_executor_take_turns_whatever_the_age_of_their_tasks) {
  Tasks tasks;
  const auto a = tasks.queue.hold(shape("a", "x"), 0, "swarm=a", 1).lane;
  const auto b = tasks.queue.hold(shape("b", "x"), 1, "swarm=b", 1).lane;
  for (std::uint32_t n = 1; n <= 30; ++n) tasks.push(a, n, 100, n);
  tasks.queue.begin_round(k_all_open);
  for (int i = 0; i < 2; ++i) {
    const auto next = tasks.queue.next();
    ASSERT_TRUE(next);
    tasks.live.erase(next->entry.slot);
    tasks.queue.taken(1);
  }
  tasks.push(b, 100, 10, 100);
  tasks.queue.begin_round(k_all_open);
  EXPECT_EQ(tasks.queue.next()->entry.slot, 100U);
}

TEST(ReadyQueue, shares_go_by_weight_and_by_what_runs_took) {
  Tasks tasks;
  const auto a = tasks.queue.hold(shape("a", "x"), 0, "swarm=a", 1).lane;
  const auto b = tasks.queue.hold(shape("b", "x"), 1, "swarm=b", 1).lane;
  for (std::uint32_t n = 1; n <= 400; ++n) tasks.push(a, n, 50, n);
  for (std::uint32_t n = 401; n <= 800; ++n) tasks.push(b, n, 50, n);
  std::map<std::uint32_t, int> given;
  tasks.queue.begin_round(k_all_open);
  for (int i = 0; i < 200; ++i) {
    const auto next = tasks.queue.next();
    const std::uint32_t swarm = tasks.queue.lane(next->lane).swarm;
    tasks.live.erase(next->entry.slot);
    tasks.queue.taken(swarm == 0 ? 1.0 / 3 : 1.0);
    ++given[swarm];
  }
  EXPECT_NEAR(given[0], 150, 1) << "three to one";
  // A run of the first took a hundred times what was expected: the second is served meanwhile.
  tasks.queue.corrected(1, 0, 100.0 / 3);
  tasks.queue.begin_round(k_all_open);
  for (int i = 0; i < 33; ++i) {
    const auto next = tasks.queue.next();
    EXPECT_EQ(tasks.queue.lane(next->lane).swarm, 1U) << i;
    tasks.live.erase(next->entry.slot);
    tasks.queue.taken(1.0);
  }
}

TEST(ReadyQueue, a_critical_task_is_before_every_share) {
  Tasks tasks;
  const auto a = tasks.queue.hold(shape("a", "x"), 0, "swarm=a", 1).lane;
  const auto b = tasks.queue.hold(shape("b", "x"), 1, "swarm=b", 1).lane;
  tasks.push(a, 1, ledger::k_critical, 9);
  tasks.push(b, 2, ledger::k_high, 1);
  tasks.queue.corrected(1, 0, 1'000);
  tasks.queue.begin_round(k_all_open);
  tasks.queue.corrected(1, 0, 1'000);
  EXPECT_EQ(tasks.take(), 1U);
  EXPECT_EQ(tasks.take(), 2U);
}

TEST(ReadyQueue, lanes_of_a_closed_swarm_take_no_part) {
  Tasks tasks;
  const auto one = tasks.queue.hold(shape("one", "x"), 1).lane;
  const auto two = tasks.queue.hold(shape("two", "x"), 2).lane;
  tasks.push(one, 1, 50, 1);
  tasks.push(two, 2, 50, 2);
  tasks.queue.begin_round([](std::uint32_t swarm) { return swarm == 2; });
  EXPECT_EQ(tasks.take(), 2U);
  EXPECT_EQ(tasks.take(), std::nullopt);
}

TEST(ReadyQueue, forgets_lanes_nobody_holds_when_there_are_too_many) {
  Tasks tasks;
  for (std::size_t i = 0; i < 4 * ReadyQueue::k_idle_lanes_max; ++i) {
    const auto lane = tasks.queue.hold(shape("s", "type" + std::to_string(i)), 0).lane;
    ASSERT_LE(lane, ReadyQueue::k_idle_lanes_max + 2);
    tasks.queue.let_go(lane);
  }
}

TEST(ReadyQueue, gives_all_tasks_of_a_shape_one_copy_that_nobody_else_counts) {
  Tasks tasks;
  auto given = shape("s", "x");
  const auto* const first = tasks.queue.hold(given, 0).shape;
  const auto* const second = tasks.queue.hold(given, 0).shape;
  EXPECT_EQ(first, second);
  EXPECT_NE(first->get(), given.get());
  EXPECT_EQ(**first, *given);
  EXPECT_EQ(first->use_count(), 1);
}

TEST(ReadyQueue, agrees_with_a_sorted_set_whatever_is_pushed_dropped_and_raised) {
  Random random(3);
  Tasks tasks;
  const std::uint32_t lanes[] = {tasks.queue.hold(shape("s", "x"), 0).lane, tasks.queue.hold(shape("s", "y"), 0).lane};
  const auto before = [](const ReadyEntry& one, const ReadyEntry& other) { return one.before(other); };
  std::set<ReadyEntry, decltype(before)> model(before);
  std::map<std::uint32_t, std::uint32_t> lane_of;
  std::int64_t order = 0;
  for (int i = 0; i < 20'000; ++i) {
    const auto slot = static_cast<std::uint32_t>(random.below(300));
    const bool is_there = tasks.live.contains(slot);
    const auto priority = static_cast<std::uint16_t>(random.below(4) * 10);
    const auto what = random.below(4);
    if (what == 0 && !is_there) {
      lane_of[slot] = lanes[random.below(2)];
      tasks.push(lane_of[slot], slot, priority, ++order);
      model.insert(tasks.live[slot]);
    } else if (what == 1 && is_there) {
      model.erase(tasks.live[slot]);
      tasks.live.erase(slot);
      tasks.queue.dropped(lane_of[slot]);
    } else if (what == 2 && is_there && tasks.live[slot].priority != priority) {
      model.erase(tasks.live[slot]);
      tasks.push(lane_of[slot], slot, priority, tasks.live[slot].order);
      tasks.queue.dropped(lane_of[slot]);
      model.insert(tasks.live[slot]);
    } else if (what == 3 && random.chance(0.2) && !model.empty()) {
      tasks.queue.begin_round(k_all_open);
      ASSERT_EQ(tasks.take(), model.begin()->slot);
      model.erase(model.begin());
    }
    ASSERT_EQ(tasks.queue.ready(), model.size());
  }
}

}  // namespace
}  // namespace skein::dispatch
