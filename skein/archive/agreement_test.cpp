#include "skein/archive/agreement.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skein::inline v0::archive {
namespace {

using testing::HasSubstr;

ArchiveSide whole_archive(std::uint64_t rows) {
  ArchiveSide side;
  side.marks.last = side.marks.rows = side.counted = rows;
  side.folder = "ours";
  return side;
}

constexpr const char* k_ours = "ours";

TEST(Agreement, journal_and_archive_of_one_folder_agree) {
  EXPECT_FALSE(compare({50, 50, 100, k_ours}, whole_archive(50)));
  EXPECT_FALSE(compare({40, 60, 100, k_ours}, whole_archive(50))) << "what is inserted and not yet dropped is in both";
  EXPECT_FALSE(compare({0, 0, 0, ""}, whole_archive(0))) << "a new folder";
  auto removed = whole_archive(30);
  removed.marks.last = 50;
  removed.marks.removed = 15;
  removed.marks.lost = 5;
  EXPECT_FALSE(compare({50, 50, 100, k_ours}, removed));
}

TEST(Agreement, a_missing_archive_is_told_with_what_it_had) {
  auto none = whole_archive(0);
  none.is_there = false;
  const auto discord = compare({50, 60, 100, k_ours}, none);
  ASSERT_TRUE(discord);
  EXPECT_EQ(discord->kind, Discord::Kind::archive_missing);
  EXPECT_THAT(discord->describe("data"), HasSubstr("data/archive.sqlite is missing: it had the results of 50"));
  EXPECT_THAT(discord->advice("data"), HasSubstr("skein archive rebuild --data data"));
  EXPECT_FALSE(compare({0, 10, 100, k_ours}, none)) << "it had nothing";
  none.was_kept = false;
  EXPECT_FALSE(compare({50, 60, 100, k_ours}, none)) << "the node kept none";
}

TEST(Agreement, an_archive_that_is_behind_names_the_numbers) {
  const auto discord = compare({50, 60, 100, k_ours}, whole_archive(41));
  ASSERT_TRUE(discord);
  EXPECT_EQ(discord->kind, Discord::Kind::archive_behind);
  EXPECT_EQ(discord->from, 42U);
  EXPECT_EQ(discord->to, 50U);
  EXPECT_EQ(discord->loss(7).count, 9U);
}

TEST(Agreement, an_archive_of_another_folder_is_recognised_whatever_its_numbers) {
  auto other = whole_archive(50);
  other.folder = "another";
  const auto discord = compare({50, 50, 100, k_ours}, other);
  ASSERT_TRUE(discord);
  EXPECT_EQ(discord->kind, Discord::Kind::archive_foreign);
  EXPECT_FALSE(compare({50, 50, 100, ""}, other)) << "a folder of an earlier version has no id yet";
}

TEST(Agreement, a_journal_that_went_back_is_noticed_by_numbers_and_by_position) {
  const auto by_number = compare({30, 40, 100, k_ours}, whole_archive(50));
  ASSERT_TRUE(by_number);
  EXPECT_EQ(by_number->kind, Discord::Kind::journal_behind);
  EXPECT_EQ(by_number->from, 41U);
  EXPECT_EQ(by_number->count, 10U);
  EXPECT_EQ(by_number->loss(7).count, 0U) << "the archive has them";
  auto saw_more = whole_archive(50);
  saw_more.position = 101;
  const auto by_position = compare({50, 50, 100, k_ours}, saw_more);
  ASSERT_TRUE(by_position);
  EXPECT_EQ(by_position->kind, Discord::Kind::journal_behind);
  EXPECT_THAT(by_position->describe("data"), HasSubstr("saw it at position 101, it ends at 100"));
}

TEST(Agreement, holes_are_counted) {
  auto holes = whole_archive(50);
  holes.counted = 47;
  const auto discord = compare({50, 50, 100, k_ours}, holes);
  ASSERT_TRUE(discord);
  EXPECT_EQ(discord->kind, Discord::Kind::archive_holes);
  EXPECT_EQ(discord->count, 3U);
}

}  // namespace
}  // namespace skein::inline v0::archive
