#include "skein/node/secret_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace skein::inline v0::node {
namespace {

using testing::HasSubstr;

class SecretFileTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string path() const { return (folder_ / k_token_file).string(); }

  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("skein-secret-" + std::to_string(::getpid()));
};

TEST_F(SecretFileTest, is_made_once_and_kept_from_others) {
  const auto first = secret_in(path());
  ASSERT_TRUE(first) << first.error();
  EXPECT_EQ(first->size(), 64U);
  struct stat about{};
  ASSERT_EQ(::stat(path().c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777U, 0600U);
  EXPECT_EQ(secret_in(path()), first);
  std::filesystem::remove(path());
  EXPECT_NE(secret_in(path()), first);
}

TEST_F(SecretFileTest, is_refused_when_others_can_read_it_or_it_is_damaged) {
  ASSERT_TRUE(secret_in(path()));
  ::chmod(path().c_str(), 0640);
  EXPECT_THAT(secret_in(path()).error(), HasSubstr("can be read by others"));
  ::chmod(path().c_str(), 0600);
  std::ofstream(path()) << "short\n";
  EXPECT_THAT(secret_in(path()).error(), HasSubstr("holds no valid secret"));
}

TEST_F(SecretFileTest, says_when_there_is_no_place_for_it) {
  EXPECT_THAT(secret_in((folder_ / "none" / "token").string()).error(), HasSubstr("cannot be made"));
}

}  // namespace
}  // namespace skein::inline v0::node
