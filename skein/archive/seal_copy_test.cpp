#include "skein/archive/seal_copy.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "skein/archive/sqlite_store.hpp"
#include "skein/archive/test_world.hpp"

namespace skein::inline v0::archive {
namespace {

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// In place: the file stays the one it is.
void put(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

class SealCopies : public testing::Test {
 protected:
  static constexpr std::uint64_t k_sealed = 300;
  static constexpr std::uint64_t k_all = 700;
  static constexpr std::size_t k_page_bytes = 4096;

  std::unique_ptr<SqliteStore> open() {
    auto store = SqliteStore::open(path_, 20);
    if (!store) ADD_FAILURE() << store.error().describe();
    return store ? std::move(*store) : nullptr;
  }
  static std::vector<Finished> tasks(std::uint64_t from, std::uint64_t to) {
    std::vector<Finished> all;
    for (std::uint64_t n = from; n <= to; ++n) all.push_back(finished_record(n, std::string(200 + n % 700, 'x')));
    return all;
  }
  // A node was killed in the middle of its second seal: every other page of the file is that of after it.
  void die_in_a_seal() {
    std::string before;
    std::string copy;
    std::string log;
    {
      const auto store = open();
      ASSERT_TRUE(store->keep_log_copies());
      ASSERT_TRUE(store->insert(tasks(1, k_sealed)));
      ASSERT_TRUE(store->seal());
      ASSERT_TRUE(store->insert(tasks(k_sealed + 1, k_all)));
      before = bytes_of(path_);
      log = bytes_of(path_ + "-wal");
      auto kept = SealCopy::open(path_);
      ASSERT_TRUE(kept);
      ASSERT_TRUE(kept->keep());
      copy = bytes_of(path_ + k_seal_copy_suffix);
      ASSERT_TRUE(store->seal());
    }
    const std::string after = bytes_of(path_);
    std::string mixed = after;
    for (std::size_t at = 0; at < before.size(); at += 2 * k_page_bytes) {
      mixed.replace(at, k_page_bytes, before.substr(at, k_page_bytes));
    }
    for (std::size_t at = before.size(); at < mixed.size(); at += 2 * k_page_bytes) {
      mixed.replace(at, k_page_bytes, std::string(k_page_bytes, '\0'));
    }
    put(path_, mixed);
    put(path_ + k_seal_copy_suffix, copy);
    log_ = log;
    for (const char* side : {"-wal", "-shm"}) std::filesystem::remove(path_ + side);
  }
  bool is_whole() {
    const auto store = SqliteStore::open(path_, 20);
    if (!store) return false;
    for (std::uint64_t n = 1; n <= k_all; ++n) {
      const auto found = (*store)->find(TestWorld::id(n));
      if (!found || !*found || (*found)->finish_number != n) return false;
    }
    const auto checked = (*store)->verify(0, k_all + 1);
    return checked && checked->damaged.empty() && checked->rows == k_all;
  }

  TestFolder folder_;
  std::string path_ = folder_.file(k_archive_file);
  std::string log_;
};

TEST_F(SealCopies, without_the_copy_a_log_lost_in_a_seal_breaks_the_file) {
  die_in_a_seal();
  EXPECT_FALSE(is_whole());
}

TEST_F(SealCopies, a_log_that_is_lost_in_a_seal_comes_back) {
  die_in_a_seal();
  EXPECT_TRUE(SealCopy::restore(path_).value());
  EXPECT_TRUE(is_whole());
}

TEST_F(SealCopies, so_does_one_that_is_cut_or_garbled) {
  for (const bool is_cut : {true, false}) {
    for (const char* side : {"", "-wal", "-shm", k_seal_copy_suffix}) std::filesystem::remove(path_ + side);
    die_in_a_seal();
    std::string harmed = log_;
    if (is_cut) harmed.resize(harmed.size() / 3);
    if (!is_cut) harmed[harmed.size() / 2] = static_cast<char>(harmed[harmed.size() / 2] ^ 4);
    put(path_ + "-wal", harmed);
    EXPECT_TRUE(SealCopy::restore(path_).value());
    EXPECT_TRUE(is_whole());
  }
}

TEST_F(SealCopies, a_log_that_is_whole_or_has_gone_on_is_left_alone) {
  die_in_a_seal();
  put(path_ + "-wal", log_ + "more");
  EXPECT_FALSE(SealCopy::restore(path_).value());
  EXPECT_EQ(bytes_of(path_ + "-wal"), log_ + "more");
}

TEST_F(SealCopies, a_copy_that_is_damaged_or_of_another_file_is_passed_over) {
  die_in_a_seal();
  const std::string copy = bytes_of(path_ + k_seal_copy_suffix);
  for (const std::size_t at : {std::size_t{0}, std::size_t{9}, std::size_t{36}, copy.size() / 2}) {
    std::string flipped = copy;
    flipped[at] = static_cast<char>(flipped[at] ^ 1);
    put(path_ + k_seal_copy_suffix, flipped);
    EXPECT_FALSE(SealCopy::restore(path_).value()) << "byte " << at;
  }
  put(path_ + k_seal_copy_suffix, copy.substr(0, copy.size() - 1));
  EXPECT_FALSE(SealCopy::restore(path_).value()) << "cut";
  put(path_ + k_seal_copy_suffix, copy);
  std::filesystem::copy_file(path_, path_ + ".new");
  std::filesystem::rename(path_ + ".new", path_);
  EXPECT_FALSE(SealCopy::restore(path_).value()) << "the archive was replaced";
}

TEST_F(SealCopies, a_finished_seal_leaves_an_empty_copy) {
  const auto store = open();
  ASSERT_TRUE(store->keep_log_copies());
  ASSERT_TRUE(store->insert(tasks(1, 10)));
  ASSERT_TRUE(store->seal());
  EXPECT_EQ(bytes_of(path_ + k_seal_copy_suffix), "");
  EXPECT_FALSE(SealCopy::restore(path_).value());
}

}  // namespace
}  // namespace skein::inline v0::archive
