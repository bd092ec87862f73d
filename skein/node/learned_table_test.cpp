#include "skein/node/learned_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "skein/dispatch/learned_text.hpp"

namespace skein::inline v0::node {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class LearnedTableTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("skein-learned-" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::filesystem::path file() const { return folder_ / k_learned_file; }
  LearnedTable::Warn warn() {
    return [this](const std::string& line) { warnings_.push_back(line); };
  }
  static std::string a_table(int outcomes) {
    QLearning table;
    for (int i = 0; i < outcomes; ++i) table.learn(4, -1, 5);
    return table.save();
  }

  std::filesystem::path folder_;
  std::vector<std::string> warnings_;
};

TEST_F(LearnedTableTest, what_was_kept_is_there_at_the_next_start) {
  {
    LearnedTable table(folder_, warn());
    EXPECT_EQ(table.text(), "");
    for (int i = 1; i <= 20; ++i) table.keep(a_table(i));
    EXPECT_EQ(table.text(), a_table(20)) << "for the next dispatcher, whether it is written or not";
  }
  struct stat about{};
  ASSERT_EQ(::stat(file().c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777U, 0600U);
  EXPECT_FALSE(std::filesystem::exists(file().string() + ".new"));
  LearnedTable next(folder_, warn());
  EXPECT_EQ(next.text(), a_table(20));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(LearnedTableTest, a_damaged_file_is_said_and_learning_begins_afresh) {
  {
    LearnedTable(folder_, warn()).keep(a_table(3));
  }
  {
    std::fstream damaged(file(), std::ios::in | std::ios::out | std::ios::binary);
    damaged.seekp(60);
    damaged.put('#');
  }
  {
    LearnedTable table(folder_, warn());
    EXPECT_EQ(table.text(), "");
    EXPECT_THAT(warnings_,
                ElementsAre(testing::AllOf(HasSubstr("checksum is wrong"), HasSubstr("start to learn again"))));
    table.keep(a_table(1));
  }
  EXPECT_EQ(LearnedTable(folder_, warn()).text(), a_table(1)) << "the next one replaces it";
}

TEST_F(LearnedTableTest, a_link_in_its_place_is_neither_read_nor_written_through) {
  const auto elsewhere = folder_ / "elsewhere";
  {
    std::ofstream(elsewhere) << dispatch::sealed_learned(a_table(2));
  }
  std::filesystem::create_symlink(elsewhere, file());
  {
    LearnedTable table(folder_, warn());
    EXPECT_EQ(table.text(), "");
    EXPECT_EQ(warnings_.size(), 1U);
    table.keep(a_table(9));
  }
  EXPECT_FALSE(std::filesystem::is_symlink(file()));
  std::ifstream in(elsewhere);
  const std::string kept((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  EXPECT_EQ(kept, dispatch::sealed_learned(a_table(2)));
}

TEST_F(LearnedTableTest, a_folder_that_is_gone_is_said_once) {
  {
    LearnedTable table(folder_ / "gone", warn());
    table.keep(a_table(1));
    table.keep(a_table(2));
  }
  EXPECT_EQ(warnings_.size(), 1U);
}

}  // namespace
}  // namespace skein::inline v0::node
