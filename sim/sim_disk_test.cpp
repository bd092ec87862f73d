#include "sim/sim_disk.hpp"

#include <gtest/gtest.h>

#include <set>

namespace skein::sim {
namespace {

using journal::Disk;
using journal::DiskError;

constexpr const char* k_path = "/d/file";

std::unique_ptr<journal::File> make(SimDisk& disk, const std::string& path = k_path) {
  EXPECT_TRUE(disk.make_dir("/d"));
  auto file = disk.open(path, Disk::Mode::create);
  EXPECT_TRUE(file);
  return std::move(*file);
}

TEST(SimDisk, keeps_what_was_synced_through_a_power_cut) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SimDisk disk(seed);
    const auto file = make(disk);
    ASSERT_TRUE(file->write_at(0, std::string(2000, 'a')));
    ASSERT_TRUE(file->sync());
    ASSERT_TRUE(disk.sync_dir("/d"));
    disk.lose_power();
    EXPECT_EQ(disk.bytes_of(k_path), std::string(2000, 'a'));
  }
}

TEST(SimDisk, tears_an_unsynced_write_between_sectors_only) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SimDisk disk(seed);
    const auto file = make(disk);
    ASSERT_TRUE(file->write_at(0, std::string(1536, 'a')));
    ASSERT_TRUE(file->sync());
    ASSERT_TRUE(disk.sync_dir("/d"));
    ASSERT_TRUE(file->write_at(0, std::string(1536, 'b')));
    disk.lose_power();
    const std::string& bytes = disk.bytes_of(k_path);
    ASSERT_EQ(bytes.size(), 1536U);
    std::string sectors;
    for (std::size_t at = 0; at < bytes.size(); at += 512) {
      EXPECT_EQ(bytes.substr(at, 512), std::string(512, bytes[at])) << "a mixed sector, seed " << seed;
      sectors.push_back(bytes[at]);
    }
    seen.insert(sectors);
  }
  EXPECT_EQ(seen.size(), 8U) << "every mixture of old and new sectors comes up";
}

TEST(SimDisk, may_lose_a_name_until_its_folder_is_synced) {
  int kept = 0;
  int lost = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SimDisk disk(seed);
    const auto file = make(disk);
    ASSERT_TRUE(file->sync());
    disk.lose_power();
    (disk.paths().empty() ? lost : kept)++;
  }
  EXPECT_GT(kept, 0);
  EXPECT_GT(lost, 0);
}

TEST(SimDisk, renames_as_one_step) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SimDisk disk(seed);
    const auto file = make(disk);
    ASSERT_TRUE(disk.sync_dir("/d"));
    ASSERT_TRUE(disk.rename(k_path, "/d/new"));
    disk.lose_power();
    ASSERT_EQ(disk.paths().size(), 1U) << "under its old name or its new one, never both or none";
  }
}

TEST(SimDisk, loses_for_good_what_a_failed_sync_left_behind) {
  bool lost = false;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SimDisk disk(seed);
    const auto file = make(disk);
    ASSERT_TRUE(file->write_at(0, std::string(512, 'a')));
    ASSERT_TRUE(file->sync());
    ASSERT_TRUE(disk.sync_dir("/d"));
    ASSERT_TRUE(file->write_at(0, std::string(512, 'b')));
    disk.fail_at(1, DiskError::Code::io);
    ASSERT_FALSE(file->sync());
    EXPECT_EQ(disk.bytes_of(k_path)[0], 'b') << "the page cache still shows it";
    ASSERT_TRUE(file->sync()) << "and a second sync succeeds on nothing";
    disk.lose_power();
    lost = lost || disk.bytes_of(k_path)[0] == 'a';
  }
  EXPECT_TRUE(lost);
}

TEST(SimDisk, cuts_the_power_at_the_point_asked_for) {
  SimDisk disk(1);
  const auto file = make(disk);
  disk.cut_power_at(2);
  ASSERT_TRUE(file->write_at(0, "one"));
  EXPECT_THROW((void)file->sync(), PowerCut);
}

TEST(SimDisk, has_no_room_beyond_its_capacity) {
  SimDisk disk(1);
  const auto file = make(disk);
  disk.set_capacity(1000);
  ASSERT_TRUE(file->write_at(0, std::string(800, 'a')));
  const auto more = file->write_at(800, std::string(800, 'a'));
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, DiskError::Code::no_space);
  EXPECT_TRUE(file->write_at(0, std::string(800, 'b'))) << "what is there can be overwritten";
}

}  // namespace
}  // namespace skein::sim
