#include "skein/node/data_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "skein/node/data_lock.hpp"
#include "skein/node/secret_file.hpp"

namespace skein::inline v0::node {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class DataFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    ::chmod(folder_.c_str(), 0755);
  }
  void TearDown() override { std::filesystem::remove_all(top_); }

  [[nodiscard]] std::string at(const std::string& name) const { return folder_ / name; }
  static unsigned mode(const std::string& path) {
    struct stat about{};
    EXPECT_EQ(::stat(path.c_str(), &about), 0) << path;
    return about.st_mode & 0777U;
  }
  static void write(const std::string& path, unsigned its_mode) {
    std::ofstream(path) << "text";
    ::chmod(path.c_str(), its_mode);
  }

  std::filesystem::path top_ = std::filesystem::temp_directory_path() / ("skein-folder-" + std::to_string(::getpid()));
  std::filesystem::path folder_ = top_ / "data";
};

TEST_F(DataFolderTest, a_folder_that_others_can_read_is_mended_with_a_word) {
  const auto notes = keep_folder_private(folder_);
  ASSERT_TRUE(notes) << notes.error();
  EXPECT_THAT(*notes, ElementsAre(HasSubstr("had mode 0755: others can read it; it is 0700 now")));
  EXPECT_EQ(mode(folder_), 0700U);
  EXPECT_THAT(*keep_folder_private(folder_), IsEmpty());
}

TEST_F(DataFolderTest, a_new_folder_is_private_and_no_news) {
  const auto notes = keep_folder_private(at("below/new"));
  ASSERT_TRUE(notes) << notes.error();
  EXPECT_THAT(*notes, IsEmpty());
  EXPECT_EQ(mode(at("below/new")), 0700U);
}

TEST_F(DataFolderTest, files_of_an_older_version_are_tightened_and_links_are_not_followed) {
  write(at("archive.sqlite"), 0644);
  std::filesystem::create_directories(at("journal"));
  ::chmod(at("journal").c_str(), 0755);
  write(at("journal/0001.log"), 0664);
  write(at("run.sh"), 0755);
  write(at("token"), 0600);
  write((top_ / "elsewhere").string(), 0644);
  std::filesystem::create_symlink(top_ / "elsewhere", at("link"));
  const auto notes = keep_files_private(folder_);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_THAT(notes[0], HasSubstr("its mode was corrected"));
  EXPECT_EQ(mode(at("archive.sqlite")), 0600U);
  EXPECT_EQ(mode(at("journal")), 0700U);
  EXPECT_EQ(mode(at("journal/0001.log")), 0600U);
  EXPECT_EQ(mode(at("run.sh")), 0700U);
  EXPECT_EQ(mode((top_ / "elsewhere").string()), 0644U);
  EXPECT_THAT(keep_files_private(folder_), IsEmpty());
}

TEST_F(DataFolderTest, says_what_others_can_do_without_changing_it) {
  write(at("archive.sqlite"), 0644);
  EXPECT_THAT(looseness_of(folder_),
              ElementsAre(HasSubstr("mode 0755: others can read it"), HasSubstr("others may use archive.sqlite")));
  EXPECT_EQ(mode(at("archive.sqlite")), 0644U);
  ASSERT_TRUE(keep_folder_private(folder_));
  static_cast<void>(keep_files_private(folder_));
  EXPECT_THAT(looseness_of(folder_), IsEmpty());
}

TEST_F(DataFolderTest, the_lock_follows_no_link_and_empties_nothing_of_others) {
  write((top_ / "precious").string(), 0600);
  std::filesystem::create_symlink(top_ / "precious", at("node.lock"));
  const auto linked = DataLock::take(folder_);
  ASSERT_FALSE(linked);
  EXPECT_THAT(linked.error().message, HasSubstr("node.lock is a symbolic link"));
  std::filesystem::remove(at("node.lock"));
  std::filesystem::create_hard_link(top_ / "precious", at("node.lock"));
  const auto hard = DataLock::take(folder_);
  ASSERT_FALSE(hard);
  EXPECT_THAT(hard.error().message, HasSubstr("has 2 hard links"));
  EXPECT_EQ(std::filesystem::file_size(top_ / "precious"), 4U);
  std::filesystem::remove(at("node.lock"));
  ASSERT_EQ(::mkfifo(at("node.lock").c_str(), 0600), 0);
  const auto pipe = DataLock::take(folder_);
  ASSERT_FALSE(pipe);
  EXPECT_THAT(pipe.error().message, HasSubstr("is not a regular file"));
  std::filesystem::remove(at("node.lock"));
  const auto lock = DataLock::take(folder_);
  ASSERT_TRUE(lock) << lock.error().message;
  EXPECT_EQ(mode(folder_), 0700U);
}

TEST_F(DataFolderTest, a_secret_is_read_from_a_file_of_our_own_only) {
  ASSERT_TRUE(secret_in(at("token")));
  std::filesystem::create_hard_link(at("token"), at("other"));
  EXPECT_THAT(secret_in(at("token")).error(), HasSubstr("has 2 hard links"));
  std::filesystem::remove(at("token"));
  std::filesystem::create_symlink(at("other"), at("token"));
  EXPECT_FALSE(secret_in(at("token")));
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  std::filesystem::remove(at("token"));
  ASSERT_EQ(::chown(at("other").c_str(), 65534, 65534), 0);
  std::filesystem::rename(at("other"), at("token"));
  EXPECT_THAT(secret_in(at("token")).error(), HasSubstr("belongs to user 65534"));
}

TEST_F(DataFolderTest, a_folder_of_another_user_is_refused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  ASSERT_EQ(::chown(folder_.c_str(), 65534, 65534), 0);
  const auto lock = DataLock::take(folder_);
  ASSERT_FALSE(lock);
  EXPECT_THAT(lock.error().message, HasSubstr("belongs to user 65534, and this is user 0"));
}

}  // namespace
}  // namespace skein::inline v0::node
