#include "skein/journal/log_part.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace skein::journal {
namespace {

// Says what it was asked for.
class ToldStorage final : public Storage {
 public:
  StoreResult<void> save(const MemberState& state) override {
    if (refuses) return std::unexpected(StoreError{StoreError::Kind::no_space, "", 0, "full"});
    told.push_back("save term " + std::to_string(state.hard.term) + " commit " + std::to_string(state.hard.commit));
    return {};
  }
  StoreResult<void> append(std::span<const EntryView> entries) override {
    if (refuses) return std::unexpected(StoreError{StoreError::Kind::no_space, "", 0, "full"});
    told.push_back("append " + std::to_string(entries.front().position) + " to " +
                   std::to_string(entries.back().position));
    last_ = entries.back().position;
    return {};
  }
  StoreResult<void> sync() override {
    told.emplace_back("sync");
    return {};
  }
  [[nodiscard]] Position last() const override { return last_; }
  StoreResult<std::vector<consensus::Entry>> read_batches(Position, std::uint64_t) override {
    return std::vector<consensus::Entry>();
  }
  StoreResult<void> install(const consensus::SnapshotOffer& offer, const MemberState& state) override {
    told.push_back("install " + std::to_string(offer.position) + " commit " + std::to_string(state.hard.commit));
    last_ = offer.position;
    return {};
  }
  Position trim(Position) override { return 0; }
  StoreResult<void> mark_idle() override { return {}; }
  [[nodiscard]] std::uint64_t bytes_after(Position) const override { return 0; }

  std::vector<std::string> told;
  bool refuses = false;

 private:
  Position last_ = 0;
};

class LogPartTest : public testing::Test {
 protected:
  consensus::ToStore store(Term term, Position first, Position last, std::size_t bytes = 10) {
    consensus::ToStore made;
    made.number = ++number_;
    made.hard = {.term = term, .voted_for = 1, .commit = 0};
    made.must_sync = true;
    for (Position at = first; at <= last; ++at) {
      consensus::Entry& entry = made.entries.emplace_back();
      entry.position = at;
      entry.term = term;
      entry.bytes = std::string_view(k_text).substr(0, bytes);
      entry.ends_batch = at % 2 == 0;
    }
    return made;
  }
  void run() {
    while (part_.write().value()) ASSERT_TRUE(part_.sync());
    ASSERT_TRUE(part_.sync());
  }

  static inline const std::string k_text = std::string(10'000, 'x');
  std::uint64_t number_ = 0;
  ToldStorage storage_;
  LogPart part_{storage_, {.hard = {.term = 1, .voted_for = 1, .commit = 0}, .self = 1}, 5'000};
};

TEST_F(LogPartTest, several_stores_are_one_write) {
  part_.take(store(1, 1, 2));
  part_.take(store(1, 3, 4));
  EXPECT_TRUE(part_.write().value());
  EXPECT_EQ(part_.stored(), 0U);
  ASSERT_TRUE(part_.sync());
  EXPECT_EQ(part_.stored(), 2U);
  EXPECT_EQ(storage_.told, (std::vector<std::string>{"append 1 to 4", "sync"}));
}

TEST_F(LogPartTest, a_term_is_safe_before_its_entries_are_written) {
  part_.take(store(1, 1, 2));
  part_.take(store(2, 3, 4));
  run();
  EXPECT_EQ(storage_.told, (std::vector<std::string>{"append 1 to 2", "sync", "save term 2 commit 0", "sync",
                                                     "append 3 to 4", "sync", "sync"}));
}

TEST_F(LogPartTest, what_is_replaced_is_a_write_of_its_own) {
  part_.take(store(1, 1, 6));
  part_.take(store(1, 3, 4));
  EXPECT_TRUE(part_.write().value());
  EXPECT_EQ(storage_.told.back(), "append 1 to 6");
  ASSERT_TRUE(part_.sync());
  EXPECT_EQ(part_.stored(), 1U);
  EXPECT_TRUE(part_.write().value());
  EXPECT_EQ(storage_.told.back(), "append 3 to 4");
}

TEST_F(LogPartTest, a_large_store_is_cut_where_a_batch_ends) {
  part_.take(store(1, 1, 8, 1'500));
  EXPECT_TRUE(part_.write().value());
  ASSERT_TRUE(part_.sync());
  EXPECT_EQ(storage_.told.front(), "append 1 to 2") << "three fit, but the third belongs to the fourth";
  EXPECT_EQ(part_.stored(), 0U) << "the store is not whole";
  run();
  EXPECT_EQ(part_.stored(), 1U);
  EXPECT_EQ(storage_.last(), 8U);
}

TEST_F(LogPartTest, a_batch_larger_than_a_write_may_be_is_written_whole) {
  part_.take(store(1, 1, 2, 9'000));
  EXPECT_TRUE(part_.write().value());
  EXPECT_EQ(storage_.told.front(), "append 1 to 2");
}

TEST_F(LogPartTest, the_decided_position_alone_needs_no_write) {
  consensus::ToStore decided;
  decided.number = ++number_;
  decided.hard = {.term = 1, .voted_for = 1, .commit = 7};
  part_.take(std::move(decided));
  EXPECT_FALSE(part_.write().value());
  ASSERT_TRUE(part_.sync());
  EXPECT_EQ(part_.stored(), 1U);
  EXPECT_EQ(storage_.told, std::vector<std::string>{"sync"});
}

TEST_F(LogPartTest, a_snapshot_comes_before_the_entries_after_it) {
  auto installs = store(1, 101, 102);
  installs.hard.commit = 100;
  installs.install = consensus::SnapshotOffer{.position = 100, .term = 1, .membership = {}, .total_bytes = 1};
  part_.take(std::move(installs));
  run();
  EXPECT_EQ(storage_.told,
            (std::vector<std::string>{"install 100 commit 100", "sync", "append 101 to 102", "sync", "sync"}));
  EXPECT_EQ(part_.state().hard.commit, 100U);
}

TEST_F(LogPartTest, what_the_disk_refused_is_kept_and_tried_again) {
  part_.take(store(1, 1, 2));
  storage_.refuses = true;
  EXPECT_FALSE(part_.write());
  EXPECT_TRUE(part_.waits_for_entries_only());
  storage_.refuses = false;
  run();
  EXPECT_EQ(part_.stored(), 1U);
}

TEST_F(LogPartTest, entries_that_were_given_up_are_acknowledged_and_a_vote_is_not) {
  part_.take(store(1, 1, 2));
  storage_.refuses = true;
  EXPECT_FALSE(part_.write());
  part_.drop_waiting();
  ASSERT_TRUE(part_.sync());
  EXPECT_EQ(part_.stored(), 1U);
  part_.take(store(2, 1, 2));
  EXPECT_FALSE(part_.write());
  EXPECT_FALSE(part_.waits_for_entries_only()) << "a vote must not be forgotten";
}

}  // namespace
}  // namespace skein::journal
