// A log that runs out of descriptors: nothing is lost, nothing counts as a failed disk, and it goes on when some are
// free.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "skein/journal/log_store.hpp"
#include "skein/journal/test_disk.hpp"

namespace skein::journal {
namespace {

class LogDescriptorsTest : public testing::Test {
 protected:
  LogDescriptorsTest() { open(); }

  void open() {
    StoreOptions options;
    options.segment_bytes = 8192;
    options.first_segment_bytes = 8192;
    options.batch_align = 512;
    store_.reset();
    auto store = LogStore::open(disk_, "d", options, Position{0});
    ASSERT_TRUE(store) << store.error().describe();
    store_ = std::move(*store);
  }
  StoreResult<void> append(const std::string& text) {
    const EntryView entry{store_->next_position(), 1, EntryKind::command, {0, store_->next_position()}, text};
    if (auto ok = store_->append({&entry, 1}); !ok) return ok;
    wanted_.push_back(text);
    return store_->sync();
  }
  // Until the next batch needs a new segment.
  void fill() {
    while (store_->segment_count() == 1 && wanted_.size() < 7) ASSERT_TRUE(append(std::string(400, 'a')));
  }
  // The n-th open from here on, and all after it, find no descriptor.
  void run_out_at(int n) {
    opens_ = 0;
    disk_.deny_open = [this, n](const std::string&) { return ++opens_ >= n; };
  }
  void check() {
    std::vector<std::string> found;
    ASSERT_TRUE(store_->read(1, [&](const EntryView& each) {
      found.emplace_back(each.bytes);
      return true;
    }));
    EXPECT_EQ(found, wanted_);
  }

  TestDisk disk_;
  std::unique_ptr<LogStore> store_;
  std::vector<std::string> wanted_;
  int opens_ = 0;
};

TEST_F(LogDescriptorsTest, wherever_a_roll_over_finds_none_it_is_refused_as_harmless_and_goes_on_later) {
  bool has_refused = false;
  for (int n = 1; n <= 6; ++n) {
    fill();
    run_out_at(n);
    const auto text = std::string(7000, static_cast<char>('0' + n));
    const auto ok = append(text);
    if (!ok) {
      has_refused = true;
      EXPECT_EQ(ok.error().kind, StoreError::Kind::no_descriptors) << n << ": " << ok.error().describe();
      // What fits into the old segment must not go there either: the new one has its name by now, perhaps.
      const auto small = append("small");
      EXPECT_TRUE(small || small.error().is_harmless()) << n;
    }
    EXPECT_FALSE(store_->failure()) << n;
    disk_.deny_open = {};
    EXPECT_TRUE(append("after " + std::to_string(n))) << n;
    check();
    open();
    check();
  }
  EXPECT_TRUE(has_refused);
}

TEST_F(LogDescriptorsTest, a_log_that_is_closed_in_between_opens_with_all_there_was) {
  for (int n = 1; n <= 6; ++n) {
    fill();
    run_out_at(n);
    (void)append(std::string(7000, 'x'));
    disk_.deny_open = {};
    ASSERT_TRUE(store_->mark_idle());
    open();
    check();
    ASSERT_TRUE(append("goes on"));
  }
}

// Once violated: the file of the first attempt was kept as a spare, and taken away by the second, which has its name.
TEST_F(LogDescriptorsTest, an_attempt_for_a_larger_batch_does_not_take_away_the_file_of_the_one_before) {
  fill();
  run_out_at(2);
  ASSERT_FALSE(append(std::string(3000, 'x')));
  run_out_at(1);
  ASSERT_FALSE(append(std::string(20'000, 'y')));
  disk_.deny_open = {};
  EXPECT_TRUE(append(std::string(3000, 'z')));
  EXPECT_FALSE(store_->failure());
  check();
}

}  // namespace
}  // namespace skein::journal
