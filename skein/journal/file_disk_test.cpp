#include "skein/journal/file_disk.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "skein/base/fd.hpp"
#include "skein/base/spare_descriptors.hpp"
#include "skein/runtime/testing.hpp"

namespace skein::journal {
namespace {

class FileDiskTest : public testing::Test {
 protected:
  FileDiskTest() : dir_(std::filesystem::temp_directory_path() / ("skein-file-disk-" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(dir_);
    std::filesystem::create_directories(dir_);
  }
  ~FileDiskTest() override { std::filesystem::remove_all(dir_); }
  [[nodiscard]] std::string path(const std::string& name) const { return (dir_ / name).string(); }

  std::filesystem::path dir_;
  FileDisk disk_;
};

TEST_F(FileDiskTest, reads_back_what_was_written_and_less_at_the_end) {
  auto file = disk_.open(path("a"), Disk::Mode::create);
  ASSERT_TRUE(file);
  ASSERT_TRUE((*file)->write_at(3, "hello"));
  ASSERT_TRUE((*file)->sync());
  EXPECT_EQ((*file)->size().value(), 8U);
  std::array<char, 10> buffer{};
  EXPECT_EQ((*file)->read_at(5, buffer).value(), 3U);
  EXPECT_EQ(std::string_view(buffer.data(), 3), "llo");
  ASSERT_TRUE((*file)->truncate(4));
  EXPECT_EQ((*file)->size().value(), 4U);
}

TEST_F(FileDiskTest, has_descriptors_left_when_nobody_else_has_and_says_so_when_it_has_none_either) {
  if (skein::tests::k_sanitized) GTEST_SKIP() << "a sanitizer needs descriptors of its own to check a pointer";
  ASSERT_EQ(spare_descriptors().refill(), k_spare_descriptors);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = 256;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<Fd> all;
  while (true) {
    Fd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!fd) break;
    all.push_back(std::move(fd));
  }
  {
    std::vector<std::unique_ptr<File>> files;
    for (std::size_t i = 0; i < k_spare_descriptors; ++i) {
      auto file = disk_.open(path("spare"), Disk::Mode::create);
      EXPECT_TRUE(file) << i;
      if (file) files.push_back(std::move(*file));
    }
    const auto none = disk_.open(path("none"), Disk::Mode::create);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, DiskError::Code::no_descriptors) << none.error().what;
    const auto unsynced = disk_.sync_dir(dir_.string());
    ASSERT_FALSE(unsynced);
    EXPECT_EQ(unsynced.error().code, DiskError::Code::no_descriptors) << unsynced.error().what;
  }
  EXPECT_TRUE(disk_.sync_dir(dir_.string()));
  all.clear();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(spare_descriptors().refill(), k_spare_descriptors);
}

TEST_F(FileDiskTest, says_what_is_missing) {
  const auto file = disk_.open(path("none"), Disk::Mode::read);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, DiskError::Code::not_found);
  EXPECT_NE(file.error().what.find("none"), std::string::npos);
  EXPECT_EQ(disk_.list(path("none")).error().code, DiskError::Code::not_found);
}

TEST_F(FileDiskTest, makes_folders_on_the_way_and_lists_names_sorted) {
  ASSERT_TRUE(disk_.make_dir(path("x/y/z")));
  ASSERT_TRUE(disk_.make_dir(path("x/y/z")));
  for (const auto* name : {"b", "a", "c"}) ASSERT_TRUE(disk_.open(path("x/y/z/") + name, Disk::Mode::create));
  ASSERT_TRUE(disk_.remove(path("x/y/z/c")));
  ASSERT_TRUE(disk_.rename(path("x/y/z/b"), path("x/y/z/d")));
  ASSERT_TRUE(disk_.sync_dir(path("x/y/z")));
  EXPECT_EQ(disk_.list(path("x/y/z")).value(), (std::vector<std::string>{"a", "d"}));
  EXPECT_GT(disk_.free_bytes(path("x")).value(), 0U);
}

// Notes which folders are synced.
class SyncsNoted : public FileDisk {
 public:
  DiskResult<void> sync_dir(const std::string& dir) override {
    synced.push_back(dir);
    return FileDisk::sync_dir(dir);
  }
  std::vector<std::string> synced;
};

// It may have been made by a program that died before it synced the folder above.
TEST_F(FileDiskTest, syncs_the_folder_above_also_when_the_folder_is_there_already) {
  SyncsNoted disk;
  ASSERT_TRUE(disk.make_dir(path("x/y")));
  EXPECT_EQ(disk.synced, (std::vector<std::string>{dir_.parent_path().string(), dir_.string(), path("x")}));
  disk.synced.clear();
  ASSERT_TRUE(disk.make_dir(path("x/y/")));
  EXPECT_EQ(disk.synced, (std::vector<std::string>{path("x")}));
  disk.synced.clear();
  ASSERT_TRUE(disk.make_dir(path("x/y/z")));
  EXPECT_EQ(disk.synced, (std::vector<std::string>{path("x"), path("x/y")}));
}

TEST_F(FileDiskTest, a_folder_is_locked_by_one_at_a_time) {
  auto first = disk_.lock(dir_.string());
  ASSERT_TRUE(first);
  EXPECT_EQ(disk_.lock(dir_.string()).error().code, DiskError::Code::busy);
  first->reset();
  EXPECT_TRUE(disk_.lock(dir_.string()));
}

TEST_F(FileDiskTest, a_full_disk_is_told_apart_from_a_broken_one) {
  auto full = disk_.open("/dev/full", Disk::Mode::write);
  if (!full) GTEST_SKIP() << "skipped: dev-full: there is no /dev/full";
  EXPECT_EQ((*full)->write_at(0, "x").error().code, DiskError::Code::no_space);
}

}  // namespace
}  // namespace skein::journal
