#include "skein/archive/sqlite_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

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
  ASSERT_TRUE(Database::open(path_, Database::Mode::write, 20)->execute("PRAGMA user_version = 3"));
  const auto error = error_of_open();
  EXPECT_EQ(error.kind, Kind::version);
  EXPECT_THAT(error.describe(), HasSubstr("later skein (version 3, this one knows 2): run that skein"));
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

// The log beside the file, cut at every place where a page begins or in the middle of one: what was sealed is there.
TEST_F(SqliteStores, a_log_that_is_cut_anywhere_takes_nothing_that_was_sealed) {
  const auto store = open();
  std::vector<Finished> first;
  for (std::uint64_t n = 1; n <= 60; ++n) first.push_back(sized(n, 500));
  ASSERT_TRUE(store->insert(first));
  ASSERT_EQ(store->seal().value(), 60U);
  std::vector<Finished> second;
  for (std::uint64_t n = 61; n <= 120; ++n) second.push_back(sized(n, 500));
  ASSERT_TRUE(store->insert(second));
  const std::string wal = path_ + "-wal";
  const auto size = std::filesystem::file_size(wal);
  ASSERT_GT(size, 50'000U);
  for (std::uint64_t at = 0; at <= size; at += 1733) {
    const std::string copy = folder_.file("copy.sqlite");
    std::filesystem::copy_file(path_, copy, std::filesystem::copy_options::overwrite_existing);
    std::filesystem::copy_file(wal, copy + "-wal", std::filesystem::copy_options::overwrite_existing);
    std::filesystem::remove(copy + "-shm");
    std::filesystem::resize_file(copy + "-wal", at);
    auto cut = SqliteStore::open(copy, 20);
    ASSERT_TRUE(cut) << "at " << at << ": " << cut.error().describe();
    for (std::uint64_t n = 1; n <= 60; ++n) {
      const auto found = (*cut)->find(TestWorld::id(n));
      ASSERT_TRUE(found && *found) << "cut at " << at << ", task " << n;
    }
    const auto marks = (*cut)->marks().value();
    EXPECT_TRUE(marks.adds_up()) << "at " << at;
    EXPECT_EQ((*cut)->count().value(), marks.rows);
  }
}

TEST_F(SqliteStores, a_flipped_bit_is_never_handed_out) {
  {
    const auto store = open();
    std::vector<Finished> many;
    for (std::uint64_t n = 1; n <= 40; ++n) many.push_back(sized(n, 700));
    ASSERT_TRUE(store->insert(many));
    ASSERT_TRUE(store->seal());
  }
  std::ifstream in(path_, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), {});
  std::uint64_t refused = 0;
  for (std::size_t at = 5000; at < whole.size(); at += 997) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
    const std::string copy = folder_.file("copy.sqlite");
    for (const char* side : {"-wal", "-shm"}) std::filesystem::remove(copy + side);
    std::ofstream(copy, std::ios::binary | std::ios::trunc) << flipped;
    auto store = SqliteStore::open(copy, 20);
    if (!store) {
      ++refused;
      continue;
    }
    for (std::uint64_t n = 1; n <= 40; ++n) {
      const auto found = (*store)->find(TestWorld::id(n));
      if (!found || !*found) {
        ++refused;
        continue;
      }
      const auto expected = sized(n, 700);
      ASSERT_EQ(ledger::view_of((*found)->task.params), ledger::view_of(expected->task.params)) << "bit at " << at;
      ASSERT_EQ((*found)->finish_number, n) << "bit at " << at;
      ASSERT_EQ((*found)->task.number, n) << "bit at " << at;
    }
  }
  EXPECT_GT(refused, 10U);
}

TEST_F(SqliteStores, a_task_whose_key_in_the_index_rots_is_found_in_the_rows_and_that_is_told) {
  constexpr ledger::WallMs k_begin = 1'700'000'000'000;
  std::vector<Finished> all;
  for (std::uint64_t n = 1; n <= 50; ++n) {
    auto each = std::make_shared<ledger::FinishedTask>(*sized(n));
    each->task.id.high = ((k_begin + n * 100'000) << 16U) | 0x7000U;
    each->finished_at = k_begin + n * 100'000 + 500;
    all.push_back(std::move(each));
  }
  {
    const auto store = open();
    ASSERT_TRUE(store->insert(all));
    ASSERT_TRUE(store->seal());
  }
  std::ifstream in(path_, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), {});
  const ledger::TaskId id = all[20]->task.id;
  std::uint64_t found_in_rows = 0;
  for (std::size_t at = whole.find(row_id(id)); at != std::string::npos; at = whole.find(row_id(id), at + 1)) {
    std::string rotten = whole;
    rotten[at + 2] = static_cast<char>(rotten[at + 2] ^ 1);
    const std::string copy = folder_.file("copy.sqlite");
    for (const char* side : {"-wal", "-shm"}) std::filesystem::remove(copy + side);
    std::ofstream(copy, std::ios::binary | std::ios::trunc) << rotten;
    const auto store = SqliteStore::open(copy, 20);
    ASSERT_TRUE(store);
    std::vector<std::string> told;
    (*store)->on_damage([&](const ArchiveError& error) { told.push_back(error.describe()); });
    const auto found = (*store)->find(id);
    if (!found) continue;  // the row itself is damaged
    ASSERT_NE(*found, nullptr) << "byte " << at;
    EXPECT_EQ((*found)->finish_number, 21U);
    if (!told.empty()) ++found_in_rows;  // else it was a byte that nobody needs
  }
  EXPECT_GE(found_in_rows, 1U);
  auto unknown = id;
  unknown.low = 77;
  EXPECT_EQ(open()->find(unknown).value(), nullptr);
}

TEST_F(SqliteStores, finds_a_damaged_record_when_it_verifies_and_names_it_when_asked_for_it) {
  const auto store = open();
  ASSERT_TRUE(store->insert(std::vector{sized(1), sized(2), sized(3)}));
  ASSERT_TRUE(store->seal());
  ASSERT_TRUE(Database::open(path_, Database::Mode::write, 20)
                  ->execute("UPDATE tasks SET result = 'other' WHERE finish_number = 2"));
  const auto checked = store->verify(0, 100).value();
  EXPECT_EQ(checked.rows, 3U);
  ASSERT_EQ(checked.damaged.size(), 1U);
  EXPECT_EQ(checked.damaged.front().first, 2U);
  const auto found = store->find(TestWorld::id(2));
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, Kind::damaged);
  EXPECT_THAT(found.error().describe(), HasSubstr("finish number 2: its checksum is wrong"));
  EXPECT_THAT(found.error().describe(), HasSubstr("skein archive rebuild"));
  EXPECT_TRUE(store->query({})) << "a list does not read what is long";
}

TEST_F(SqliteStores, brings_an_archive_of_the_first_version_to_this_one_step_by_step) {
  {
    const auto store = open();
    std::vector<Finished> many;
    for (std::uint64_t n = 3; n <= 12; ++n) many.push_back(sized(n));
    ASSERT_TRUE(store->insert(many));
  }
  ASSERT_TRUE(Database::open(path_, Database::Mode::write, 20)
                  ->execute("ALTER TABLE tasks DROP COLUMN checksum; DROP TABLE losses; DROP TABLE notes;"
                            "DELETE FROM marks WHERE name != 'last_finished'; PRAGMA user_version = 1"));
  auto store = open();
  EXPECT_TRUE(*store->find(TestWorld::id(7))) << "it can be asked for before it has its checksum";
  EXPECT_TRUE(store->link_retry(TestWorld::id(7), TestWorld::id(99)).value());
  EXPECT_EQ(store->marks()->removed, 2U) << "the first two had gone by retention";
  EXPECT_TRUE(store->marks()->adds_up());
  EXPECT_TRUE(store->upgrade(4).value());
  store = open();
  EXPECT_TRUE(store->upgrade(4).value()) << "it goes on where it was";
  EXPECT_FALSE(store->upgrade(4).value());
  EXPECT_TRUE(store->verify(0, 100)->damaged.empty());
  EXPECT_EQ((*store->find(TestWorld::id(7)))->retried_as, TestWorld::id(99));
  ASSERT_TRUE(Database::open(path_, Database::Mode::write, 20)
                  ->execute("UPDATE tasks SET checksum = NULL WHERE finish_number = 8"));
  EXPECT_FALSE(store->find(TestWorld::id(8))) << "from here on a record without one is damaged";
}

TEST_F(SqliteStores, names_the_folder_that_is_missing) {
  path_ = folder_.file("nowhere/archive.sqlite");
  EXPECT_THAT(error_of_open().describe(), HasSubstr("nowhere"));
}

}  // namespace
}  // namespace skein::inline v0::archive
