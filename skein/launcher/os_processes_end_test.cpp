// How OS processes end, and what guard, launcher and keepers do about it when they are stopped or die themselves.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "skein/launcher/os_processes.hpp"
#include "skein/launcher/testing.hpp"

namespace skein::inline v0::launcher::tests {
namespace {

using std::chrono::seconds;

// In its group and in a session of its own; each writes down that it was told, and takes a moment to end.
std::string two_that_tidy_up(const std::string& folder) {
  const std::string tidy = "trap 'sleep 0.3; echo x > " + folder + "/\\$0; exit' TERM; while :; do sleep 0.01; done";
  return "sh -c \"" + tidy + "\" in_group & setsid sh -c \"" + tidy + "\" in_session & ";
}

bool both_were_told(const std::filesystem::path& folder) {
  return std::filesystem::exists(folder / "in_group") && std::filesystem::exists(folder / "in_session");
}

TEST(OsProcessesEnd, tells_everything_it_started_to_end_and_gives_it_its_time) {
  const std::filesystem::path folder = testing::TempDir() + "skein-terminate";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  World world;
  // The program itself ends at once.
  const OsId id = world.start(shell(two_that_tidy_up(folder) + "sleep 0.2; echo up; exec sleep " + mark(98773) + "1"));
  EXPECT_EQ(world.after_output(id, "up").failed, "");
  EXPECT_TRUE(world.processes.terminate(id, seconds(20)));
  const Story story = world.after_exit(id);
  EXPECT_EQ(story.exit.code, SIGTERM);
  EXPECT_TRUE(both_were_told(folder)) << "its end was told before theirs";
  EXPECT_FALSE(world.processes.terminate(id, seconds(1)));
  // The keeper is as good as before.
  EXPECT_EQ(world.after_exit(world.start(shell("echo fine"))).output, "fine\n");
  std::filesystem::remove_all(folder);
}

TEST(OsProcessesEnd, kills_what_is_left_after_the_time_it_had) {
  World world;
  const OsId id = world.start(shell("setsid sh -c \"trap '' TERM; echo up; while :; do sleep " + mark(98774) +
                                    "1; done\" & exec sleep " + mark(98774) + "2"));
  EXPECT_EQ(world.after_output(id, "up").failed, "");
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(world.processes.terminate(id, std::chrono::milliseconds(400)));
  const Story story = world.after_exit(id);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(400));
  EXPECT_EQ(story.exit.code, SIGTERM);
  EXPECT_TRUE(marked(mark(98774)).empty());
}

TEST(OsProcessesEnd, tells_the_end_of_one_whose_keeper_is_stopped) {
  World world;
  const OsId id = world.start(shell("echo up; read -r line; exit 3"));
  EXPECT_EQ(world.after_output(id, "up").failed, "");
  const auto keepers = descendants(scan_processes(), world.processes.counts().launcher, {});
  const pid_t pid = world.stories.of(id).pid;
  const auto program = std::ranges::find(keepers, pid, &OsEntry::pid);
  ASSERT_NE(program, keepers.end());
  // The launcher, too: nobody near it is left to help.
  ASSERT_EQ(::kill(world.processes.counts().launcher, SIGSTOP), 0);
  ASSERT_EQ(::kill(program->parent, SIGSTOP), 0);
  EXPECT_TRUE(world.processes.write(id, "\n"));
  const Story story = world.after_exit(id);
  EXPECT_EQ(story.exits, 1) << story.failed;
  EXPECT_EQ(story.exit.code, 3);
  EXPECT_FALSE(story.exit.launcher_died);
}

TEST(OsProcessesEnd, starts_and_stops_through_a_keeper_that_was_stopped) {
  World world;
  EXPECT_EQ(world.after_exit(world.start(shell("exit 0"))).exits, 1);
  ASSERT_TRUE(eventually([&] { return world.processes.counts().idle_keepers == 1; })) << "it has cleaned up";
  const auto keepers = descendants(scan_processes(), world.processes.counts().launcher, {});
  ASSERT_EQ(keepers.size(), 1U);
  ASSERT_EQ(::kill(keepers.front().pid, SIGSTOP), 0);
  const OsId id = world.start(shell("trap 'exit 4' TERM; echo up; while :; do sleep 0.01; done"));
  EXPECT_EQ(world.after_output(id, "up").failed, "");
  ASSERT_EQ(::kill(keepers.front().pid, SIGSTOP), 0);
  EXPECT_TRUE(world.processes.terminate(id, seconds(20)));
  EXPECT_EQ(world.after_exit(id).exit.code, 4);
}

// The new process, if it was stopped before its exec, with which its name changes; else zero.
pid_t stop_before_exec(pid_t launcher) {
  for (const OsEntry& each : descendants(scan_processes(), launcher, {})) {
    if (each.parent == launcher || ::kill(each.pid, SIGSTOP) != 0) continue;
    std::ifstream file("/proc/" + std::to_string(each.pid) + "/comm");
    std::string name;
    if (file >> name && name == "skein-keeper") return each.pid;
    ::kill(each.pid, SIGCONT);
  }
  return 0;
}

// Its keeper stands still until it is another program.
TEST(OsProcessesEnd, gives_up_a_start_that_is_never_answered) {
  World world;
  OsSpec spec = shell("");
  spec.argv = {"true"};
  std::string places;
  for (int i = 0; i < 50'000; ++i) places += "q:";  // it takes a while to try them all
  spec.environment = {"PATH=" + places + "/bin"};
  OsId id = 0;
  pid_t stopped = 0;
  for (int tries = 0; stopped == 0 && tries < 50; ++tries) {
    id = world.start(spec);
    while (stopped == 0 && world.stories.of(id).exits == 0) {
      stopped = stop_before_exec(world.processes.counts().launcher);
    }
  }
  ASSERT_NE(stopped, 0) << "it was never seen between clone and exec";
  EXPECT_TRUE(world.processes.terminate(id, std::chrono::milliseconds(100)));
  EXPECT_EQ(world.after_exit(id).failed, "killed before it started");
  EXPECT_TRUE(eventually([&] { return !lives(stopped); }));
  EXPECT_EQ(world.after_exit(world.start(shell("echo fine"))).output, "fine\n");
}

TEST(OsProcessesEnd, reaps_what_a_running_program_has_left) {
  World world;
  const OsId id = world.start(shell("i=0; while [ $i -lt 20 ]; do (true &); i=$((i+1)); done; echo up; read -r line"));
  EXPECT_EQ(world.after_output(id, "up").failed, "");
  // Its keeper and itself.
  const auto is_alone = [&] {
    return descendants(scan_processes(), world.processes.counts().launcher, {}).size() == 2;
  };
  EXPECT_TRUE(eventually(is_alone, seconds(5)));
  world.processes.close_stdin(id);
  EXPECT_EQ(world.after_exit(id).exit.code, 1);
}

TEST(OsProcessesEnd, leaves_nothing_when_it_is_destroyed_while_all_are_stopped) {
  pid_t launcher = 0;
  {
    World world;
    const OsId id = world.start(shell("(setsid sleep " + mark(98775) + "1 &); echo up; sleep " + mark(98775) + "2"));
    EXPECT_EQ(world.after_output(id, "up").failed, "");
    launcher = world.processes.counts().launcher;
    for (const OsEntry& each : descendants(scan_processes(), launcher, {})) ::kill(each.pid, SIGSTOP);
    ASSERT_EQ(::kill(launcher, SIGSTOP), 0);
  }
  EXPECT_TRUE(marked(mark(98775)).empty());
  EXPECT_FALSE(lives(launcher));
}

TEST(OsProcessesEnd, survives_the_death_of_the_launcher) {
  World world;
  const OsId id = world.start(shell("sleep " + mark(98767) + "0 & (setsid env -i sleep " + mark(98767) +
                                    "1 &); echo up; sleep " + mark(98767) + "2"));
  EXPECT_EQ(world.after_output(id, "up").failed, "");
  const pid_t launcher = world.processes.counts().launcher;
  ASSERT_EQ(::kill(launcher, SIGKILL), 0);
  const Story story = world.after_exit(id);
  EXPECT_TRUE(story.exit.launcher_died);
  EXPECT_TRUE(story.exit.signalled);
  EXPECT_TRUE(eventually([] { return marked(mark(98767)).empty(); }, seconds(2)));
  EXPECT_EQ(world.after_exit(world.start(shell("echo fine"))).output, "fine\n");
  EXPECT_EQ(world.processes.counts().launcher_deaths, 1U);
  EXPECT_NE(world.processes.counts().launcher, launcher);
}

// Pipes that nobody holds any more are not waited for. On a busy machine one try may be slow, but not each.
TEST(OsProcessesEnd, tells_at_once_when_a_launcher_took_a_process_with_it) {
  World world;
  auto fastest = std::chrono::steady_clock::duration::max();
  for (int i = 0; i < 5; ++i) {
    const OsId id = world.start(shell("echo up; exec sleep " + mark(98770) + "1"));
    EXPECT_EQ(world.after_output(id, "up").failed, "");
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_EQ(::kill(world.processes.counts().launcher, SIGKILL), 0);
    EXPECT_TRUE(world.after_exit(id).exit.launcher_died);
    fastest = std::min(fastest, std::chrono::steady_clock::now() - begin);
  }
  EXPECT_LT(fastest, std::chrono::milliseconds(400));
}

TEST(OsProcessesEnd, survives_the_death_of_the_guard_and_then_of_the_launcher) {
  World world;
  const OsId id = world.start(shell("echo up; sleep " + mark(98768) + "1"));
  EXPECT_EQ(world.after_output(id, "up").failed, "");
  const OsCounts before = world.processes.counts();
  ASSERT_EQ(::kill(before.guard, SIGKILL), 0);
  EXPECT_TRUE(eventually([&] { return world.processes.counts().guard != before.guard; }));
  EXPECT_TRUE(lives(world.stories.of(id).pid)) << "what runs does not depend on the guard";
  ASSERT_EQ(::kill(before.launcher, SIGKILL), 0);
  EXPECT_TRUE(world.after_exit(id).exit.launcher_died);
  EXPECT_TRUE(eventually([] { return marked(mark(98768)).empty(); }, seconds(2)));
  EXPECT_EQ(world.after_exit(world.start(shell("echo fine"))).output, "fine\n");
}

TEST(OsProcessesEnd, survives_the_death_of_guard_and_launcher_together) {
  World world;
  for (int i = 0; i < 3; ++i) {
    const OsId id =
        world.start(shell("(setsid env -i sleep " + mark(98772) + "1 &); echo up; sleep " + mark(98772) + "2"));
    EXPECT_EQ(world.after_output(id, "up").failed, "");
    const OsCounts before = world.processes.counts();
    // Stopped first, so that neither can do anything about the other.
    for (const int number : {SIGSTOP, SIGKILL}) {
      ASSERT_EQ(::kill(before.guard, number), 0);
      ASSERT_EQ(::kill(before.launcher, number), 0);
    }
    const OsId next = world.start(shell("echo fine"));
    EXPECT_TRUE(world.after_exit(id).exit.launcher_died);
    EXPECT_EQ(world.after_exit(next).output, "fine\n") << world.stories.of(next).failed;
    EXPECT_TRUE(eventually([] { return marked(mark(98772)).empty(); }, seconds(5)));
    EXPECT_NE(world.processes.counts().guard, before.guard);
    EXPECT_NE(world.processes.counts().launcher, before.launcher);
    EXPECT_EQ(world.processes.problem(), "");
  }
  EXPECT_EQ(world.processes.counts().start_failures, 0U);
}

TEST(OsProcessesEnd, wait_for_a_launcher_that_cannot_be_brought_back_yet) {
  World world;
  EXPECT_EQ(world.after_exit(world.start(shell("exit 0"))).exits, 1);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const OsCounts counts = world.processes.counts();
  // No descriptor, no connection to a new guard.
  const rlimit few{4, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  ::kill(counts.guard, SIGKILL);
  ::kill(counts.launcher, SIGKILL);
  const bool told = eventually([&] { return !world.processes.problem().empty(); });
  const OsId id = world.start(shell("echo fine"));
  const Story waiting = world.stories.of(id);
  const std::string problem = world.processes.problem();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(told);
  EXPECT_NE(problem.find("ulimit -u, -n"), std::string::npos) << problem;
  EXPECT_EQ(waiting.failed, "");
  EXPECT_FALSE(waiting.started);
  EXPECT_EQ(world.after_exit(id).output, "fine\n") << world.stories.of(id).failed;
  EXPECT_EQ(world.processes.problem(), "");
}

TEST(OsProcessesEnd, replaces_or_continues_a_guard_that_is_stopped) {
  World world;
  const OsCounts before = world.processes.counts();
  ASSERT_EQ(::kill(before.guard, SIGSTOP), 0);
  ASSERT_EQ(::kill(before.launcher, SIGKILL), 0);
  EXPECT_EQ(world.after_exit(world.start(shell("echo fine"))).output, "fine\n");
}

TEST(OsProcessesEnd, starts_although_its_idle_keepers_were_killed) {
  World world;
  for (int round = 0; round < 10; ++round) {
    std::vector<OsId> ids;
    for (int i = 0; i < 4; ++i) ids.push_back(world.start(shell("read -r line")));
    for (const OsId id : ids) EXPECT_TRUE(eventually([&] { return world.stories.of(id).started; }));
    for (const OsId id : ids) world.processes.close_stdin(id);
    for (const OsId id : ids) EXPECT_EQ(world.after_exit(id).exits, 1);
    // More of them than a start has attempts, and at best before their ends are seen.
    for (const OsEntry& each : descendants(scan_processes(), world.processes.counts().launcher, {})) {
      ::kill(each.pid, SIGKILL);
    }
    EXPECT_EQ(world.after_exit(world.start(shell("echo fine"))).output, "fine\n");
  }
  EXPECT_EQ(world.processes.counts().start_failures, 0U);
}

TEST(OsProcessesEnd, survives_the_death_of_a_keeper) {
  World world;
  const OsId id =
      world.start(shell("(setsid env -i sleep " + mark(98769) + "1 &); echo up; sleep " + mark(98769) + "2"));
  const OsId other = world.start(shell("echo up; read -r line; echo $line"));
  EXPECT_EQ(world.after_output(id, "up").failed, "");
  EXPECT_EQ(world.after_output(other, "up").failed, "");
  const auto all = scan_processes();
  const pid_t pid = world.stories.of(id).pid;
  const auto program = std::ranges::find(all, pid, &OsEntry::pid);
  ASSERT_NE(program, all.end());
  ASSERT_EQ(::kill(program->parent, SIGKILL), 0);
  EXPECT_TRUE(world.after_exit(id).exit.launcher_died);
  EXPECT_TRUE(eventually([] { return marked(mark(98769)).empty(); }, seconds(2)));
  EXPECT_TRUE(world.processes.write(other, "still here\n"));
  EXPECT_EQ(world.after_exit(other).output, "up\nstill here\n");
}

}  // namespace
}  // namespace skein::inline v0::launcher::tests
