// A member that is alone: it founds its group, has nobody to ask, and may give up what its disk refuses.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "skein/consensus/consensus.hpp"

namespace skein::inline v0::consensus {
namespace {

Entry entry_of(EntryKind kind, std::string text) {
  const auto owner = std::make_shared<const std::string>(std::move(text));
  Entry entry;
  entry.kind = kind;
  entry.bytes = *owner;
  entry.owner = owner;
  return entry;
}

class ConsensusAlone : public ::testing::Test {
 protected:
  ConsensusAlone() {
    StartState state;
    state.self = 1;
    state.membership = Membership({1}, {});
    state.founding = {entry_of(EntryKind::config, "config"),
                      entry_of(EntryKind::membership, state.membership.encode())};
    core_ = std::make_unique<Consensus>(*Consensus::start(std::move(state), {}, Instant{}, 1));
    core_->campaign();
  }
  // Everything but what is held back is stored at once.
  void settle() {
    while (core_->has_ready()) {
      Ready ready = core_->ready();
      if (ready.store) {
        number_ = ready.store->number;
        if (!is_disk_full_ || ready.store->entries.empty()) core_->stored(number_);
      }
      for (const auto& read : ready.reads) reads_.push_back(read);
      for (const auto& entry : ready.apply) applied_.emplace_back(entry.bytes);
      if (!ready.apply.empty()) core_->applied(ready.apply.back().position);
    }
  }

  std::unique_ptr<Consensus> core_;
  bool is_disk_full_ = false;
  std::uint64_t number_ = 0;
  std::vector<std::string> applied_;
  std::vector<ReadReady> reads_;
};

TEST_F(ConsensusAlone, begins_its_log_with_what_it_is_founded_with) {
  settle();
  EXPECT_EQ(core_->role(), MemberRole::leader);
  ASSERT_EQ(applied_.size(), 2U);
  EXPECT_EQ(applied_[0], "config");
  EXPECT_EQ(core_->membership().voters(), std::vector<MemberId>{1});
  EXPECT_EQ(core_->decided(), 2U);
}

TEST_F(ConsensusAlone, a_read_is_answered_at_once) {
  settle();
  core_->read(7);
  settle();
  ASSERT_EQ(reads_.size(), 1U);
  EXPECT_TRUE(reads_[0].is_confirmed);
  EXPECT_EQ(reads_[0].position, 2U);
}

TEST_F(ConsensusAlone, gives_up_what_its_disk_refuses_and_goes_on) {
  settle();
  is_disk_full_ = true;
  ASSERT_TRUE(core_->propose({entry_of(EntryKind::command, "lost")}));
  ASSERT_TRUE(core_->propose({entry_of(EntryKind::command, "lost, too")}));
  settle();
  EXPECT_EQ(core_->give_up_unstored(), 3U);
  EXPECT_EQ(core_->log().last(), 2U);
  EXPECT_EQ(core_->give_up_unstored(), std::nullopt) << "nothing is left";
  is_disk_full_ = false;
  core_->stored(number_);
  ASSERT_TRUE(core_->propose({entry_of(EntryKind::command, "kept")}));
  settle();
  EXPECT_EQ(applied_.back(), "kept");
  EXPECT_EQ(core_->decided(), 3U);
}

TEST_F(ConsensusAlone, founds_again_when_the_founding_itself_was_refused) {
  is_disk_full_ = true;
  settle();
  EXPECT_EQ(core_->role(), MemberRole::leader);
  EXPECT_EQ(core_->give_up_unstored(), 1U);
  is_disk_full_ = false;
  core_->stored(number_);
  ASSERT_TRUE(core_->propose({entry_of(EntryKind::command, "a")}));
  settle();
  EXPECT_EQ(applied_.size(), 3U);
  EXPECT_EQ(applied_[0], "config");
  EXPECT_EQ(applied_[2], "a");
}

TEST_F(ConsensusAlone, with_others_nothing_is_given_up) {
  settle();
  const MemberChange adds{MemberChange::Kind::add_learner, 2};
  ASSERT_TRUE(core_->propose_change({&adds, 1}));
  settle();
  is_disk_full_ = true;
  ASSERT_TRUE(core_->propose({entry_of(EntryKind::command, "a")}));
  settle();
  EXPECT_EQ(core_->give_up_unstored(), std::nullopt) << "the other may have it";
}

}  // namespace
}  // namespace skein::inline v0::consensus
