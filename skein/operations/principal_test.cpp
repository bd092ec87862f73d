// Who may do what: ranks and bounds. The table of rank and operation is in docs/security.md; tests/tokens asks a real
// node, over every way in.
#include "skein/operations/principal.hpp"

#include <gtest/gtest.h>

#include <boost/json/array.hpp>

#include "skein/operations/table.hpp"

namespace skein::operations {
namespace {

Principal of_rank(Rank rank) {
  Principal who;
  who.kind = Principal::Kind::token;
  who.name = "ci";
  who.rank = rank;
  return who;
}

std::vector<std::string_view> names() {
  std::vector<std::string_view> all;
  for (const Operation& each : operations()) all.push_back(each.name);
  return all;
}

constexpr std::array k_ranks{Rank::read, Rank::operate, Rank::administer};

TEST(PrincipalTest, every_operation_has_a_rank) {
  for (const std::string_view each : names()) EXPECT_TRUE(rank_of(each)) << each;
}

TEST(PrincipalTest, each_rank_may_do_what_is_of_its_rank_and_below) {
  for (const std::string_view each : names()) {
    for (const Rank rank : k_ranks) {
      const auto no = may(of_rank(rank), each, {});
      EXPECT_EQ(!no, *rank_of(each) <= rank) << each << " for " << ledger::name_of(rank);
      if (!no) continue;
      EXPECT_EQ(no->code, Code::forbidden);
      EXPECT_NE(no->message.find(ledger::name_of(*rank_of(each))), std::string::npos) << no->message;
      EXPECT_NE(no->advice.find("skein token create"), std::string::npos);
      EXPECT_FALSE(may_ever(of_rank(rank), each));
    }
  }
}

// What changes nothing is for all, what ends, shows or opens the node itself for administrators only.
TEST(PrincipalTest, ranks_are_what_they_say) {
  for (const char* each : {"task_status", "task_list", "swarm_list", "agent_list", "tree", "status", "events"}) {
    EXPECT_EQ(rank_of(each), Rank::read) << each;
  }
  for (const char* each : {"task_submit", "task_cancel", "swarm_create", "agent_stop", "agent_spawn"}) {
    EXPECT_EQ(rank_of(each), Rank::operate) << each;
  }
  for (const char* each : {"stop", "reload", "backup", "dump", "describe", "trace", "chaos_kill", "token_create",
                           "token_list", "token_revoke", "token_rotate", "log_level"}) {
    EXPECT_EQ(rank_of(each), Rank::administer) << each;
  }
}

TEST(PrincipalTest, nobody_may_do_anything_with_a_token_that_works_no_longer) {
  Principal who = of_rank(Rank::administer);
  auto standing = std::make_shared<Standing>();
  standing->wall = [] { return ledger::WallMs{5}; };
  who.standing = standing;
  EXPECT_FALSE(may(who, "status", {}));
  standing->until = 5;
  for (const std::string_view each : names()) EXPECT_TRUE(may(who, each, {})) << each;
}

TEST(PrincipalTest, a_token_of_a_task_does_four_things) {
  Principal who;
  who.kind = Principal::Kind::task;
  who.rank = Rank::operate;
  who.bounds.task = {1, 2};
  std::size_t allowed = 0;
  for (const std::string_view each : names()) {
    const bool is_of_connection = each == "hello" || each == "mcp" || each == "cancel";
    if (!may(who, each, {}) && !is_of_connection) ++allowed;
    EXPECT_EQ(may_ever(who, each),
              each == "task_submit" || each == "task_status" || each == "task_wait" || each == "task_cancel")
        << each;
  }
  EXPECT_EQ(allowed, 4U);
  EXPECT_TRUE(may(who, "task_status", {{"key", "somebody's"}})) << "keys belong to the swarm";
  EXPECT_FALSE(may(who, "task_status", {{"id", "0190"}, {"key", "k"}}));
}

TEST(PrincipalTest, a_token_of_a_swarm_works_on_that_swarm) {
  Principal who = of_rank(Rank::operate);
  who.bounds.swarm = "coders";
  EXPECT_FALSE(may(who, "task_submit", {{"type", "t"}}));
  EXPECT_FALSE(may(who, "task_submit", {{"swarm", "coders"}}));
  EXPECT_TRUE(may(who, "task_submit", {{"swarm", "default"}}));
  EXPECT_FALSE(may(who, "swarm_pause", {{"name", "coders"}}));
  EXPECT_TRUE(may(who, "swarm_pause", {{"name", "default"}}));
  EXPECT_TRUE(may(who, "swarm_pause", {}));
  for (const char* each : {"swarm_list", "swarm_create", "swarm_remove", "agent_list", "agent_stop", "events", "tree",
                           "info", "status", "event_list"}) {
    EXPECT_TRUE(may(who, each, {{"name", "coders"}})) << each;
  }
  who.rank = Rank::read;
  EXPECT_TRUE(may(who, "task_submit", {{"swarm", "coders"}})) << "the rank counts too";
  EXPECT_EQ(narrowed(who, "task_list", {}), (json::object{{"swarm", "coders"}}));
  EXPECT_EQ(narrowed(who, "task_wait", {{"id", "x"}}), (json::object{{"id", "x"}}));
  EXPECT_EQ(narrowed(of_rank(Rank::read), "task_list", {}), json::object());
}

TEST(PrincipalTest, finds_the_tasks_a_request_is_about) {
  const std::string one = ledger::TaskId{1, 2}.text();
  const std::string two = ledger::TaskId{3, 4}.text();
  EXPECT_EQ(tasks_named("task_cancel", {{"id", one}}), (std::vector<ledger::TaskId>{{1, 2}}));
  EXPECT_EQ(tasks_named("task_submit", {{"dependencies", json::array{one, two, "no id", 7}}}),
            (std::vector<ledger::TaskId>{{1, 2}, {3, 4}}));
  EXPECT_TRUE(tasks_named("agent_stop", {{"id", one}}).empty());
  EXPECT_TRUE(tasks_named("task_status", {{"id", 7}}).empty());
}

TEST(PrincipalTest, all_who_look_at_their_tokens_look_at_the_same_moments) {
  using namespace std::chrono_literals;
  for (const Duration now :
       {Duration(0s), Duration(1ns), Duration(1234567us), Duration(499999999ns), Duration(500ms)}) {
    const Duration next = now + until_standing_look(Instant(now));
    EXPECT_EQ(next % k_standing_check, 0ms) << now.count();
    EXPECT_GT(next, now);
    EXPECT_LE(next - now, k_standing_check);
  }
}

TEST(PrincipalTest, a_child_goes_to_the_swarm_of_its_parent) {
  Principal who;
  who.kind = Principal::Kind::task;
  who.bounds.task = {1, 2};
  who.fence = 9;
  json::object arguments{{"type", "t"}};
  EXPECT_FALSE(wrong_swarm(who, "task_submit", "coders", arguments));
  EXPECT_EQ(arguments.at("swarm"), "coders");
  json::object elsewhere{{"swarm", "default"}};
  EXPECT_TRUE(wrong_swarm(who, "task_submit", "coders", elsewhere));
  EXPECT_EQ(child_of(who)->fence, 9U);
  EXPECT_EQ(child_of(who)->children_max, ledger::k_children_max);
  EXPECT_FALSE(child_of(of_rank(Rank::administer)));
}

}  // namespace
}  // namespace skein::operations
