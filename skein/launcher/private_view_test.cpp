#include "skein/launcher/private_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "skein/launcher/testing.hpp"

namespace skein::inline v0::launcher::tests {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

constexpr uid_t k_nobody = 65'534;

TEST(OsPrivileges, a_program_gains_no_rights_and_makes_files_for_itself_alone) {
  World world;
  EXPECT_EQ(world.after_exit(world.start(shell("grep NoNewPrivs /proc/self/status; umask"))).output,
            "NoNewPrivs:\t1\n0077\n");
  OsSpec loose = shell("grep NoNewPrivs /proc/self/status; umask");
  loose.no_new_privs = false;
  loose.umask = 022;
  EXPECT_EQ(world.after_exit(world.start(loose)).output, "NoNewPrivs:\t0\n0022\n");
}

TEST(OsPrivileges, a_program_of_another_user_is_that_user_and_dies_with_its_keeper) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can start programs as another user";
  World world;
  OsSpec spec = shell("id -u; id -g; id -G; echo told > /dev/stderr; exec sleep 100");
  spec.user = OsUser{k_nobody, k_nobody, {k_nobody, 7}};
  const OsId id = world.start(spec);
  const Story story = world.after_output(id, "65534\n65534\n65534 7\n");
  EXPECT_EQ(story.failed, "");
  EXPECT_TRUE(eventually([&] { return world.processes.stderr_tail(id) == "told\n"; }));
  const auto all = scan_processes();
  const auto program = std::ranges::find(all, story.pid, &OsEntry::pid);
  ASSERT_NE(program, all.end());
  ::kill(program->parent, SIGKILL);
  EXPECT_TRUE(eventually([&] { return !lives(story.pid); }));
}

TEST(OsPrivileges, says_why_a_user_cannot_be_had) {
  if (::geteuid() == 0) GTEST_SKIP() << "root can";
  World world;
  OsSpec spec = shell("true");
  spec.user = OsUser{0, 0, {}};
  EXPECT_THAT(world.after_exit(world.start(spec)).failed, HasSubstr("it cannot become user 0, group 0: "));
}

class PrivateView : public testing::Test {
 protected:
  PrivateView() {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "secret") << "secret";
    world_.emplace(OsProcessesOptions{.hidden = {folder_}, .tries_private = true});
  }
  ~PrivateView() override { std::filesystem::remove_all(folder_); }
  void SetUp() override {
    const std::string problem = world_->processes.private_problem();
    if (!problem.empty()) GTEST_SKIP() << "skipped: namespaces: " << problem;
  }
  static OsSpec hidden_from(std::string script) {
    OsSpec spec = shell(std::move(script));
    spec.is_private = true;
    return spec;
  }
  [[nodiscard]] Story run(std::string script) {
    return world_->after_exit(world_->start(hidden_from(std::move(script))));
  }

  std::filesystem::path folder_ = std::filesystem::temp_directory_path() / ("skein-hide-" + std::to_string(::getpid()));
  std::optional<World> world_;
};

TEST_F(PrivateView, the_hidden_folder_is_empty_and_cannot_be_written_or_uncovered) {
  const std::string folder = folder_;
  const Story story = run("ls -A " + folder + " | wc -l; (: > " + folder + "/x) 2>/dev/null || echo kept; umount " +
                          folder + " 2>/dev/null || echo covered; cat " + folder + "/secret 2>/dev/null; true");
  EXPECT_EQ(story.output, "0\nkept\ncovered\n") << story.failed;
  EXPECT_TRUE(std::filesystem::exists(folder_ / "secret"));
  const Story plain = world_->after_exit(world_->start(shell("cat " + folder + "/secret")));
  EXPECT_EQ(plain.output, "secret") << "others see it";
}

TEST_F(PrivateView, nobody_but_its_own_is_in_its_proc_and_its_keeper_cannot_be_ended) {
  const Story story = run("cat /proc/1/comm; kill -9 1; kill -STOP 1; sleep 0.1; echo alive");
  EXPECT_THAT(story.output, testing::StartsWith("skein-keeper\n")) << story.failed;
  EXPECT_THAT(story.output, testing::EndsWith("alive\n"));
  // Two: the keeper, and the shell, which looks itself.
  const OsId id = world_->start(hidden_from("set -- /proc/[0-9]*; [ $# = 2 ] && echo up; exec sleep 100"));
  const Story known = world_->after_output(id, "up");
  EXPECT_TRUE(lives(known.pid)) << "it is told by its number outside";
  world_->processes.kill(id);
  EXPECT_EQ(world_->after_exit(id).exit.code, SIGKILL);
}

TEST_F(PrivateView, its_folder_is_by_its_path_and_not_what_lies_below_it) {
  OsSpec spec = hidden_from("ls -A | wc -l");
  spec.directory = folder_;
  EXPECT_EQ(world_->after_exit(world_->start(spec)).output, "0\n");
}

TEST_F(PrivateView, it_ends_as_others_do_and_its_keeper_takes_the_next) {
  const OsId id = world_->start(hidden_from("setsid sleep 1000 & (setsid sleep 1001 &); echo up; sleep 100"));
  const Story story = world_->after_output(id, "up");
  EXPECT_EQ(story.failed, "");
  const auto began = std::chrono::steady_clock::now();
  EXPECT_TRUE(world_->processes.terminate(id, std::chrono::seconds(20)));
  EXPECT_EQ(world_->after_exit(id).exit.code, SIGTERM);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10)) << "it has no handler and dies of it";
  const auto keepers = world_->processes.counts().keepers;
  EXPECT_EQ(run("exit 7").exit.code, 7);
  EXPECT_EQ(run("kill -SEGV $$").exit.code, SIGSEGV);
  EXPECT_EQ(world_->processes.counts().keepers, keepers);
}

TEST_F(PrivateView, what_it_leaves_dies_with_it_and_all_of_it_with_its_keeper) {
  const std::string word = "skein-private-" + std::to_string(::getpid());
  EXPECT_EQ(run("for i in 1 2 3; do (setsid sh -c 'sleep 1000; : " + word + "' &); done; sleep 0.2").exit.code, 0);
  EXPECT_TRUE(eventually([&] { return marked(word).empty(); }));
  const OsId id = world_->start(hidden_from("(setsid sh -c 'sleep 1000; : " + word + "' &); echo up; sleep 1000"));
  const Story story = world_->after_output(id, "up");
  const auto all = scan_processes();
  const auto program = std::ranges::find(all, story.pid, &OsEntry::pid);
  ASSERT_NE(program, all.end());
  ::kill(program->parent, SIGKILL);
  EXPECT_TRUE(eventually([&] { return marked(word).empty(); }));
  EXPECT_TRUE(world_->after_exit(id).exit.launcher_died);
}

TEST_F(PrivateView, a_program_of_root_has_few_capabilities_left_and_of_others_none) {
  const std::string output = run("grep -e CapEff -e CapBnd /proc/self/status; (echo x > /proc/sys/kernel/core_pattern) "
                                 "2>/dev/null || echo kept; unshare -m true 2>/dev/null && echo mounts; true")
                                 .output;
  const bool is_root = ::geteuid() == 0;
  EXPECT_THAT(output, HasSubstr(is_root ? "CapEff:\t00000000000004fb" : "CapEff:\t0000000000000000"));
  EXPECT_THAT(output, HasSubstr("kept"));
  EXPECT_THAT(output, Not(HasSubstr("mounts")));
}

TEST(PrivateViewFault, says_what_cannot_be_hidden) {
  const World world({.hidden = {"/no/such/folder"}, .tries_private = true});
  EXPECT_NE(world.processes.private_problem(), "");
}

}  // namespace
}  // namespace skein::inline v0::launcher::tests
