// Introspection: what can be known of processes, traces, and dumps, also from a fatal signal.
#include "skein/runtime/dump.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "skein/runtime/testing.hpp"

namespace skein {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using namespace tests;

std::string contents(const std::string& path) {
  const std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// A file name of this test's own; removed at the end.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& name)
      : path_(::testing::TempDir() + "skein-" + name + "-" + std::to_string(::getpid())) {}
  ~ScratchFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct ClerkQuestion {};
struct Order {};
class Clerk {
 public:
  int handle_call(Self /*self*/, ClerkQuestion /*request*/) { return 1; }
  void handle_cast(Self /*self*/, Order /*note*/) {}
  void handle_info(Self /*self*/, Message /*message*/) {}
  [[nodiscard]] std::string describe() const { return "a clerk"; }
};

TEST(Introspection, tells_name_type_parent_counts_and_state_of_each_process) {
  Runtime runtime(tests::seeded(1));
  SpawnOptions named;
  named.name = "parent";
  const Pid parent = runtime.spawn_with<Puppet>(named);
  Pid child;
  runtime.send(parent, Do{[&](Self self) { child = self.spawn<Clerk>(); }});
  runtime.run_ready();
  for (int i = 0; i < 7; ++i) runtime.send(child, i);
  EXPECT_EQ(runtime.info(child)->state, ProcessState::runnable);
  EXPECT_EQ(runtime.info(child)->mailbox, 7U);
  EXPECT_EQ(runtime.mailbox_length(child), 7U);
  runtime.run_ready();
  const auto info = runtime.info(child);
  ASSERT_TRUE(info);
  EXPECT_EQ(info->pid, child);
  EXPECT_EQ(info->parent, parent);
  EXPECT_EQ(info->name, "");
  EXPECT_NE(info->type.find("Clerk"), std::string_view::npos);
  EXPECT_EQ(info->state, ProcessState::idle);
  EXPECT_EQ(info->handled, 7U);
  EXPECT_EQ(info->mailbox, 0U);
  EXPECT_EQ(info->high_water, 7U);
  EXPECT_GE(info->memory, 256U);
  EXPECT_EQ(runtime.info(parent)->name, "parent");
  EXPECT_EQ(runtime.info(parent)->parent, Pid{});
  EXPECT_EQ(runtime.processes().size(), 2U);
  EXPECT_EQ(runtime.process_count(), 2U);
}

TEST(Introspection, a_list_can_be_sorted_by_what_one_looks_for) {
  Runtime runtime(tests::seeded(1));
  std::vector<Pid> pids;
  for (int i = 0; i < 5; ++i) {
    pids.push_back(runtime.spawn<Clerk>());
    for (int n = 0; n < i * 10; ++n) runtime.send(pids.back(), n);
  }
  auto all = runtime.processes();
  std::ranges::sort(all, std::ranges::greater{}, &ProcessInfo::mailbox);
  EXPECT_EQ(all.front().pid, pids[4]);
  EXPECT_EQ(all.front().mailbox, 40U);
  runtime.run_ready();
  EXPECT_EQ(runtime.info(pids[4])->high_water, 40U);
}

TEST(Introspection, what_a_worker_runs_now_is_shown_with_its_message) {
  Runtime runtime(tests::threaded());
  std::atomic<bool> go{false};
  const Pid pid = runtime.spawn<Puppet>();
  runtime.send(pid, Do{[&](Self) {
                 while (!go) std::this_thread::yield();
               }});
  EXPECT_TRUE(tests::eventually([&] {
    const auto info = runtime.info(pid);
    return info->state == ProcessState::running && info->handling.find("Do") != std::string_view::npos;
  }));
  go = true;
  EXPECT_TRUE(tests::eventually([&] { return runtime.info(pid)->state == ProcessState::idle; }));
}

struct Nap {};
struct NapFirst {
  using Answer = void;
};
class Sleeper {
 public:
  Async<void> handle_cast(Self self, Nap /*note*/) {
    auto sleeping = self.sleep(seconds(1));
    co_await sleeping;
  }
  Async<void> handle_call(Self self, NapFirst /*request*/, Reply<void> reply) {
    auto sleeping = self.sleep(seconds(1));
    co_await sleeping;
    reply();
  }
};

TEST(Introspection, a_handler_that_waits_is_shown_with_its_message) {
  Runtime runtime(tests::seeded(1));
  const Pid pid = runtime.spawn<Sleeper>();
  runtime.run_ready();
  EXPECT_EQ(runtime.info(pid)->state, ProcessState::idle);
  runtime.cast<Sleeper>(pid, Nap{});
  runtime.run_ready();
  EXPECT_EQ(runtime.info(pid)->state, ProcessState::waiting);
  EXPECT_NE(runtime.info(pid)->handling.find("Nap"), std::string_view::npos);
  const ScratchFile file("waiting");
  ASSERT_TRUE(runtime.dump(file.path()));
  EXPECT_NE(contents(file.path()).find("Sleeper waiting"), std::string::npos) << contents(file.path());
  runtime.run_for(seconds(2));
  EXPECT_EQ(runtime.info(pid)->state, ProcessState::idle);
  EXPECT_EQ(runtime.info(pid)->handling, "");
  // One that answers later has let go of what it was asked.
  EXPECT_FALSE(runtime.call<Sleeper>(pid, NapFirst{}, milliseconds(100)));
  EXPECT_EQ(runtime.info(pid)->state, ProcessState::waiting);
  EXPECT_NE(runtime.info(pid)->handling.find("NapFirst"), std::string_view::npos);
  runtime.run_for(seconds(2));
  // One that is killed while it waits leaves nothing of that to the next in its slot.
  runtime.cast<Sleeper>(pid, Nap{});
  runtime.run_ready();
  runtime.exit(pid, ExitReason::kill());
  runtime.run_ready();
  Pid next;
  runtime.send(runtime.spawn<Puppet>(), Do{[&](Self self) { next = self.spawn<Sleeper>(); }});
  runtime.run_ready();
  EXPECT_EQ(next.slot(), pid.slot());
  EXPECT_EQ(runtime.info(next)->state, ProcessState::idle);
}

TEST(Introspection, the_most_that_ever_waited_is_one_if_all_came_alone) {
  Runtime runtime(tests::seeded(1));
  const Pid pid = runtime.spawn<Clerk>();
  runtime.run_ready();
  EXPECT_EQ(runtime.info(pid)->high_water, 0U);
  for (int i = 0; i < 3; ++i) {
    runtime.send(pid, i);
    EXPECT_EQ(runtime.info(pid)->high_water, 1U);
    runtime.run_ready();
  }
  EXPECT_EQ(runtime.info(pid)->high_water, 1U);
}

TEST(Introspection, handler_time_is_estimated_from_samples) {
  Runtime runtime(tests::threaded(1));
  const Pid pid = runtime.spawn<Puppet>();
  for (int i = 0; i < 300; ++i) {
    std::atomic<bool> done{false};
    runtime.send(pid, Do{[&](Self) {
                   tests::spin_for(std::chrono::microseconds(100));
                   done = true;
                 }});
    while (!done) std::this_thread::yield();
  }
  // 30 ms of work; one turn of some is timed.
  EXPECT_GT(runtime.info(pid)->handler_time, milliseconds(1));
}

TEST(Introspection, looking_at_processes_that_come_and_go_is_safe) {
  Runtime runtime(tests::threaded());
  std::atomic<bool> stop{false};
  std::thread looker([&] {
    while (!stop) {
      for (const ProcessInfo& info : runtime.processes()) ASSERT_FALSE(info.type.empty());
    }
  });
  for (int i = 0; i < 2'000; ++i) {
    const Pid pid = runtime.spawn<Clerk>();
    runtime.send(pid, 1);
    runtime.exit(pid, ExitReason::kill());
  }
  stop = true;
  looker.join();
}

TEST(Introspection, a_trace_records_the_next_messages_of_one_process) {
  Runtime runtime(tests::seeded(1));
  const Pid clerk = runtime.spawn<Clerk>();
  const Pid sender = runtime.spawn<Puppet>();
  runtime.send(clerk, 1);
  runtime.run_for(milliseconds(5));
  ASSERT_TRUE(runtime.trace(clerk, 3));
  runtime.send(sender, Do{[clerk](Self self) { self.send(clerk, std::string("x")); }});
  runtime.run_ready();
  runtime.cast<Clerk>(clerk, Order{});
  EXPECT_TRUE(runtime.call<Clerk>(clerk, ClerkQuestion{}));
  runtime.send(clerk, 4);
  runtime.run_ready();
  const auto trace = runtime.end_trace(clerk);
  ASSERT_EQ(trace.size(), 3U);
  EXPECT_EQ(trace[0].from, sender);
  EXPECT_EQ(trace[0].kind, "info");
  EXPECT_EQ(trace[0].at, Instant(milliseconds(5)));
  EXPECT_EQ(trace[1].kind, "cast");
  EXPECT_NE(trace[1].type.find("Order"), std::string_view::npos);
  EXPECT_EQ(trace[2].kind, "call");
  EXPECT_NE(trace[2].type.find("ClerkQuestion"), std::string_view::npos);
  EXPECT_TRUE(runtime.end_trace(clerk).empty());
  EXPECT_FALSE(runtime.trace(Pid{}, 1));
}

TEST(Dump, writes_every_process_to_a_file) {
  const ScratchFile file("dump");
  Runtime runtime(tests::seeded(1));
  SpawnOptions named;
  named.name = "the_clerk";
  const Pid clerk = runtime.spawn_with<Clerk>(named);
  runtime.send(clerk, 1);
  runtime.run_ready();
  runtime.send(clerk, 2);
  ASSERT_TRUE(runtime.dump(file.path()));
  const std::string text = contents(file.path());
  EXPECT_NE(text.find(clerk.text() + " the_clerk "), std::string::npos) << text;
  EXPECT_NE(text.find("mailbox=1"), std::string::npos) << text;
  EXPECT_NE(text.find("handled=1"), std::string::npos) << text;
  EXPECT_FALSE(runtime.dump("/nowhere/at/all"));
  EXPECT_FALSE(runtime.dump_on_fatal_signal("/nowhere/at/all"));
}

TEST(DumpDeathTest, on_a_fatal_signal_every_process_is_written_and_the_program_ends_as_it_would_have) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  // The child is another program run: the name must not depend on its own id.
  const std::string path = ::testing::TempDir() + "skein-fatal-dump";
  std::filesystem::remove(path);
  const auto crash = [&] {
    Runtime runtime(tests::threaded());
    if (!runtime.dump_on_fatal_signal(path)) std::exit(1);
    for (int i = 0; i < 3; ++i) runtime.spawn<Clerk>();
    const Pid pid = runtime.spawn_with<Puppet>({.name = "the_culprit"});
    runtime.send(pid, Do{[](Self) { std::raise(SIGFPE); }});
    std::this_thread::sleep_for(seconds(20));
  };
  EXPECT_EXIT(crash(), ::testing::KilledBySignal(SIGFPE), "");
  const std::string text = contents(path);
  std::filesystem::remove(path);
  EXPECT_NE(text.find("fatal signal 8"), std::string::npos) << text;
  EXPECT_NE(text.find("in process <0."), std::string::npos) << text;
  EXPECT_NE(text.find(" the_culprit\n"), std::string::npos) << text;
  EXPECT_NE(text.find(" idle parent=-"), std::string::npos) << text;
  EXPECT_NE(text.find("handling="), std::string::npos) << text;
  std::size_t clerks = 0;
  for (std::size_t at = text.find("Clerk"); at != std::string::npos; at = text.find("Clerk", at + 1)) ++clerks;
  EXPECT_EQ(clerks, 3U) << text;
}

// Volatile and used after the call: no compiler may turn it into a loop.
std::uint64_t use_up_the_stack(volatile std::uint64_t* depth) {  // NOLINT(misc-no-recursion)
  if (*depth == UINT64_MAX) return 0;
  volatile std::uint64_t here[64] = {*depth};
  *depth = *depth + 1;
  return use_up_the_stack(depth) + here[*depth % 64];
}

TEST(DumpDeathTest, a_stack_that_is_used_up_leaves_a_dump_too) {
  if (tests::k_sanitized) GTEST_SKIP() << "a sanitizer handles the end of the stack itself";
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const std::string path = ::testing::TempDir() + "skein-fatal-dump-stack";
  std::filesystem::remove(path);
  const auto crash = [&] {
    RuntimeOptions options = tests::threaded();
    options.dump_file = path;
    Runtime runtime(options);
    const Pid pid = runtime.spawn<Puppet>();
    runtime.send(pid, Do{[](Self) {
                   volatile std::uint64_t depth = 0;
                   use_up_the_stack(&depth);
                 }});
    std::this_thread::sleep_for(seconds(20));
  };
  EXPECT_EXIT(crash(), ::testing::KilledBySignal(SIGSEGV), "");
  EXPECT_NE(contents(path).find("fatal signal 11 in process <0."), std::string::npos) << contents(path);
  std::filesystem::remove(path);
}

TEST(Dump, the_dump_of_the_last_crash_stays_until_there_is_another) {
  const ScratchFile file("kept");
  std::ofstream(file.path()) << "of the last crash";
  const Runtime runtime([&] {
    RuntimeOptions options = tests::seeded(1);
    options.dump_file = file.path();
    return options;
  }());
  EXPECT_EQ(contents(file.path()), "of the last crash");
}

TEST(ProcessInfo, memory_counts_the_slot_a_large_state_and_what_waits) {
  struct Large {
    std::array<std::byte, 4096> room{};
    void handle_info(Self, Message) {}
  };
  Runtime runtime(tests::seeded(1));
  const Pid small = runtime.spawn<Clerk>();
  const Pid large = runtime.spawn<Large>();
  runtime.run_ready();
  const std::size_t before = runtime.info(small)->memory;
  EXPECT_EQ(before, 256U);
  EXPECT_EQ(runtime.info(large)->memory, 256U + 4096U);
  for (int i = 0; i < 10; ++i) runtime.send(small, i);
  EXPECT_EQ(runtime.info(small)->memory, before + 10 * 128);
}

TEST(Dump, a_runtime_that_is_gone_takes_its_signal_handlers_along) {
  const ScratchFile file("gone");
  {
    Runtime runtime(tests::seeded(1));
    ASSERT_TRUE(runtime.dump_on_fatal_signal(file.path()));
  }
  struct sigaction action{};
  ::sigaction(SIGFPE, nullptr, &action);
  EXPECT_EQ(action.sa_handler, SIG_DFL);
}

}  // namespace
}  // namespace skein
