#include "skein/archive/sqlite_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "skein/archive/test_world.hpp"

namespace skein::inline v0::archive {
namespace {

using testing::HasSubstr;
using Kind = ArchiveError::Kind;

Finished sized(std::uint64_t n, std::size_t params_bytes = 2) {
  return finished_record(n, std::string(params_bytes, 'x'));
}

class SqliteStores : public testing::Test {
 protected:
  std::unique_ptr<SqliteStore> open() {
    auto opened = SqliteStore::open(path_, 20);
    if (!opened) ADD_FAILURE() << opened.error().describe();
    return opened ? std::move(*opened) : nullptr;
  }
  ArchiveError error_of_open() {
    auto opened = SqliteStore::open(path_, 20);
    if (opened) ADD_FAILURE() << "opened";
    return opened ? ArchiveError{} : opened.error();
  }

  TestFolder folder_;
  std::string path_ = folder_.file(k_archive_file);
};

TEST_F(SqliteStores, has_what_was_inserted_when_opened_again) {
  ASSERT_TRUE(open()->insert(std::vector{sized(1), sized(2)}));
  const auto store = open();
  EXPECT_EQ(store->count().value(), 2U);
  EXPECT_EQ(store->last().value(), 2U);
}

TEST_F(SqliteStores, refuses_a_file_of_a_later_skein_and_says_what_to_do) {
  open();
  ASSERT_TRUE(Database::open(path_, Database::Mode::write, 20)->execute("PRAGMA user_version = 2"));
  const auto error = error_of_open();
  EXPECT_EQ(error.kind, Kind::version);
  EXPECT_THAT(error.describe(), HasSubstr("later skein (version 2, this one knows 1): run that skein"));
}

TEST_F(SqliteStores, refuses_a_file_that_is_no_database_and_names_the_rebuild) {
  std::ofstream(path_) << std::string(8192, 'n');
  const auto error = error_of_open();
  EXPECT_EQ(error.kind, Kind::corrupt);
  EXPECT_THAT(error.describe(), HasSubstr("skein archive rebuild"));
}

TEST_F(SqliteStores, refuses_a_database_of_somebody_else) {
  ASSERT_TRUE(Database::open(path_, Database::Mode::create, 20)->execute("CREATE TABLE songs(name TEXT)"));
  EXPECT_EQ(error_of_open().kind, Kind::corrupt);
}

TEST_F(SqliteStores, reports_damage_that_is_found_only_later) {
  {
    const auto store = open();
    std::vector<Finished> many;
    for (std::uint64_t n = 1; n <= 200; ++n) many.push_back(sized(n, 1000));
    ASSERT_TRUE(store->insert(many));
  }
  const auto size = std::filesystem::file_size(path_);
  {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096 * 2);
    const std::string noise(size - 4096 * 2, '\x5a');
    file.write(noise.data(), static_cast<std::streamsize>(noise.size()));
  }
  auto opened = SqliteStore::open(path_, 20);
  const auto error = opened ? (*opened)->query({}).error() : opened.error();
  EXPECT_EQ(error.kind, Kind::corrupt) << error.describe();
}

TEST_F(SqliteStores, says_that_another_program_has_it_locked_and_goes_on_afterwards) {
  const auto store = open();
  {
    auto other = Database::open(path_, Database::Mode::write, 20);
    auto held = Transaction::begin(*other);
    ASSERT_TRUE(held);
    const auto refused = store->insert(std::vector{sized(1)});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, Kind::busy);
    EXPECT_EQ(store->count().value(), 0U) << "readers do not wait";
  }
  EXPECT_TRUE(store->insert(std::vector{sized(1)}));
}

TEST_F(SqliteStores, inserts_nothing_of_a_batch_that_does_not_fit_on_the_disk) {
  const auto store = open();
  ASSERT_TRUE(store->insert(std::vector{sized(1)}));
  ASSERT_TRUE(store->limit_pages(40));
  const auto refused = store->insert(std::vector{sized(2), sized(3, 1U << 20U)});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Kind::no_space);
  EXPECT_THAT(refused.error().describe(), HasSubstr("free some space"));
  EXPECT_EQ(store->count().value(), 1U);
  EXPECT_EQ(store->last().value(), 1U);
  ASSERT_TRUE(store->limit_pages(100'000));
  EXPECT_TRUE(store->insert(std::vector{sized(2), sized(3, 1U << 20U)}));
}

TEST_F(SqliteStores, gives_room_back_to_the_disk_after_retention) {
  const auto store = open();
  ASSERT_TRUE(store->insert(std::vector{sized(1, 1U << 20U), sized(2)}));
  ASSERT_EQ(store->retain({std::chrono::hours(0), 1}, 0, 10).value(), 1U);
  ASSERT_TRUE(Database::open(path_, Database::Mode::write, 20)->execute("PRAGMA wal_checkpoint(TRUNCATE)"));
  EXPECT_LT(std::filesystem::file_size(path_), 512U << 10U);
}

TEST_F(SqliteStores, names_the_folder_that_is_missing) {
  path_ = folder_.file("nowhere/archive.sqlite");
  EXPECT_THAT(error_of_open().describe(), HasSubstr("nowhere"));
}

}  // namespace
}  // namespace skein::inline v0::archive
