#include "skein/archive/rebuild.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "skein/archive/sqlite_store.hpp"
#include "skein/archive/test_world.hpp"

namespace skein::inline v0::archive {
namespace {

using testing::HasSubstr;

Finished finished_as(std::uint64_t n) { return finished_record(n, std::string(600, 'x')); }

std::vector<Finished> finished_from(std::uint64_t from, std::uint64_t to) {
  std::vector<Finished> all;
  for (auto n = from; n <= to; ++n) all.push_back(finished_as(n));
  return all;
}

class Rebuilds : public testing::Test {
 protected:
  void write_old(std::uint64_t up_to) {
    auto store = SqliteStore::open(path_);
    ASSERT_TRUE(store);
    ASSERT_TRUE((*store)->insert(finished_from(1, up_to)));
  }
  RebuildReport rebuild(const std::vector<Finished>& from_ledger, std::uint64_t archived_up_to) {
    auto report = rebuild_archive(path_, {from_ledger, archived_up_to, "", 0});
    if (!report) ADD_FAILURE() << report.error().describe();
    return report ? *report : RebuildReport{};
  }
  std::uint64_t count() { return (*SqliteStore::open(path_))->count().value(); }

  TestFolder folder_;
  std::string path_ = folder_.file(k_archive_file);
};

TEST_F(Rebuilds, makes_an_archive_of_what_the_ledger_has_when_the_file_is_gone) {
  const auto report = rebuild(finished_from(4, 6), 3);
  EXPECT_EQ(report.from_ledger, 3U);
  EXPECT_EQ(report.missing, 3U);
  EXPECT_EQ(count(), 3U);
  EXPECT_EQ((*SqliteStore::open(path_))->last().value(), 6U);
  EXPECT_THAT(report.describe(), HasSubstr("3 finished tasks were found nowhere"));
}

TEST_F(Rebuilds, keeps_everything_of_a_whole_file) {
  write_old(2500);
  const auto report = rebuild(finished_from(2499, 2502), 2498);
  EXPECT_EQ(report.from_old, 2500U);
  EXPECT_EQ(report.missing, 0U);
  EXPECT_EQ(report.old_error, "");
  EXPECT_EQ(count(), 2502U);
}

TEST_F(Rebuilds, reads_around_damaged_pages_and_keeps_the_old_file) {
  write_old(1000);
  {
    // Eight pages in the middle: rows of the table are among them.
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(path_) / 4096 / 2 * 4096));
    const std::string noise(4096 * 8, '\x5a');
    file.write(noise.data(), static_cast<std::streamsize>(noise.size()));
  }
  const auto report = rebuild({}, 1000);
  EXPECT_NE(report.old_error, "");
  EXPECT_GT(report.from_old, 900U) << "what is beside the pages is read";
  EXPECT_EQ(report.from_old + report.missing, 1000U);
  EXPECT_EQ(count(), report.from_old);
  EXPECT_TRUE(std::filesystem::exists(report.kept_as));
  EXPECT_FALSE(std::filesystem::exists(path_ + ".new"));
}

TEST_F(Rebuilds, takes_the_place_of_a_file_that_is_no_database) {
  std::ofstream(path_) << std::string(5000, '#');
  const auto report = rebuild(finished_from(1, 2), 0);
  EXPECT_EQ(count(), 2U);
  EXPECT_EQ(report.kept_as, path_ + ".damaged");
  std::ofstream(path_) << "again";
  EXPECT_EQ(rebuild(finished_from(1, 2), 0).kept_as, path_ + ".damaged-2");
}

TEST_F(Rebuilds, goes_on_when_the_last_one_was_killed_before_the_new_file_took_the_old_ones_place) {
  std::filesystem::create_directory(path_ + ".damaged-3-of-somebody-else");
  write_old(7);
  std::filesystem::rename(path_, path_ + ".damaged");
  const auto now = std::filesystem::last_write_time(path_ + ".damaged");
  std::filesystem::last_write_time(path_ + ".damaged", now - std::chrono::hours(1));
  write_old(100);
  std::filesystem::rename(path_, path_ + ".damaged-2");
  std::ofstream(path_ + ".new") << "whatever was written by then";
  const auto report = rebuild(finished_from(101, 102), 100);
  EXPECT_EQ(report.from_old, 100U);
  EXPECT_EQ(report.missing, 0U);
  EXPECT_EQ(report.kept_as, path_ + ".damaged-2");
  EXPECT_EQ(count(), 102U);
}

// What was not yet in the database when the file was put aside is in its log.
TEST_F(Rebuilds, goes_on_when_the_last_one_was_killed_before_it_put_the_log_of_the_old_file_aside) {
  auto writing = SqliteStore::open(path_);
  ASSERT_TRUE(writing);
  ASSERT_TRUE((*writing)->insert(finished_from(1, 50)));
  ASSERT_TRUE(std::filesystem::exists(path_ + "-wal"));
  std::filesystem::copy(path_, path_ + ".damaged");
  std::filesystem::copy(path_ + "-wal", path_ + ".kept");
  writing->reset();
  std::filesystem::remove(path_);
  std::filesystem::rename(path_ + ".kept", path_ + "-wal");
  EXPECT_EQ(rebuild({}, 50).from_old, 50U);
  EXPECT_EQ(count(), 50U);
}

TEST_F(Rebuilds, leaves_the_old_file_alone_when_the_new_one_cannot_be_written) {
  write_old(3);
  std::filesystem::create_directory(path_ + ".new");
  std::ofstream(path_ + ".new/in-the-way") << "x";
  EXPECT_FALSE(rebuild_archive(path_, {{}, 3, "", 0}));
  EXPECT_EQ(count(), 3U);
}

}  // namespace
}  // namespace skein::inline v0::archive
