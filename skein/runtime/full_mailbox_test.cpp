// Bounded mailboxes: the three policies, and what gets in regardless.
#include "skein/runtime/testing.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace skein {
namespace {

using std::chrono::milliseconds;
using namespace tests;
using Lines = std::vector<std::string>;

SpawnOptions bounded(std::uint32_t limit, FullMailbox policy) {
  SpawnOptions options;
  options.mailbox_limit = limit;
  options.when_full = policy;
  return options;
}

struct Question {};
class Quiet {
 public:
  explicit Quiet(Notebook* seen) : seen_(seen) {}
  int handle_call(Self /*self*/, Question /*request*/) { return 1; }
  void handle_info(Self /*self*/, Message message) { seen_->add(std::to_string(*message.get_if<int>())); }

 private:
  Notebook* seen_;
};

TEST(FullMailbox, rejects_to_the_sender_who_learns_it_from_the_result) {
  Notebook seen;
  Runtime runtime(tests::seeded(1));
  const Pid pid = runtime.spawn_with<Puppet>(bounded(3, FullMailbox::reject), &seen);
  for (int i = 1; i <= 3; ++i) EXPECT_EQ(runtime.send(pid, i), SendResult::ok);
  EXPECT_EQ(runtime.send(pid, 4), SendResult::full);
  EXPECT_EQ(runtime.send(pid, 5), SendResult::full);
  runtime.run_ready();
  EXPECT_EQ(seen.lines(), (Lines{"1", "2", "3"}));
  EXPECT_EQ(runtime.send(pid, 6), SendResult::ok) << "there is room again";
}

TEST(FullMailbox, drop_newest_drops_and_says_so) {
  Notebook seen;
  Runtime runtime(tests::seeded(1));
  const Pid pid = runtime.spawn_with<Puppet>(bounded(2, FullMailbox::drop_newest), &seen);
  EXPECT_EQ(runtime.send(pid, 1), SendResult::ok);
  EXPECT_EQ(runtime.send(pid, 2), SendResult::ok);
  EXPECT_EQ(runtime.send(pid, 3), SendResult::dropped);
  runtime.run_ready();
  EXPECT_EQ(seen.lines(), (Lines{"1", "2"}));
}

TEST(FullMailbox, drop_oldest_makes_room_for_the_newest) {
  Notebook seen;
  Runtime runtime(tests::seeded(1));
  const Pid pid = runtime.spawn_with<Puppet>(bounded(3, FullMailbox::drop_oldest), &seen);
  for (int i = 1; i <= 6; ++i) EXPECT_EQ(runtime.send(pid, i), SendResult::ok) << i;
  EXPECT_EQ(runtime.send(pid, 7), SendResult::dropped) << "at twice the limit";
  runtime.run_ready();
  EXPECT_EQ(seen.lines(), (Lines{"4", "5", "6"}));
}

TEST(FullMailbox, a_call_that_is_dropped_as_the_oldest_is_answered_with_mailbox_full) {
  Notebook seen;
  Runtime runtime(tests::threaded());
  std::atomic<bool> go{false};
  std::atomic<bool> busy{false};
  const Pid pid = runtime.spawn_with<Puppet>(bounded(2, FullMailbox::drop_oldest), &seen);
  runtime.send(pid, tests::Do{[&](Self) {
                 busy = true;
                 while (!go) std::this_thread::yield();
               }});
  ASSERT_TRUE(tests::eventually([&] { return busy.load(); }));
  std::expected<int, CallError> answer;
  std::thread caller([&] { answer = runtime.call<Quiet>(pid, Question{}); });
  ASSERT_TRUE(tests::eventually([&] { return runtime.mailbox_length(pid) == 1; }));
  runtime.send(pid, 1);
  runtime.send(pid, 2);
  go = true;
  caller.join();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().failure, CallFailure::mailbox_full);
}

TEST(FullMailbox, a_call_to_a_full_one_fails_at_once) {
  Notebook seen;
  Runtime runtime(tests::seeded(1));
  const Pid pid = runtime.spawn_with<Quiet>(bounded(1, FullMailbox::reject), &seen);
  runtime.send(pid, 1);
  const auto answer = runtime.call<Quiet>(pid, Question{});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().failure, CallFailure::mailbox_full);
  EXPECT_EQ(answer.error().text(), "the server's mailbox is full");
}

TEST(FullMailbox, signals_always_get_in) {
  for (const FullMailbox policy : {FullMailbox::reject, FullMailbox::drop_newest, FullMailbox::drop_oldest}) {
    Notebook seen;
    Notebook watched;
    Runtime runtime(tests::seeded(1));
    const Pid watcher = runtime.spawn<Puppet>(&watched, true);
    const Pid pid = runtime.spawn_with<Puppet>(bounded(1, policy), &seen);
    runtime.send(pid, 1);
    // While it is full: a monitor, a link, and an exit signal.
    runtime.send(watcher, tests::Do{[pid](Self self) {
                   EXPECT_TRUE(self.monitor(pid));
                   self.link(pid);
                   self.exit(pid, ExitReason::custom("out"));
                 }});
    runtime.run_ready();
    EXPECT_FALSE(runtime.is_alive(pid));
    EXPECT_EQ(watched.size(), 2U);
  }
}

struct Beat {};
struct Pause {};

// Reminds itself time and again, as many processes do.
struct Ticker {
  int* beats;
  Ticker(Self self, int* count) : beats(count) { self.send_after(milliseconds(1), self.pid(), Beat{}); }
  void handle_info(Self self, Message message) {
    if (!message.is<Beat>()) return;
    ++*beats;
    self.send_after(milliseconds(1), self.pid(), Beat{});
  }
  Async<void> handle_cast(Self self, Pause /*request*/) {
    auto sleeping = self.sleep(milliseconds(20));
    co_await sleeping;
  }
};

TEST(FullMailbox, what_a_process_reminds_itself_of_always_gets_in) {
  int beats = 0;
  Runtime runtime(tests::seeded(1));
  SpawnOptions options;
  options.mailbox_limit = 2;
  const Pid ticker = runtime.spawn_with<Ticker>(options, &beats);
  runtime.run_for(milliseconds(10));
  const int before = beats;
  EXPECT_GT(before, 0);
  runtime.cast<Ticker>(ticker, Pause{});
  runtime.run_ready();
  EXPECT_EQ(runtime.send(ticker, 1), SendResult::ok);
  EXPECT_EQ(runtime.send(ticker, 1), SendResult::ok);
  EXPECT_EQ(runtime.send(ticker, 1), SendResult::full);
  runtime.run_for(milliseconds(100));
  EXPECT_GT(beats, before + 1) << "one full moment ended it for good";
}

TEST(FullMailbox, what_a_signal_became_is_not_dropped_to_make_room) {
  Notebook seen;
  Runtime runtime(tests::seeded(1));
  const Pid other = runtime.spawn<Puppet>();
  const Pid pid = runtime.spawn_with<Puppet>(bounded(2, FullMailbox::drop_oldest), &seen);
  runtime.send(pid, tests::Do{[other](Self self) {
                 self.trap_exit(true);
                 self.link(other);
               }});
  runtime.run_ready();
  // Its exit comes first and is the oldest by far.
  runtime.send(other, tests::Do{[pid](Self self) {
                 self.exit(pid, ExitReason::custom("kept"));
                 for (int i = 1; i <= 3; ++i) self.send(pid, i);
               }});
  runtime.run_ready();
  const Lines lines = seen.lines();
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines.front(), "exit kept");
  EXPECT_EQ(lines.back(), "3");
}

TEST(FullMailbox, the_runtimes_limit_holds_where_none_was_chosen) {
  RuntimeOptions options = tests::seeded(1);
  options.mailbox_limit = 10;
  Runtime runtime(options);
  const Pid pid = runtime.spawn<Puppet>();
  int accepted = 0;
  while (runtime.send(pid, accepted) == SendResult::ok) ++accepted;
  EXPECT_EQ(accepted, 10);
}

class Counter {
 public:
  explicit Counter(std::atomic<int>* count) : count_(count) {}
  void handle_info(Self /*self*/, Message /*message*/) { count_->fetch_add(1, std::memory_order_relaxed); }

 private:
  std::atomic<int>* count_;
};

TEST(FullMailbox, a_million_messages_are_each_handled_or_told_as_rejected) {
  constexpr int k_messages = tests::k_sanitized ? 100'000 : 1'000'000;
  std::atomic<int> handled{0};
  Runtime runtime(tests::threaded());
  const Pid pid = runtime.spawn_with<Counter>(bounded(1'000, FullMailbox::reject), &handled);
  std::atomic<int> accepted{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      int mine = 0;
      for (int i = 0; i < k_messages / 2; ++i) mine += runtime.send(pid, i) == SendResult::ok ? 1 : 0;
      accepted += mine;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(tests::eventually([&] { return handled == accepted; }));
  EXPECT_GT(accepted, 0);
  // Two senders may pass the limit by what both had read before; never by more than a few.
  EXPECT_LE(runtime.info(pid)->high_water, 2'010U);
}

TEST(FullMailbox, a_million_from_a_process_to_one_that_never_reads_stop_at_the_limit) {
  Runtime runtime(tests::seeded(1));
  const Pid sink = runtime.spawn_with<Puppet>(bounded(1'000, FullMailbox::reject));
  const Pid source = runtime.spawn<Puppet>();
  int accepted = 0;
  int rejected = 0;
  runtime.send(source, tests::Do{[&](Self self) {
                 for (int i = 0; i < 1'000'000; ++i) {
                   (self.send(sink, i) == SendResult::ok ? accepted : rejected) += 1;
                 }
               }});
  while (accepted + rejected < 1'000'000) ASSERT_TRUE(runtime.step());
  // The sink may have run before, never in between.
  EXPECT_EQ(accepted, 1'000);
  EXPECT_EQ(rejected, 999'000);
  EXPECT_TRUE(runtime.is_alive(source)) << "a full mailbox never ends the sender";
}

}  // namespace
}  // namespace skein
