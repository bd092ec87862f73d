#include "skein/node/last_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace skein::inline v0::node {
namespace {

using testing::HasSubstr;

constexpr std::int64_t k_now = 1'000'000'000;

class RunFolder {
 public:
  RunFolder() {
    if (::mkdtemp(path_.data()) == nullptr) ADD_FAILURE() << "no folder " << path_;
  }
  ~RunFolder() { std::filesystem::remove_all(path_); }
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_ = (std::filesystem::temp_directory_path() / "last-run-XXXXXX").string();
};

TEST(LastRun, comes_back_as_it_was_written_and_is_its_owners_alone) {
  const RunFolder folder;
  EXPECT_FALSE(read_last_run(folder.path()));
  LastRun run{true, "/etc/skein/skein.toml", "skein up /etc/skein/skein.toml", false, 0};
  EXPECT_EQ(write_last_run(folder.path(), run), "");
  struct stat seen{};
  ASSERT_EQ(::stat((folder.path() + "/" + k_last_run_file).c_str(), &seen), 0);
  EXPECT_EQ(seen.st_mode & 0777U, 0600U);
  auto read = read_last_run(folder.path());
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->is_operator);
  EXPECT_EQ(read->config, run.config);
  EXPECT_EQ(read->command, run.command);
  EXPECT_FALSE(read->has_stopped);
  run.has_stopped = true;
  run.stopped_at = 7;
  EXPECT_EQ(write_last_run(folder.path(), run), "");
  read = read_last_run(folder.path());
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->is_operator);
  EXPECT_EQ(read->stopped_at, 7);
  std::ofstream(folder.path() + "/" + k_last_run_file) << "{";
  EXPECT_FALSE(read_last_run(folder.path()));
}

TEST(LastRun, a_bridges_node_in_between_does_not_make_the_folder_the_bridges) {
  const RunFolder folder;
  const LastRun bridge{false, "/other.toml", "skein up /other.toml", true, 9};
  EXPECT_EQ(write_last_run(folder.path(), bridge), "");
  EXPECT_FALSE(read_last_run(folder.path())->is_operator) << "nobody else was there";
  EXPECT_EQ(write_last_run(folder.path(), LastRun{true, "/c.toml", "skein up /c.toml", true, 7}), "");
  EXPECT_EQ(write_last_run(folder.path(), bridge), "");
  const auto read = read_last_run(folder.path());
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->is_operator);
  EXPECT_EQ(read->config, "/c.toml");
  EXPECT_FALSE(right_to_start(read, "", k_now + 3'600'000).may_start);
}

TEST(LastRun, leaves_an_empty_folder_and_its_own_to_a_bridge) {
  EXPECT_TRUE(right_to_start(std::nullopt, "", k_now).may_start);
  EXPECT_TRUE(right_to_start(LastRun{.is_operator = false}, "", k_now).may_start);
}

TEST(LastRun, a_folder_of_an_earlier_release_without_a_trace_of_a_bridge_is_an_operators) {
  const RunFolder folder;
  EXPECT_FALSE(is_unnamed_folder(folder.path())) << "it is empty";
  std::filesystem::create_directory(folder.path() + "/journal");
  EXPECT_TRUE(is_unnamed_folder(folder.path()));
  const auto right = right_to_start(std::nullopt, "", k_now, true);
  EXPECT_FALSE(right.may_start);
  EXPECT_THAT(right.why, HasSubstr("start the node once with 'skein up CONFIG'"));
  EXPECT_TRUE(right_to_start(std::nullopt, "/c.toml", k_now, true).may_start) << "somebody has said which config";
  std::ofstream(folder.path() + "/" + k_bridge_log_file) << "";
  EXPECT_FALSE(is_unnamed_folder(folder.path())) << "a bridge ran it";
}

TEST(LastRun, never_takes_the_folder_of_an_operator_whose_node_died) {
  const auto right = right_to_start(LastRun{.config = "/c.toml", .command = "skein up /c.toml"}, "/c.toml", k_now);
  EXPECT_FALSE(right.may_start);
  EXPECT_THAT(right.why, HasSubstr("'skein up /c.toml'"));
}

TEST(LastRun, takes_a_folder_whose_operator_has_gone_and_had_the_same_config) {
  LastRun run{.config = "", .command = "skein up", .has_stopped = true, .stopped_at = k_now};
  EXPECT_FALSE(right_to_start(run, "", k_now + 29'999).may_start) << "a restart is under way";
  EXPECT_TRUE(right_to_start(run, "", k_now + 30'000).may_start);
  EXPECT_TRUE(right_to_start(run, "", k_now - 1).may_start) << "a clock that was set back";
  run.config = "/c.toml";
  EXPECT_FALSE(right_to_start(run, "", k_now + 3'600'000).may_start);
  EXPECT_THAT(right_to_start(run, "", k_now + 3'600'000).why, HasSubstr("--take-over"));
  EXPECT_TRUE(right_to_start(run, "/c.toml", k_now + 3'600'000).may_start);
}

}  // namespace
}  // namespace skein::inline v0::node
