// What open tasks cost in memory, and what freezing many of them costs.
#include <gtest/gtest.h>
#include <malloc.h>

#include "skein/ledger/test_ledger.hpp"

namespace skein::ledger {
namespace {

constexpr std::uint64_t k_tasks = 20'000;

std::size_t allocated() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

void fill(Ledger& ledger) {
  Limits limits;
  limits.swarm_tasks = k_tasks;
  CommandBuilder command;
  command.add(SetLimits{limits});
  for (std::uint64_t n = 1; n <= k_tasks; ++n) {
    auto op = submit(n);
    op.spec.params = body_of(std::string(100, 'p'));
    op.spec.extras.key = "a key of usual length " + std::to_string(n);
    command.add(op);
    if (n % 1000 == 0) (void)ledger.apply(n, command.take());
  }
}

TEST(LedgerMemory, an_open_task_with_a_key_takes_less_than_a_kibibyte_beside_its_params) {
  const auto before = allocated();
  Ledger ledger;
  fill(ledger);
  const auto after = allocated();
  if (after == before) GTEST_SKIP() << "this allocator does not count";
  ASSERT_EQ(ledger.counters().open_tasks, k_tasks);
  EXPECT_LT((after - before) / k_tasks, 100U + 1024U);
}

TEST(LedgerMemory, where_a_task_should_run_costs_the_others_a_pointer) {
  EXPECT_LE(sizeof(Extras), 136U + 16U + 24U) << "what it had before, a shared pointer, and who submitted it";
  EXPECT_LE(sizeof(Task), 232U) << "nothing is in the task itself";
}

TEST(LedgerMemory, freezing_copies_no_task) {
  Ledger ledger;
  fill(ledger);
  const auto before = allocated();
  const auto frozen = ledger.freeze();
  const auto after = allocated();
  // Two tables of a pointer per chunk: tasks and keys.
  EXPECT_LT(after - before, 2 * (k_tasks / 256 + 2) * 16 + 4096U);
  EXPECT_EQ(frozen->counters().open_tasks, k_tasks);
}

}  // namespace
}  // namespace skein::ledger
