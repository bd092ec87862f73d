#include "skein/node/folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "skein/archive/test_world.hpp"
#include "skein/node/data_lock.hpp"

namespace skein::inline v0::node {
namespace {

namespace fs = std::filesystem;
using archive::TestWorld;
using testing::HasSubstr;

class Folders : public testing::Test {
 protected:
  Folders() { fs::create_directories(data_); }

  std::expected<OpenedArchive, std::string> open(TestWorld& world, bool accept_loss = false,
                                                 bool keeps_archive = true) {
    return open_archive({data_, keeps_archive, accept_loss, 5}, world.journal(), world.ledger());
  }
  // Finishes tasks and moves them to the archive, as an archiver does.
  void archive_some(TestWorld& world, archive::Store& store, std::uint64_t from, std::uint64_t to) {
    for (auto n = from; n <= to; ++n) world.finish_new(n);
    const auto finished = world.look([](ledger::Ledger& ledger) { return ledger.finished_after(0, 1000); });
    ASSERT_TRUE(store.insert(finished));
    ASSERT_TRUE(store.seal());
    EXPECT_FALSE(world.apply_one(ledger::Archived{finished.back()->finish_number}).refused());
  }
  void used_folder() {
    TestWorld world(journal_in(data_));
    auto opened = open(world);
    ASSERT_TRUE(opened) << opened.error();
    archive_some(world, *opened->store, 1, 5);
  }

  archive::TestFolder folder_;
  std::string data_ = folder_.file("data");
  std::string file_ = data_ + "/" + archive::k_archive_file;
};

TEST_F(Folders, a_new_folder_gets_one_id_in_all_its_parts) {
  TestWorld world(journal_in(data_));
  auto opened = open(world);
  ASSERT_TRUE(opened) << opened.error();
  EXPECT_TRUE(opened->warnings.empty());
  const auto record = read_folder_record(data_);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->id.size(), 32U);
  EXPECT_EQ(read_folder_record(journal_in(data_)), record);
  EXPECT_EQ(opened->store->note(archive::k_note_folder).value(), record->id);
  EXPECT_EQ(fs::status(data_ + "/folder").permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(Folders, a_record_that_is_damaged_is_written_again_when_all_else_agrees) {
  used_folder();
  const auto record = read_folder_record(data_);
  std::ofstream(data_ + "/folder") << "garbage";
  fs::remove(journal_in(data_) + "/folder");
  TestWorld world(journal_in(data_));
  const auto opened = open(world);
  ASSERT_TRUE(opened) << opened.error();
  EXPECT_EQ(opened->warnings.size(), 1U);
  EXPECT_EQ(read_folder_record(data_), record);
}

TEST_F(Folders, a_missing_archive_is_refused_and_not_made_anew) {
  used_folder();
  fs::remove(file_);
  TestWorld world(journal_in(data_));
  const auto refused = open(world);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error(), HasSubstr("finish numbers 1 to 5"));
  EXPECT_FALSE(fs::exists(file_));
  const auto accepted = open(world, true);
  ASSERT_TRUE(accepted) << accepted.error();
  EXPECT_EQ(accepted->store->marks()->lost, 5U);
  EXPECT_TRUE(accepted->store->marks()->adds_up());
}

TEST_F(Folders, what_is_accepted_is_not_refused_again) {
  used_folder();
  fs::remove(file_);
  {
    TestWorld world(journal_in(data_));
    ASSERT_TRUE(open(world, true));
  }
  TestWorld world(journal_in(data_));
  auto opened = open(world);
  ASSERT_TRUE(opened) << opened.error();
  archive_some(world, *opened->store, 6, 8);
  EXPECT_EQ(opened->store->last().value(), 8U);
  EXPECT_TRUE(opened->store->marks()->adds_up());
}

TEST_F(Folders, a_folder_without_its_journal_is_refused_before_anything_is_made) {
  used_folder();
  fs::remove_all(journal_in(data_));
  const auto missing = missing_part(data_);
  ASSERT_TRUE(missing);
  EXPECT_THAT(*missing, HasSubstr("results of 5 finished tasks"));
  EXPECT_FALSE(missing_part(folder_.file("new")));
}

TEST_F(Folders, a_new_journal_goes_on_above_the_numbers_of_its_archive) {
  used_folder();
  fs::remove_all(journal_in(data_));
  TestWorld world(journal_in(data_));
  EXPECT_FALSE(open(world));
  auto opened = open(world, true);
  ASSERT_TRUE(opened) << opened.error();
  archive_some(world, *opened->store, 101, 103);
  EXPECT_EQ(opened->store->last().value(), 8U);
  EXPECT_EQ(opened->store->count().value(), 8U);
  EXPECT_TRUE(*opened->store->find(TestWorld::id(1)));
}

TEST_F(Folders, a_journal_of_another_folder_is_recognised) {
  used_folder();
  const std::string other = folder_.file("other");
  fs::create_directories(other);
  {
    TestWorld world(journal_in(other));
    auto opened = open_archive({other, true, false, 5}, world.journal(), world.ledger());
    ASSERT_TRUE(opened);
    archive_some(world, *opened->store, 1, 5);
  }
  fs::remove_all(journal_in(data_));
  fs::rename(journal_in(other), journal_in(data_));
  TestWorld world(journal_in(data_));
  const auto refused = open(world);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error(), HasSubstr("belongs to another data folder"));
}

TEST_F(Folders, a_node_that_kept_no_archive_for_a_while_may_begin_to) {
  used_folder();
  {
    TestWorld world(journal_in(data_));
    ASSERT_TRUE(open(world, false, false));
    for (std::uint64_t n = 6; n <= 9; ++n) world.finish_new(n);
    EXPECT_FALSE(world.apply_one(ledger::Archived{9}).refused());
  }
  TestWorld world(journal_in(data_));
  auto opened = open(world);
  ASSERT_TRUE(opened) << opened.error();
  EXPECT_EQ(opened->store->count().value(), 5U);
  EXPECT_EQ(opened->store->last().value(), 9U);
  EXPECT_TRUE(opened->store->marks()->adds_up());
}

}  // namespace
}  // namespace skein::inline v0::node
