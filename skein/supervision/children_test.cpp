#include "skein/supervision/children.hpp"

#include <gtest/gtest.h>

#include "skein/base/random.hpp"

namespace skein::inline v0 {
namespace {

std::shared_ptr<const ChildSpec> spec(std::string id, bool significant = false, ChildType type = ChildType::worker) {
  auto made = std::make_shared<ChildSpec>();
  made->id = std::move(id);
  made->significant = significant;
  made->type = type;
  return made;
}

std::string order(const Children& children) {
  std::string found;
  for (Children::Index index = children.first(); index != Children::k_none; index = children.after(index)) {
    found += children.at(index).spec->id;
  }
  return found;
}

Pid pid(std::uint32_t slot) { return Pid(0, slot, 1); }

TEST(Children, keep_their_start_order_through_removal_and_reuse) {
  Children children;
  const auto a = children.add(spec("a"));
  const auto b = children.add(spec("b"));
  children.add(spec("c"));
  const std::uint64_t key = children.at(b).key;
  children.remove(b);
  EXPECT_EQ(order(children), "ac");
  const auto d = children.add(spec("d"));
  EXPECT_EQ(d, b) << "its place is used again";
  EXPECT_FALSE(children.holds(b, key)) << "but not its key";
  EXPECT_EQ(order(children), "acd");
  children.move_to_end(a);
  EXPECT_EQ(order(children), "cda");
  EXPECT_FALSE(children.find("b"));
  EXPECT_EQ(children.find("d"), d);
}

TEST(Children, count_what_runs_and_what_is_significant) {
  Children children;
  const auto a = children.add(spec("a", true));
  const auto s = children.add(spec("s", false, ChildType::supervisor));
  EXPECT_EQ(children.active(), 0U);
  EXPECT_EQ(children.supervisors(), 1U);
  children.set_running(a, pid(1), Instant{});
  children.set_running(s, pid(2), Instant{});
  EXPECT_EQ(children.active(), 2U);
  EXPECT_EQ(children.significant_alive(), 1U);
  children.set_waiting(a, ChildState::restarting);
  EXPECT_EQ(children.active(), 1U);
  EXPECT_EQ(children.significant_alive(), 1U) << "it will be back";
  EXPECT_FALSE(children.find(pid(1)));
  children.set_down(a);
  EXPECT_EQ(children.significant_alive(), 0U);
  children.replace_spec(s, spec("s", true, ChildType::worker));
  EXPECT_EQ(children.supervisors(), 0U);
  EXPECT_EQ(children.significant_alive(), 1U);
  EXPECT_EQ(children.find("s"), s);
}

TEST(Children, of_a_pool_are_found_by_their_old_pid_while_they_wait) {
  Children children(true);
  const auto shared = spec("c");
  const auto first = children.add(shared);
  const auto second = children.add(shared);
  children.set_running(first, pid(1), Instant{});
  children.set_running(second, pid(2), Instant{});
  children.set_waiting(first, ChildState::restarting);
  EXPECT_EQ(children.find(pid(1)), first);
  children.set_running(first, pid(3), Instant{});
  EXPECT_FALSE(children.find(pid(1)));
  EXPECT_EQ(children.find(pid(3)), first);
  children.remove(first);
  EXPECT_FALSE(children.find(pid(3)));
  EXPECT_EQ(children.size(), 1U);
}

TEST(Children, keep_the_last_failures_in_order) {
  Children children;
  const auto a = children.add(spec("a"));
  for (int n = 0; n < 40; ++n) {
    children.note_failure(a, Failure{Instant(Duration(n)), ExitReason::custom("x"), false});
  }
  const Troubles& troubles = children.troubles(a);
  ASSERT_EQ(troubles.history.size(), k_failure_history);
  EXPECT_EQ(troubles.history[troubles.oldest].at, Instant(Duration(40 - static_cast<int>(k_failure_history))));
}

TEST(Children, agree_with_a_plain_list_under_random_changes) {
  Random random(9);
  Children children;
  std::vector<std::string> list;
  for (int n = 0; n < 5000; ++n) {
    if (list.empty() || random.chance(0.55)) {
      list.push_back("<" + std::to_string(n) + ">");
      children.add(spec(list.back()));
    } else {
      const auto victim = static_cast<std::ptrdiff_t>(random.below(list.size()));
      children.remove(*children.find(list[static_cast<std::size_t>(victim)]));
      list.erase(list.begin() + victim);
    }
    if (n % 500 == 0) children.release_memory();
  }
  std::string expected;
  for (const std::string& each : list) expected += each;
  EXPECT_EQ(order(children), expected);
  EXPECT_EQ(children.size(), list.size());
}

}  // namespace
}  // namespace skein::inline v0
