// Tokens as entries, and tasks that submit others: who may, how many and how deep.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "skein/ledger/test_ledger.hpp"

namespace skein::ledger {
namespace {

Digest secret(std::uint8_t n) {
  Digest digest;
  digest.fill(n);
  return digest;
}

Token token(std::string name, std::uint8_t n) {
  Token made;
  made.name = std::move(name);
  made.secret = secret(n);
  made.rank = Rank::operate;
  return made;
}

Submit child(std::uint64_t n, std::uint64_t of, Fence fence, std::uint32_t depth_max = k_child_depth_max,
             std::uint32_t children_max = k_children_max) {
  auto op = submit(n);
  op.child_of = std::make_shared<const ChildOf>(ChildOf{task_id(of), fence, depth_max, children_max});
  return op;
}

struct LedgerTokens : testing::Test, TestLedger {
  LedgerTokens() { run(LedgerVersion{k_tokens_version}); }
};

TEST_F(LedgerTokens, are_refused_before_their_version) {
  TestLedger old;
  old.run(LedgerVersion{k_tokens_version - 1});
  EXPECT_EQ(old.run(TokenPut{token("ci", 1), {}}).verdict, Verdict::old_version);
  EXPECT_EQ(old.verdict(TokenRevoke{"ci"}), Verdict::old_version);
  const Fence fence = old.submitted_and_assigned(1);
  EXPECT_EQ(old.verdict(child(2, 1, fence)), Verdict::old_version);
}

TEST_F(LedgerTokens, a_name_is_given_once_until_it_is_revoked) {
  EXPECT_EQ(verdict(TokenPut{token("ci", 1), {}}), Verdict::ok);
  EXPECT_EQ(told<TokenChanged>().size(), 1U);
  EXPECT_EQ(verdict(TokenPut{token("ci", 2), {}}), Verdict::name_taken);
  EXPECT_EQ(ledger.tokens()[0].secret, secret(1));
  EXPECT_EQ(verdict(TokenRevoke{"ci"}), Verdict::ok);
  EXPECT_EQ(told<TokenRevoked>()[0].name, "ci");
  EXPECT_EQ(verdict(TokenRevoke{"ci"}), Verdict::no_such_token);
  EXPECT_EQ(verdict(TokenPut{token("ci", 2), {}}), Verdict::ok);
}

TEST_F(LedgerTokens, of_two_who_rotate_at_once_one_is_told) {
  EXPECT_EQ(verdict(TokenPut{token("ci", 1), secret(9)}), Verdict::no_such_token);
  EXPECT_EQ(verdict(TokenPut{token("ci", 1), {}}), Verdict::ok);
  EXPECT_EQ(verdict(TokenPut{token("ci", 2), secret(1)}), Verdict::ok);
  EXPECT_EQ(verdict(TokenPut{token("ci", 3), secret(1)}), Verdict::name_taken);
  EXPECT_EQ(ledger.tokens()[0].secret, secret(2));
}

TEST_F(LedgerTokens, names_and_their_number_have_limits) {
  EXPECT_EQ(verdict(TokenPut{token("", 1), {}}), Verdict::malformed);
  EXPECT_EQ(verdict(TokenPut{token(std::string(129, 'n'), 1), {}}), Verdict::too_large);
  Token elsewhere = token("elsewhere", 1);
  elsewhere.bounds.swarm = std::string(129, 's');
  EXPECT_EQ(verdict(TokenPut{elsewhere, {}}), Verdict::too_large);
  for (std::size_t n = 0; n < k_tokens_max; ++n) {
    ASSERT_FALSE(is_refusal(verdict(TokenPut{token(std::to_string(n), 1), {}})));
  }
  EXPECT_EQ(run(TokenPut{token("one more", 1), {}}), (OpResult{Verdict::ledger_full, std::nullopt, k_tokens_max, {}}));
  EXPECT_EQ(verdict(TokenPut{token("7", 2), secret(1)}), Verdict::ok) << "one that is there can be rotated";
}

TEST_F(LedgerTokens, a_child_knows_its_parent_and_how_deep_it_is) {
  const Fence fence = submitted_and_assigned(1);
  EXPECT_EQ(verdict(child(2, 1, fence)), Verdict::ok);
  EXPECT_EQ(task(2).more().parent, task_id(1));
  EXPECT_EQ(task(2).more().depth, 1U);
  EXPECT_EQ(task(1).children, 1U);
  EXPECT_EQ(verdict(child(3, 2, assign(2))), Verdict::ok);
  EXPECT_EQ(verdict(child(4, 3, assign(3))), Verdict::ok);
  EXPECT_EQ(task(4).more().depth, 3U);
  EXPECT_EQ(run(child(5, 4, assign(4))), (OpResult{Verdict::too_deep, std::nullopt, k_child_depth_max, {}}));
  EXPECT_EQ(task(4).children, 0U);
}

TEST_F(LedgerTokens, a_task_has_so_many_children_in_all_its_attempts) {
  const Fence first = submitted_and_assigned(1);
  for (std::uint64_t n = 2; n <= 11; ++n) ASSERT_EQ(verdict(child(n, 1, first)), Verdict::ok);
  ASSERT_EQ(verdict(Fail{task_id(1), first, 3, ErrorClass::transient, 0, "again"}), Verdict::ok);
  const Fence second = assign(1);
  for (std::uint64_t n = 12; n <= 21; ++n) ASSERT_EQ(verdict(child(n, 1, second)), Verdict::ok);
  EXPECT_EQ(run(child(22, 1, second)), (OpResult{Verdict::too_many_children, std::nullopt, k_children_max, {}}));
  EXPECT_EQ(verdict(child(21, 1, second)), Verdict::duplicate_id) << "the same submit again is none more";
  EXPECT_EQ(task(1).children, k_children_max);
}

TEST_F(LedgerTokens, ended_and_archived_children_count) {
  const Fence fence = submitted_and_assigned(1);
  for (std::uint64_t n = 2; n <= 3; ++n) {
    ASSERT_EQ(verdict(child(n, 1, fence, 3, 2)), Verdict::ok);
    ASSERT_EQ(verdict(Cancel{task_id(n), 5, ""}), Verdict::ok);
  }
  ASSERT_EQ(verdict(Archived{2}), Verdict::ok);
  EXPECT_EQ(run(child(4, 1, fence, 3, 2)), (OpResult{Verdict::too_many_children, std::nullopt, 2, {}}));
}

TEST_F(LedgerTokens, a_bound_narrows_the_limits_and_never_widens_them) {
  const Fence fence = submitted_and_assigned(1);
  EXPECT_EQ(run(child(2, 1, fence, 0)), (OpResult{Verdict::too_deep, std::nullopt, 0, {}}));
  for (std::uint64_t n = 2; n <= 21; ++n) ASSERT_EQ(verdict(child(n, 1, fence, 99, 99)), Verdict::ok);
  EXPECT_EQ(run(child(22, 1, fence, 99, 99)).number, k_children_max);
}

TEST_F(LedgerTokens, only_the_attempt_that_runs_submits) {
  const Fence fence = submitted_and_assigned(1);
  EXPECT_EQ(verdict(child(2, 1, fence + 1)), Verdict::stale_fence);
  EXPECT_EQ(verdict(child(2, 7, fence)), Verdict::no_such_task);
  ASSERT_EQ(verdict(Requeue{epoch, task_id(1), fence, 3, RequeueReason::returned, 0, false}), Verdict::ok);
  EXPECT_EQ(verdict(child(2, 1, fence)), Verdict::stale_fence) << "it is queued again";
  EXPECT_EQ(verdict(child(2, 1, 0)), Verdict::ok) << "a token for the task itself outlives its attempts";
  const Fence last = assign(1);
  ASSERT_EQ(verdict(Complete{task_id(1), last, 4, nullptr}), Verdict::ok);
  EXPECT_EQ(verdict(child(3, 1, last)), Verdict::already_finished);
  EXPECT_EQ(verdict(child(3, 1, 0)), Verdict::already_finished);
}

TEST_F(LedgerTokens, a_key_finds_the_child_of_the_attempt_before) {
  const Fence first = submitted_and_assigned(1);
  auto op = child(2, 1, first);
  op.spec.extras.key = "part-1";
  ASSERT_EQ(verdict(op), Verdict::ok);
  ASSERT_EQ(verdict(Fail{task_id(1), first, 3, ErrorClass::transient, 0, "again"}), Verdict::ok);
  op = child(3, 1, assign(1));
  op.spec.extras.key = "part-1";
  EXPECT_EQ(run(op), (OpResult{Verdict::existing, State::queued, 0, task_id(2)}));
  EXPECT_EQ(task(1).children, 1U);
}

TEST_F(LedgerTokens, a_retry_is_nobodys_child) {
  const Fence fence = submitted_and_assigned(1);
  ASSERT_EQ(verdict(child(2, 1, fence)), Verdict::ok);
  ASSERT_EQ(verdict(Cancel{task_id(2), 5, ""}), Verdict::ok);
  ASSERT_EQ(verdict(Retry{task_id(2), task_id(3), 6}), Verdict::ok);
  EXPECT_TRUE(task(3).more().parent.none());
  EXPECT_EQ(task(1).children, 1U);
}

}  // namespace
}  // namespace skein::ledger
