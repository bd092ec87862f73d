#include "skein/archive/archive_copy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "skein/archive/sqlite_store.hpp"
#include "skein/archive/test_world.hpp"

namespace skein::inline v0::archive {
namespace {

using testing::HasSubstr;

Finished worded(std::uint64_t n) { return finished_record(n, "\"word" + std::to_string(n) + "\""); }

class ArchiveCopy : public testing::Test {
 protected:
  static std::unique_ptr<SqliteStore> open(const std::string& path) {
    auto opened = SqliteStore::open(path);
    if (!opened) ADD_FAILURE() << opened.error().describe();
    return opened ? std::move(*opened) : nullptr;
  }

  TestFolder folder_;
  std::string from_ = folder_.file(k_archive_file);
  std::string to_ = folder_.file("copy.sqlite");
};

TEST_F(ArchiveCopy, has_all_that_was_there_while_the_writer_goes_on) {
  const auto store = open(from_);
  ASSERT_TRUE(store->insert(std::vector{worded(1), worded(2)}));
  std::atomic<bool> enough = false;
  std::thread writes([&] {
    for (std::uint64_t n = 3; !enough; ++n) EXPECT_TRUE(store->insert(std::vector{worded(n)}));
  });
  const auto copied = copy_archive(from_, to_);
  enough = true;
  writes.join();
  ASSERT_TRUE(copied) << copied.error().describe();
  EXPECT_GE(*copied, 2U);
  const auto copy = open(to_);
  EXPECT_EQ(copy->count().value(), *copied);
  EXPECT_EQ(copy->last().value(), *copied) << "a state of one moment";
  EXPECT_EQ(copy->query({.text = "word2", .below = 3}).value().size(), 1U) << "words are found in it";
}

TEST_F(ArchiveCopy, is_never_made_over_a_file) {
  ASSERT_TRUE(open(from_)->insert(std::vector{worded(1)}));
  ASSERT_TRUE(copy_archive(from_, to_));
  EXPECT_FALSE(copy_archive(from_, to_));
  EXPECT_EQ(open(to_)->count().value(), 1U);
}

TEST_F(ArchiveCopy, of_what_is_no_archive_says_so) {
  std::ofstream(from_) << std::string(8192, 'n');
  const auto copied = copy_archive(from_, to_);
  ASSERT_FALSE(copied);
  EXPECT_THAT(copied.error().describe(), HasSubstr(k_archive_file));
}

TEST_F(ArchiveCopy, goes_back_to_an_earlier_moment) {
  const auto store = open(from_);
  ASSERT_TRUE(store->insert(std::vector{worded(1), worded(2), worded(3), worded(4)}));
  EXPECT_EQ(store->forget_after(2).value(), 2U);
  EXPECT_EQ(store->count().value(), 2U);
  EXPECT_EQ(store->last().value(), 2U);
  EXPECT_TRUE(store->query({.text = "word3"}).value().empty());
  EXPECT_EQ(store->query({.text = "word2"}).value().size(), 1U);
  EXPECT_EQ(store->forget_after(9).value(), 0U);
  EXPECT_EQ(store->last().value(), 2U);
}

}  // namespace
}  // namespace skein::inline v0::archive
