#include "skein/launcher/control_group.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "skein/launcher/testing.hpp"

namespace skein::inline v0::launcher::tests {
namespace {

using std::chrono::seconds;

constexpr const char* k_hybrid = "30 25 0:26 / /sys/fs/cgroup/unified rw,nosuid - cgroup2 cgroup2 rw\n";
constexpr const char* k_unified =
    "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n";

TEST(ControlGroup, is_found_where_cgroup_v2_is_mounted) {
  EXPECT_EQ(own_group_folder("0::/user.slice/a.service\n", k_unified), "/sys/fs/cgroup/user.slice/a.service");
  EXPECT_EQ(own_group_folder("4:memory:/x\n0::/\n", k_hybrid), "/sys/fs/cgroup/unified");
  // A container may see a part of the tree only.
  EXPECT_EQ(own_group_folder("0::/docker/abc/sub\n", "1 2 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            "/sys/fs/cgroup/sub");
  EXPECT_EQ(own_group_folder("0::/docker/abcd\n", "1 2 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            std::nullopt);
  EXPECT_EQ(own_group_folder("4:memory:/x\n", k_hybrid), std::nullopt);
  EXPECT_EQ(own_group_folder("0::/\n", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"), std::nullopt);
}

TEST(ControlGroup, says_why_there_is_none) {
  const NodeGroup group("/no/such/group");
  EXPECT_FALSE(group.is_there());
  EXPECT_EQ(group.describe(), "process groups and /proc: cgroup /no/such/group is not delegated to this user");
  KeeperGroup keeper(group, 1, ::getpid());
  EXPECT_TRUE(keeper.prepare({}));
  EXPECT_EQ(keeper.fd(), -1);
  EXPECT_FALSE(keeper.kill());
}

std::vector<std::string> entries(const std::string& folder, const std::string& prefix = "") {
  std::vector<std::string> names;
  std::error_code gone;
  for (const auto& each : std::filesystem::directory_iterator(folder, gone)) {
    const std::string name = each.path().filename().string();
    if (each.is_directory() && name.starts_with(prefix)) names.push_back(name);
  }
  return names;
}

std::string own_line(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("0::")) return line;
  }
  return {};
}

// Where the test program may make groups; each test has a folder of its own there.
class DelegatedGroup : public testing::Test {
 protected:
  void SetUp() override {
    const NodeGroup& here = NodeGroup::here();
    if (!here.is_there()) GTEST_SKIP() << "skipped: cgroup: none is delegated (" << here.describe() << ")";
    folder_ = std::filesystem::path(here.folder()).parent_path() / ("test-" + std::to_string(::getpid()));
    std::filesystem::create_directory(folder_);
  }
  void TearDown() override {
    if (folder_.empty()) return;
    for (const auto& each : entries(folder_)) ::rmdir((folder_ / each).c_str());
    EXPECT_EQ(::rmdir(folder_.c_str()), 0) << "something is left in " << folder_;
  }
  // The group of a keeper of this program's, by the path in a program's /proc/self/cgroup.
  static std::string group_of(pid_t pid) {
    const std::string line = own_line(pid);
    return line.substr(std::min(line.rfind('/') + 1, line.size()));
  }

  std::filesystem::path folder_;
};

TEST_F(DelegatedGroup, of_a_dead_node_is_removed_by_the_next_with_whoever_lives_in_it) {
  const auto left = folder_ / "skein-1-0" / "2-3";
  std::filesystem::create_directories(left);
  const pid_t lost = ::fork();
  if (lost == 0) {
    ::pause();
    ::_exit(0);
  }
  std::ofstream(left / "cgroup.procs") << lost << std::flush;
  ASSERT_NE(own_line(lost).find("2-3"), std::string::npos);

  const NodeGroup living(folder_.string());
  ASSERT_TRUE(living.is_there()) << living.describe();
  EXPECT_EQ(entries(folder_).size(), 1U) << "only the living one's";
  int status = 0;
  ASSERT_EQ(::waitpid(lost, &status, 0), lost);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  {
    const NodeGroup next(folder_.string());
    EXPECT_EQ(entries(folder_).size(), 2U) << "the living one's is locked";
    next.remove();
  }
  living.remove();
  EXPECT_TRUE(entries(folder_).empty());
}

// cgroup.kill does not reach it.
TEST_F(DelegatedGroup, is_removed_with_one_whose_first_thread_has_ended) {
  const auto left = folder_ / "skein-1-0" / "2-3" / "below";
  std::filesystem::create_directories(left);
  const pid_t lost = fork_one_without_its_first_thread();
  std::ofstream(left / "cgroup.procs") << lost << std::flush;
  const NodeGroup living(folder_.string());
  EXPECT_EQ(entries(folder_).size(), 1U) << "only the living one's";
  int status = 0;
  EXPECT_TRUE(eventually([&] { return ::waitpid(lost, &status, WNOHANG) == lost; }, seconds(5)));
  ::kill(lost, SIGKILL);
  living.remove();
}

TEST_F(DelegatedGroup, holds_a_program_with_all_it_starts) {
  World world;
  const OsId id =
      world.start(shell("(setsid env -i sleep " + mark(98780) + "1 &); echo up; sleep " + mark(98780) + "2"));
  const Story story = world.after_output(id, "up");
  ASSERT_EQ(story.failed, "");
  const std::string name = group_of(story.pid);
  EXPECT_TRUE(name.starts_with(std::to_string(world.processes.counts().launcher) + "-")) << name;
  ASSERT_TRUE(eventually([] { return marked(mark(98780) + "1").size() == 2; }));
  for (const pid_t pid : marked(mark(98780))) EXPECT_EQ(group_of(pid), name);
  world.processes.kill(id);
  EXPECT_EQ(world.after_exit(id).exit.code, SIGKILL);
  EXPECT_TRUE(eventually([] { return marked(mark(98780)).empty(); }, seconds(2)));
  // The next one of that keeper has a new one, and those after it that one too, for as long as nobody is killed.
  std::string next_name;
  for (int i = 0; i < 3; ++i) {
    const OsId next = world.start(shell("read -r line"));
    ASSERT_TRUE(eventually([&] { return world.stories.of(next).started; }));
    const std::string its_name = group_of(world.stories.of(next).pid);
    EXPECT_NE(its_name, name);
    EXPECT_TRUE(its_name.starts_with(std::to_string(world.processes.counts().launcher) + "-")) << its_name;
    EXPECT_TRUE(i == 0 || its_name == next_name) << its_name;
    next_name = its_name;
    world.processes.close_stdin(next);
    EXPECT_EQ(world.after_exit(next).exit.code, 1);
  }
}

TEST_F(DelegatedGroup, does_not_lose_one_that_has_left_it) {
  World world;
  const std::string away = folder_.string() + "/cgroup.procs";
  const OsId id = world.start(
      shell("(echo 0 > " + away + "; setsid sleep " + mark(98781) + "1 &); echo up; sleep " + mark(98781) + "2"));
  ASSERT_EQ(world.after_output(id, "up").failed, "");
  world.processes.kill(id);
  EXPECT_EQ(world.after_exit(id).exit.code, SIGKILL);
  EXPECT_TRUE(eventually([] { return marked(mark(98781)).empty(); }, seconds(2)));
}

TEST_F(DelegatedGroup, is_removed_with_its_keeper_its_launcher_and_its_node) {
  pid_t first = 0;
  pid_t second = 0;
  const auto left = [](pid_t launcher) {
    return entries(NodeGroup::here().folder(), std::to_string(launcher) + "-").size();
  };
  {
    World world;
    const OsId id = world.start(shell("(setsid sleep " + mark(98782) + "1 &); echo up; sleep " + mark(98782) + "2"));
    const Story story = world.after_output(id, "up");
    ASSERT_EQ(story.failed, "");
    first = world.processes.counts().launcher;
    EXPECT_EQ(left(first), 1U);
    const auto keeper = static_cast<pid_t>(std::stoi(group_of(story.pid).substr(std::to_string(first).size() + 1)));
    ASSERT_EQ(::kill(keeper, SIGKILL), 0);
    EXPECT_TRUE(world.after_exit(id).exit.launcher_died);
    EXPECT_TRUE(eventually([&] { return left(first) == 0; })) << "a keeper's";
    EXPECT_TRUE(eventually([] { return marked(mark(98782)).empty(); }, seconds(2)));

    ASSERT_EQ(world.after_output(world.start(shell("echo up; sleep " + mark(98782) + "3")), "up").failed, "");
    ASSERT_EQ(::kill(first, SIGKILL), 0);
    EXPECT_TRUE(eventually([&] { return left(first) == 0; })) << "a launcher's";
    ASSERT_EQ(world.after_output(world.start(shell("echo up; sleep " + mark(98782) + "4")), "up").failed, "");
    second = world.processes.counts().launcher;
    EXPECT_EQ(left(second), 1U);
  }
  EXPECT_EQ(left(second), 0U) << "a node's";
}

TEST_F(DelegatedGroup, limits_memory_and_number_where_it_has_the_controllers) {
  const NodeGroup& here = NodeGroup::here();
  KeeperGroup keeper(here, ::getpid(), ::getpid());
  ASSERT_TRUE(keeper.prepare({.memory_bytes = 64U << 20U, .processes = 7}));
  const auto folder = std::filesystem::path(here.folder()) / fmt::format("{0}-{0}-0", ::getpid());
  const auto value = [&](const char* name) {
    std::ifstream file(folder / name);
    std::string text;
    return file >> text ? text : "no controller";
  };
  const std::string enabled = here.describe();
  const bool has_memory = enabled.find("memory") != std::string::npos && enabled.find("together") != std::string::npos;
  const bool has_pids = enabled.find("pids") != std::string::npos;
  EXPECT_EQ(value("memory.max"), has_memory ? "67108864" : "no controller");
  EXPECT_EQ(value("pids.max"), has_pids ? "7" : "no controller");
  keeper.remove();
  EXPECT_FALSE(std::filesystem::exists(folder));
  if (!has_memory || !has_pids) std::puts(("not all limits were seen: " + enabled).c_str());
}

}  // namespace
}  // namespace skein::inline v0::launcher::tests
