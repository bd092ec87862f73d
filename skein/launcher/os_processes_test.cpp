#include "skein/launcher/os_processes.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "skein/launcher/testing.hpp"
#include "skein/launcher/wire.hpp"

namespace skein::inline v0::launcher::tests {

// Before main, so before any thread of the test program.
const Launcher& k_forked_early = Launcher::fork_early();

std::vector<pid_t> marked(std::string_view word) {
  std::vector<pid_t> found;
  for (const OsEntry& each : scan_processes()) {
    if (is_dead(each) || each.pid == ::getpid()) continue;
    std::ifstream file(shown_of(each, "cmdline"), std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    if (text.str().find(word) != std::string::npos) found.push_back(each.pid);
  }
  return found;
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(OsProcesses, brings_output_then_its_end_then_the_exit) {
  World world;
  const OsId id = world.start(shell("echo hello; echo oops >&2; exit 3"));
  const Story story = world.after_exit(id);
  EXPECT_TRUE(story.started) << story.failed;
  EXPECT_EQ(story.output, "hello\n");
  EXPECT_EQ(story.output_ends, 1);
  EXPECT_FALSE(story.exit.signalled);
  EXPECT_EQ(story.exit.code, 3);
  EXPECT_EQ(story.exit.stderr_tail, "oops\n");
  EXPECT_FALSE(story.exit.launcher_died);
  EXPECT_GT(story.exit.max_rss_bytes, 0U);
  EXPECT_FALSE(story.out_of_order);
}

TEST(OsProcesses, hands_stdin_over_and_closes_it) {
  World world;
  OsSpec spec = shell("");
  spec.argv = {"cat"};
  const OsId id = world.start(spec);
  EXPECT_TRUE(world.processes.write(id, "one "));
  EXPECT_TRUE(world.processes.write(id, "two"));
  EXPECT_EQ(world.after_output(id, "one two").failed, "");
  EXPECT_TRUE(world.processes.write(id, std::string(1'000'000, 'x')));
  world.processes.close_stdin(id);
  EXPECT_FALSE(world.processes.write(id, "late"));
  const Story story = world.after_exit(id);
  EXPECT_EQ(story.output.size(), 1'000'007U);
  EXPECT_EQ(story.exit.code, 0);
}

TEST(OsProcesses, has_exactly_the_environment_directory_and_descriptors_it_was_given) {
  World world;
  OsSpec spec = shell("pwd; env | grep -v -e ^PWD= -e ^OLDPWD= -e ^SHLVL= -e ^_= | sort; ls /proc/self/fd | wc -l");
  spec.directory = "/usr";
  spec.environment.emplace_back("COLOUR=green");
  const Story story = world.after_exit(world.start(spec));
  // 0, 1, 2, and the folder that ls reads.
  EXPECT_EQ(story.output, "/usr\nCOLOUR=green\nPATH=/usr/local/bin:/usr/bin:/bin\n4\n") << story.failed;
}

TEST(OsProcesses, has_default_signals_and_a_session_of_its_own) {
  World world;
  const Story story = world.after_exit(
      world.start(shell("grep -E 'SigBlk|SigIgn' /proc/self/status; read -r l < /proc/self/stat; echo $l; echo $$")));
  EXPECT_NE(story.output.find("SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000"), std::string::npos)
      << story.output;
  const std::string pid = std::to_string(story.pid);
  EXPECT_NE(story.output.find(" " + pid + " " + pid + " "), std::string::npos) << story.output;
}

TEST(OsProcesses, says_what_cannot_be_started_and_why) {
  World world;
  OsSpec missing = shell("");
  missing.argv = {"/no/such/program"};
  EXPECT_EQ(world.after_exit(world.start(missing)).failed,
            "cannot start '/no/such/program': No such file or directory");
  missing.argv = {"no-such-program"};
  EXPECT_EQ(world.after_exit(world.start(missing)).failed, "cannot start 'no-such-program': No such file or directory");
  OsSpec folder = shell("");
  folder.argv = {"/usr"};
  EXPECT_EQ(world.after_exit(world.start(folder)).failed, "cannot start '/usr': Permission denied");
  OsSpec lost = shell("true");
  lost.directory = "/no/such/folder";
  EXPECT_EQ(world.after_exit(world.start(lost)).failed,
            "cannot start '/bin/sh': its working directory '/no/such/folder': No such file or directory");
  EXPECT_NE(world.after_exit(world.start({})).failed, "");
  OsSpec large = shell(std::string(k_spec_bytes_max, 'x'));
  EXPECT_NE(world.after_exit(world.start(large)).failed.find("hand large input over on stdin"), std::string::npos);
  EXPECT_EQ(world.after_exit(world.start(shell("echo fine"))).output, "fine\n");
  EXPECT_EQ(world.processes.counts().start_failures, 6U);
}

TEST(OsProcesses, tells_the_signal_that_ended_it) {
  World world;
  const OsId id = world.start(shell("echo up; sleep 100"));
  EXPECT_EQ(world.after_output(id, "up").failed, "");
  EXPECT_TRUE(world.processes.signal(id, SIGTERM));
  const Story story = world.after_exit(id);
  EXPECT_TRUE(story.exit.signalled);
  EXPECT_EQ(story.exit.code, SIGTERM);
  EXPECT_FALSE(world.processes.signal(id, SIGTERM));
}

TEST(OsProcesses, kills_what_ignores_sigterm) {
  World world;
  const OsId id = world.start(shell("trap '' TERM; echo up; while :; do sleep 1; done"));
  EXPECT_EQ(world.after_output(id, "up").failed, "");
  EXPECT_TRUE(world.processes.signal(id, SIGTERM));
  world.processes.kill(id);
  const Story story = world.after_exit(id);
  EXPECT_TRUE(story.exit.signalled);
  EXPECT_EQ(story.exit.code, SIGKILL);
}

TEST(OsProcesses, can_be_killed_before_it_started) {
  World world;
  std::vector<OsId> ids;
  for (int i = 0; i < 20; ++i) {
    ids.push_back(world.start(shell("sleep 100")));
    world.processes.kill(ids.back());
  }
  for (const OsId id : ids) {
    const Story story = world.after_exit(id);
    EXPECT_TRUE(story.failed == "killed before it started" || story.exit.code == SIGKILL) << story.failed;
  }
}

TEST(OsProcesses, gets_a_signal_that_was_sent_while_its_start_was_in_the_mail) {
  World world;
  EXPECT_EQ(world.after_exit(world.start(shell("exit 0"))).exits, 1);
  ASSERT_TRUE(eventually([&] { return world.processes.counts().idle_keepers == 1; })) << "it has cleaned up";
  const auto keepers = descendants(scan_processes(), world.processes.counts().launcher, {});
  ASSERT_EQ(keepers.size(), 1U) << "the idle keeper, which starts the next";
  ASSERT_EQ(::kill(keepers.front().pid, SIGSTOP), 0);
  const OsId id = world.start(shell("sleep 100"));
  ASSERT_TRUE(eventually([&] { return world.processes.counts().idle_keepers == 0; })) << "it has the start";
  EXPECT_TRUE(world.processes.signal(id, SIGTERM));
  EXPECT_TRUE(world.processes.signal(id, 0)) << "it is still to come";
  ASSERT_EQ(::kill(keepers.front().pid, SIGCONT), 0);
  const Story story = world.after_exit(id);
  EXPECT_TRUE(story.started) << story.failed;
  EXPECT_TRUE(story.exit.signalled);
  EXPECT_EQ(story.exit.code, SIGTERM);
}

TEST(OsProcesses, is_never_started_when_sigterm_comes_before_anybody_can_start_it) {
  World world;
  const pid_t launcher = world.processes.counts().launcher;
  ASSERT_EQ(::kill(launcher, SIGSTOP), 0);
  const OsId id = world.start(shell("sleep " + mark(98771) + "1"));
  EXPECT_TRUE(world.processes.signal(id, SIGTERM));
  const Story story = world.after_exit(id);
  ASSERT_EQ(::kill(launcher, SIGCONT), 0);
  EXPECT_EQ(story.failed, "killed before it started");
  EXPECT_EQ(world.after_exit(world.start(shell("echo fine"))).output, "fine\n");
  EXPECT_TRUE(marked(mark(98771)).empty());
}

TEST(OsProcesses, stops_reading_a_flood_that_nobody_consumes) {
  World world({}, false);
  OsSpec spec = shell("yes flood");
  spec.stdout_window = 100'000;
  const OsId id = world.start(spec);
  ASSERT_TRUE(eventually([&] { return world.stories.of(id).output.size() >= 100'000; }));
  // Another process works meanwhile, and the flood has not grown when that one is through.
  EXPECT_EQ(world.after_exit(world.start(shell("echo fine"))).output, "fine\n");
  EXPECT_EQ(world.stories.of(id).output.size(), 100'000U);
  world.processes.consumed(id, 50'000);
  EXPECT_TRUE(eventually([&] { return world.stories.of(id).output.size() == 150'000; }));
  world.processes.kill(id);
  EXPECT_EQ(world.after_exit(id).exit.code, SIGKILL);
}

TEST(OsProcesses, keeps_all_output_of_one_that_ends_while_its_window_is_full) {
  World world({}, false);
  OsSpec spec = shell("head -c 60000 /dev/zero");
  spec.stdout_window = 1'000;
  EXPECT_EQ(world.after_exit(world.start(spec)).output.size(), 60'000U);
}

TEST(OsProcesses, queues_for_one_that_never_reads_up_to_a_limit) {
  World world;
  OsSpec spec = shell("echo up; sleep 100");
  spec.stdin_bytes_max = 300'000;
  const OsId id = world.start(spec);
  EXPECT_EQ(world.after_output(id, "up").failed, "");
  EXPECT_TRUE(world.processes.write(id, std::string(200'000, 'x')));
  EXPECT_TRUE(world.processes.write(id, std::string(100'000, 'x')));
  EXPECT_FALSE(world.processes.write(id, std::string(100'000, 'x')));
  world.processes.kill(id);
  EXPECT_EQ(world.after_exit(id).exit.code, SIGKILL);
  EXPECT_FALSE(world.processes.write(id, "x"));
}

TEST(OsProcesses, refuses_writes_once_nobody_can_read_them) {
  World world;
  const OsId id = world.start(shell("exec <&-; echo closed; sleep 100"));
  EXPECT_EQ(world.after_output(id, "closed").failed, "");
  EXPECT_FALSE(world.processes.write(id, "x"));
  EXPECT_FALSE(world.processes.write(id, "x"));
  world.processes.kill(id);
  EXPECT_EQ(world.after_exit(id).exit.code, SIGKILL);
}

TEST(OsProcesses, keeps_the_last_bytes_of_stderr) {
  World world;
  OsSpec spec = shell("head -c 1000000 /dev/zero >&2; echo end >&2; echo up; sleep 100");
  spec.stderr_ring = 1'000;
  const OsId id = world.start(spec);
  EXPECT_EQ(world.after_output(id, "up").failed, "");
  EXPECT_TRUE(eventually([&] { return world.processes.stderr_tail(id).ends_with("end\n"); }));
  EXPECT_EQ(world.processes.stderr_tail(id).size(), 1'000U);
  world.processes.kill(id);
  EXPECT_TRUE(world.after_exit(id).exit.stderr_tail.ends_with("end\n"));
}

TEST(OsProcesses, kills_what_a_process_leaves_behind) {
  World world;
  // In its group; in a session of its own; and a daemon of two forks, without environment.
  const OsId id = world.start(shell("sleep " + mark(98761) + "1 & setsid sleep " + mark(98761) +
                                    "2 & (setsid env -i sleep " + mark(98761) + "3 &) ; sleep 0.1; echo up"));
  const Story story = world.after_exit(id);
  EXPECT_EQ(story.output, "up\n");
  EXPECT_EQ(story.exit.code, 0);
  EXPECT_TRUE(eventually([] { return marked(mark(98761)).empty(); }, seconds(2)));
}

TEST(OsProcesses, spares_the_daemons_of_others) {
  World world;
  const OsId keeps = world.start(shell("(setsid env -i sleep " + mark(98762) + "1 &); echo up; sleep 100"));
  EXPECT_EQ(world.after_output(keeps, "up").failed, "");
  EXPECT_EQ(world.after_exit(world.start(shell("(setsid sleep " + mark(98763) + "1 &); sleep 0.1; echo up"))).output,
            "up\n");
  EXPECT_TRUE(eventually([] { return marked(mark(98763)).empty(); }, seconds(2)));
  EXPECT_EQ(marked(mark(98762)).size(), 2U) << "the sleeper, and the shell whose script names it";
  world.processes.kill(keeps);
  EXPECT_EQ(world.after_exit(keeps).exit.code, SIGKILL);
  EXPECT_TRUE(eventually([] { return marked(mark(98762)).empty(); }, seconds(2)));
}

TEST(OsProcesses, ends_a_fork_bomb) {
  World world;
  // Each of 200 starts a session of its own, and each of these a sleeper.
  const OsId id = world.start(shell("i=0; while [ $i -lt 100 ]; do setsid sh -c 'sleep " + mark(98764) + "1 & sleep " +
                                    mark(98764) +
                                    "2' & i=$((i+1)); done; "
                                    "echo up; while :; do setsid sh -c 'sleep " +
                                    mark(98764) + "3' & sleep 0.001; done"));
  EXPECT_EQ(world.after_output(id, "up").failed, "");
  EXPECT_GT(marked(mark(98764)).size(), 50U);
  world.processes.kill(id);
  EXPECT_EQ(world.after_exit(id).exit.code, SIGKILL);
  EXPECT_TRUE(eventually([] { return marked(mark(98764)).empty(); }, seconds(5)));
}

TEST(OsProcesses, takes_the_processes_of_a_dead_owner_along) {
  World world;
  const Pid other = world.runtime.spawn<Listener>(&world.stories, &world.processes, true);
  const OsId id =
      world.processes.spawn(other, shell("(setsid sleep " + mark(98765) + "1 &); echo up; sleep " + mark(98765) + "2"));
  EXPECT_EQ(world.after_output(id, "up").failed, "");
  world.runtime.exit(other, ExitReason::kill());
  EXPECT_TRUE(eventually([] { return marked(mark(98765)).empty(); }, seconds(5)));
  EXPECT_TRUE(eventually([&] { return world.processes.counts().processes == 0; }));
  // One that is dead already owns nothing for long.
  (void)world.processes.spawn(other, shell("sleep " + mark(98765) + "3"));
  EXPECT_TRUE(eventually([&] { return world.processes.counts().processes == 0; }));
}

TEST(OsProcesses, has_a_limit_on_their_number) {
  World world({.processes_max = 2});
  const OsId one = world.start(shell("sleep 100"));
  (void)world.start(shell("sleep 100"));
  const Story refused = world.after_exit(world.start(shell("sleep 100")));
  EXPECT_EQ(refused.failed, "cannot start '/bin/sh': 2 OS processes run or wait already (processes_max)");
  world.processes.kill(one);
  EXPECT_TRUE(eventually([&] { return world.processes.counts().processes == 1; }));
  EXPECT_EQ(world.after_exit(world.start(shell("echo fine"))).output, "fine\n");
}

TEST(OsProcesses, says_so_when_descriptors_run_out_and_goes_on_afterwards) {
  // Without an idle keeper its connection finds no room, with one the pipes do not.
  for (const std::size_t idle : {std::size_t{0}, std::size_t{4}}) {
    World world({.idle_keepers_max = idle});
    const OsId first = world.start(shell("exit 0"));
    EXPECT_EQ(world.after_exit(first).exits, 1);
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const int lowest_free = ::dup(STDERR_FILENO);
    ::close(lowest_free);
    const rlimit few{static_cast<rlim_t>(lowest_free) + (idle == 0 ? 0 : 2), before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    const Story starved = world.after_exit(world.start(shell("sleep " + mark(98770) + "1")));
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_NE(starved.failed.find("no file descriptors left in the node"), std::string::npos) << starved.failed;
    EXPECT_EQ(world.after_exit(world.start(shell("echo fine"))).output, "fine\n");
    EXPECT_TRUE(eventually([] { return marked(mark(98770)).empty(); }, seconds(5)));
  }
}

TEST(OsProcesses, enforces_its_limits) {
  World world;
  OsSpec memory = shell("");
  memory.argv = {"python3", "-c", "x = bytearray(300_000_000)"};
  memory.limits.memory_bytes = 100'000'000;
  const Story starved = world.after_exit(world.start(memory));
  EXPECT_EQ(starved.exit.code, 1) << starved.failed;
  EXPECT_NE(starved.exit.stderr_tail.find("MemoryError"), std::string::npos) << starved.exit.stderr_tail;

  OsSpec cpu = shell("while :; do :; done");
  cpu.limits.cpu_seconds = 1;
  const Story spun = world.after_exit(world.start(cpu));
  EXPECT_TRUE(spun.exit.signalled);
  EXPECT_EQ(spun.exit.code, SIGXCPU);
  // The limit is counted by ticks, this is not: on a busy machine it may be less than the second.
  EXPECT_GE(spun.exit.user_us + spun.exit.system_us, 500'000U);

  OsSpec files = shell("ulimit -n; ulimit -c; ulimit -f");
  files.limits.open_files = 17;
  files.limits.file_bytes = 512 * 1024;
  EXPECT_EQ(world.after_exit(world.start(files)).output, "17\n0\n1024\n");
}

TEST(OsProcesses, leaves_neither_descriptor_nor_zombie_after_1000_starts) {
  World world({.idle_keepers_max = 4});
  (void)world.after_exit(world.start(shell("exit 0")));
  const std::size_t before = open_descriptors();
  constexpr int k_rounds = 125;
  for (int round = 0; round < k_rounds; ++round) {
    std::vector<OsId> ids;
    for (int i = 0; i < 8; ++i) {
      OsSpec spec = shell("");
      spec.argv = {i == 7 ? "/no/such/program" : "/bin/true"};
      ids.push_back(world.start(spec));
    }
    for (const OsId id : ids) ASSERT_LE(world.after_exit(id).exits, 1);
  }
  EXPECT_EQ(world.processes.counts().exited, 876U);
  EXPECT_EQ(world.processes.counts().processes, 0U);
  // Three more keepers may be idle now.
  EXPECT_TRUE(eventually([&] { return open_descriptors() <= before + 3; })) << open_descriptors() << " " << before;
  const pid_t launcher = world.processes.counts().launcher;
  EXPECT_TRUE(eventually([&] {
    const auto below = descendants(scan_processes(), launcher, {});
    return below.size() <= 4 && std::ranges::none_of(below, [](const OsEntry& each) { return each.state == 'Z'; });
  }));
}

TEST(OsProcesses, leaves_nothing_when_it_is_destroyed) {
  pid_t launcher = 0;
  {
    World world;
    const OsId id = world.start(shell("(setsid sleep " + mark(98766) + "1 &); echo up; sleep " + mark(98766) + "2"));
    EXPECT_EQ(world.after_output(id, "up").failed, "");
    launcher = world.processes.counts().launcher;
    EXPECT_TRUE(lives(launcher));
  }
  EXPECT_TRUE(marked(mark(98766)).empty());
  EXPECT_FALSE(lives(launcher));
}

TEST(Launcher, is_one_per_program) {
  World world;
  EXPECT_EQ(&Launcher::fork_early(), Launcher::here());
}

}  // namespace
}  // namespace skein::inline v0::launcher::tests
