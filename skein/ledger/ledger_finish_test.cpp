// Finish numbers, and what `archived` does to them.
#include <gmock/gmock.h>

#include "skein/ledger/test_ledger.hpp"

namespace skein::ledger {
namespace {

class LedgerFinish : public TestLedger, public testing::Test {
 protected:
  FinishNumber finish(std::uint64_t n) {
    EXPECT_EQ(verdict(submit(n)), Verdict::ok);
    EXPECT_EQ(verdict(Cancel{task_id(n), 5, ""}), Verdict::ok);
    return ledger.counters().last_finished;
  }
};

TEST_F(LedgerFinish, numbers_go_on_above_an_archive_that_has_more) {
  EXPECT_EQ(verdict(LedgerVersion{k_sound_version}), Verdict::ok);
  EXPECT_EQ(finish(1), 1U);
  EXPECT_EQ(run(Archived{50}).number, 1U);
  EXPECT_EQ(ledger.counters().archived_up_to, 50U);
  EXPECT_EQ(finish(2), 51U);
  EXPECT_EQ(run(Archived{50}).number, 0U) << "again, it does nothing";
  EXPECT_EQ(run(Archived{51}).number, 1U);
}

TEST_F(LedgerFinish, an_earlier_version_begins_where_it_was) {
  EXPECT_EQ(finish(1), 1U);
  EXPECT_EQ(run(Archived{50}).number, 1U);
  EXPECT_EQ(finish(2), 2U) << "its logs must lead to the same state for good";
}

TEST_F(LedgerFinish, a_number_beyond_all_reason_is_not_gone_above) {
  EXPECT_EQ(verdict(LedgerVersion{k_sound_version}), Verdict::ok);
  EXPECT_EQ(run(Archived{~0ULL}).number, 0U);
  EXPECT_EQ(finish(1), 1U);
}

}  // namespace
}  // namespace skein::ledger
