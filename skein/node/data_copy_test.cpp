#include "skein/node/data_copy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "skein/archive/archive_copy.hpp"
#include "skein/archive/sqlite_store.hpp"
#include "skein/archive/test_world.hpp"
#include "skein/node/data_lock.hpp"

namespace skein::inline v0::node {
namespace {

namespace fs = std::filesystem;
using archive::SqliteStore;
using archive::TestWorld;
using testing::HasSubstr;

// A data folder in which tasks were finished, archived and confirmed by the journal up to some number.
class DataCopyTest : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(data_); }

  void finish(TestWorld& world, std::uint64_t from, std::uint64_t to) {
    const auto store = SqliteStore::open(archive_of(data_));
    for (auto n = from; n <= to; ++n) {
      world.finish_new(n);
      ASSERT_TRUE((*store)->insert(std::vector{archive::finished_record(n, "1")}));
    }
    EXPECT_FALSE(world.apply_one(ledger::Archived{to}).refused());
  }
  static std::string archive_of(const std::string& data) { return data + "/" + archive::k_archive_file; }
  static std::uint64_t archived(const std::string& data) {
    return (*SqliteStore::open(archive_of(data)))->count().value();
  }

  archive::TestFolder folder_;
  std::string data_ = folder_.file("data");
  std::string copy_ = folder_.file("copy");
  std::string back_ = folder_.file("back");
};

TEST_F(DataCopyTest, has_journal_and_archive_and_becomes_a_data_folder_again) {
  {
    TestWorld world(journal_in(data_));
    finish(world, 1, 3);
    world.submit(4);
    const auto copied = back_up_data(data_, copy_ + "/");
    ASSERT_TRUE(copied) << copied.error();
    EXPECT_TRUE(copied->has_archive);
    EXPECT_EQ(copied->archived, 3U);
    EXPECT_THAT(copied->describe(), HasSubstr(copy_ + " holds everything up to position"));
  }
  const auto restored = restore_data(copy_, back_);
  ASSERT_TRUE(restored) << restored.error();
  EXPECT_EQ(restored->archived, 3U);
  EXPECT_EQ(archived(back_), 3U);
  TestWorld world(journal_in(back_));
  EXPECT_EQ(world.look([](ledger::Ledger& ledger) { return ledger.counters().archived_up_to; }), 3U);
  EXPECT_FALSE(fs::exists(copy_ + ".unfinished"));
}

TEST_F(DataCopyTest, an_archive_that_was_ahead_of_the_journal_is_brought_in_step) {
  TestWorld world(journal_in(data_));
  finish(world, 1, 2);
  // The journal is copied first; what finishes before the archive's turn is in the archive alone.
  fs::create_directories(copy_);
  ASSERT_TRUE(back_up_data(journal_in(data_), journal_in(copy_)));
  finish(world, 3, 5);
  ASSERT_TRUE(archive::copy_archive(archive_of(data_), archive_of(copy_)));
  const auto restored = restore_data(copy_, back_);
  ASSERT_TRUE(restored) << restored.error();
  EXPECT_EQ(restored->archived, 2U);
  EXPECT_EQ(archived(back_), 2U);
  EXPECT_EQ(archived(copy_), 5U) << "the backup itself is left as it is";
}

TEST_F(DataCopyTest, is_never_made_over_something_and_leaves_nothing_half_made) {
  TestWorld world(journal_in(data_));
  fs::create_directories(copy_ + "/mine");
  const auto refused = back_up_data(data_, copy_);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error(), HasSubstr("exists already: name a new folder"));
  std::ofstream(archive_of(data_)) << std::string(8192, 'n');
  EXPECT_FALSE(back_up_data(data_, back_)) << "its archive is none";
  EXPECT_FALSE(fs::exists(back_));
  EXPECT_FALSE(fs::exists(back_ + ".unfinished"));
}

TEST_F(DataCopyTest, of_a_folder_without_a_journal_says_so) {
  const auto refused = back_up_data(folder_.file("nowhere"), copy_);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error(), HasSubstr("nowhere"));
}

}  // namespace
}  // namespace skein::inline v0::node
