// Turns that take long although no handler does: they are cut, so that others run, and nobody is called stuck for them.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "skein/runtime/runtime.hpp"
#include "skein/runtime/testing.hpp"
#include "skein/runtime/workers.hpp"

namespace skein {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using namespace tests;

// Takes messages and never comes back from the first.
struct Sunk {
  Async<void> handle_info(Self self, Message /*message*/) {
    auto sleeping = self.sleep(k_forever);
    co_await sleeping;
  }
};

TEST(LongTurns, a_flood_costs_its_sender_turns_however_many_messages_it_sends_in_one) {
  constexpr int k_messages = 600'000;  // at the highest price each, more than an int32 holds
  std::atomic<int> budget{0};
  std::atomic<bool> done{false};
  Runtime runtime(tests::threaded(1));
  const Pid sunk = runtime.spawn<Sunk>();
  const Pid sender = runtime.spawn<Puppet>();
  runtime.send(sender, Do{[&, sunk](Self self) {
                 for (int i = 0; i < k_messages; ++i) self.send(sunk, i);
                 budget = detail::t_turn.budget;
                 done = true;
               }});
  ASSERT_TRUE(tests::eventually([&] { return done.load(); }));
  EXPECT_LT(budget, 0) << "its turn is over, and the next ones too";
}

struct Drop {};

// Handles one message after the other once it may, and counts.
struct Taker {
  std::atomic<bool>* may;
  std::atomic<int>* handled;
  Taker(std::atomic<bool>* go, std::atomic<int>* count) : may(go), handled(count) {}
  void handle_info(Self /*self*/, Message /*message*/) const {
    while (!*may) std::this_thread::yield();
    ++*handled;
  }
};

// In messages that others got done: 4,096 of budget would be sixteen turns, and as many of the sink's.
TEST(LongTurns, who_has_one_message_for_a_long_queue_need_not_wait_for_it) {
  constexpr int k_turn = 256;
  std::atomic<bool> go{false};
  std::atomic<int> handled{0};
  std::atomic<int> waited{-1};
  Runtime runtime(tests::threaded(1));
  const Pid sink = runtime.spawn<Taker>(&go, &handled);
  const Pid sender = runtime.spawn<Puppet>();
  for (int i = 0; i < 100 * k_turn; ++i) runtime.send(sink, Drop{});
  runtime.send(sender, Do{[&, sink](Self self) {
                 const int before = handled;
                 self.send(sink, Drop{});
                 self.send(self.pid(), Do{[&, before](Self) { waited = handled - before; }});
               }});
  go = true;
  ASSERT_TRUE(tests::eventually([&] { return waited >= 0; }));
  EXPECT_LT(waited, 4 * k_turn);
}

// A flood that goes on until it is told to stop, and counts.
struct Flood {
  std::atomic<bool> stop{false};
  std::atomic<int> handled{0};

  void take_time() {
    tests::spin_for(milliseconds(2));
    ++handled;
  }
};

// Always has a hundred messages waiting, and takes its time over each.
class SlowFlooder {
 public:
  SlowFlooder(Self self, Flood* flood) : flood_(flood) {
    for (int i = 0; i < 100; ++i) self.send(self.pid(), Drop{});
  }
  void handle_info(Self self, Message /*message*/) {
    if (flood_->stop) return;
    flood_->take_time();
    self.send(self.pid(), Drop{});
  }

 private:
  Flood* flood_;
};

// The same in one handler, which lets others run whenever it may go on.
class SlowYielder {
 public:
  explicit SlowYielder(Flood* flood) : flood_(flood) {}
  Async<void> handle_info(Self self, Message /*message*/) {
    while (!flood_->stop) {
      flood_->take_time();
      auto yielding = self.yield();
      co_await yielding;
    }
  }

 private:
  Flood* flood_;
};

struct Knock {};
struct Porter {
  bool handle_call(Self /*self*/, Knock /*request*/) { return true; }
};

// How much of the flood was handled, at most, while a call waited.
int longest_wait(Runtime& runtime, Pid porter, const Flood& flood) {
  int longest = 0;
  for (int i = 0; i < 5; ++i) {
    // It must have gone to rest: a call that comes in its turn is answered in that turn.
    std::this_thread::sleep_for(milliseconds(5));
    const int before = flood.handled;
    EXPECT_TRUE(runtime.call<Porter>(porter, Knock{}, seconds(20)));
    longest = std::max(longest, flood.handled - before);
  }
  return longest;
}

// Counted, not timed: on a machine that is busy with other things 50 ms are soon over. A turn that nobody cuts lasts
// for 2,000 messages or 4 s here, one that is cut for 5 to 10 when the machine is quiet.
template <class Slow>
void expect_others_run_beside() {
  constexpr int k_many = 100;
  for (const unsigned workers : {1U, 2U}) {
    Flood flood;
    std::atomic<int> reports{0};
    RuntimeOptions options = tests::threaded(workers);
    options.turn_budget = 2'000;
    options.handler_warning = seconds(2);
    options.report_stuck = [&reports](const StuckReport&) { ++reports; };
    Runtime runtime(options);
    const Pid porter = runtime.spawn<Porter>();
    for (unsigned i = 0; i < workers; ++i) runtime.send(runtime.spawn<Slow>(&flood), Drop{});
    EXPECT_TRUE(tests::eventually([&flood] { return flood.handled > 0; }));
    int fewest = k_many * 1'000;
    for (int i = 0; i < 3 && fewest >= k_many; ++i) fewest = std::min(fewest, longest_wait(runtime, porter, flood));
    flood.stop = true;
    EXPECT_LT(fewest, k_many) << workers << " workers, all busy with slow messages";
    EXPECT_EQ(reports, 0) << "no handler took longer than 2 ms";
  }
}

TEST(LongTurns, a_flood_of_slow_messages_keeps_nobody_from_running_and_is_not_called_stuck) {
  expect_others_run_beside<SlowFlooder>();
}

// Quick messages: no turn is cut, and sixteen whole ones would be 4,096 of them.
class QuickFlooder {
 public:
  QuickFlooder(Self self, Flood* flood) : flood_(flood) {
    for (int i = 0; i < 10; ++i) self.send(self.pid(), Drop{});
  }
  void handle_info(Self self, Message /*message*/) {
    if (flood_->stop) return;
    ++flood_->handled;
    tests::spin_for(std::chrono::microseconds(12));
    self.send(self.pid(), Drop{});
  }

 private:
  Flood* flood_;
};

// The same for several who call at the same time.
int longest_wait_of(int callers, Runtime& runtime, const Flood& flood) {
  std::vector<int> longest(static_cast<std::size_t>(callers));
  std::vector<std::thread> threads;
  threads.reserve(longest.size());
  for (int& each : longest) {
    const Pid porter = runtime.spawn<Porter>();
    threads.emplace_back([&, porter] { each = longest_wait(runtime, porter, flood); });
  }
  for (auto& thread : threads) thread.join();
  return std::ranges::max(longest);
}

TEST(LongTurns, a_flood_of_quick_messages_does_not_keep_those_who_call_from_outside) {
  constexpr int k_turns = 4 * 256;
  for (const int callers : {1, 8}) {
    Flood flood;
    Runtime runtime(tests::threaded(1));
    runtime.spawn<QuickFlooder>(&flood);
    EXPECT_TRUE(tests::eventually([&flood] { return flood.handled > 0; }));
    int fewest = 1'000'000;
    for (int i = 0; i < 5 && fewest >= k_turns; ++i) {
      fewest = std::min(fewest, longest_wait_of(callers, runtime, flood));
    }
    flood.stop = true;
    EXPECT_LT(fewest, k_turns) << callers << " called, and waited for as many messages of another";
  }
}

// One of two that pass a message to and fro: each turn is one, and shorter than what is cut.
class Plodder {
 public:
  explicit Plodder(Flood* flood) : flood_(flood) {}
  Plodder(Self self, Flood* flood, Pid other) : flood_(flood) { self.send(other, Drop{}); }
  void handle_info(Self self, Message message) {
    if (flood_->stop) return;
    tests::spin_for(milliseconds(9));
    ++flood_->handled;
    self.send(message.from(), Drop{});
  }

 private:
  Flood* flood_;
};

// Counted in messages of others: sixteen turns would be as many.
TEST(LongTurns, many_short_turns_do_not_keep_those_who_call_from_outside) {
  constexpr int k_few = 10;
  constexpr int k_pairs = 20;
  Flood flood;
  Runtime runtime(tests::threaded(1));
  const Pid porter = runtime.spawn<Porter>();
  for (int i = 0; i < k_pairs; ++i) runtime.spawn<Plodder>(&flood, runtime.spawn<Plodder>(&flood));
  EXPECT_TRUE(tests::eventually([&flood] { return flood.handled > k_pairs; }));
  int fewest = 1'000;
  for (int i = 0; i < 4 && fewest >= k_few; ++i) {
    int longest = 0;
    for (int n = 0; n < 3; ++n) longest = std::max(longest, longest_wait(runtime, porter, flood));
    fewest = std::min(fewest, longest);
  }
  flood.stop = true;
  EXPECT_LT(fewest, k_few);
}

TEST(LongTurns, a_slow_loop_that_yields_keeps_nobody_from_running_either) { expect_others_run_beside<SlowYielder>(); }

// Keeps its process busy until somebody has complained about it.
void dawdle(const std::atomic<int>& reports) {
  const int before = reports;
  const Duration until = tests::real_time() + seconds(10);
  while (reports == before && tests::real_time() < until) tests::spin_for(milliseconds(1));
}

struct Quick {};
struct Drawn {
  const std::atomic<int>* reports;
};
// Takes long only after it has waited, while others have been handled where it goes on.
struct Dawdler {
  void handle_cast(Self /*self*/, Quick /*note*/) {}
  Async<void> handle_cast(Self self, Drawn note) {
    auto sleeping = self.sleep(milliseconds(300));
    co_await sleeping;
    dawdle(*note.reports);
  }
};
struct SlowBorn {
  explicit SlowBorn(const std::atomic<int>* reports) { dawdle(*reports); }
};
struct SlowDead {
  explicit SlowDead(const std::atomic<int>* to_watch) : reports(to_watch) {}
  void terminate(Self /*self*/, const ExitReason& /*reason*/) const { dawdle(*reports); }
  void handle_info(Self self, Message /*message*/) { self.stop(); }
  const std::atomic<int>* reports;
};

TEST(LongTurns, a_report_names_what_its_own_process_is_at) {
  std::mutex mutex;
  std::vector<std::string> lines;
  std::atomic<int> reports{0};
  RuntimeOptions options = tests::threaded(1);
  options.handler_warning = milliseconds(50);
  options.report_stuck = [&](const StuckReport& report) {
    const std::scoped_lock lock(mutex);
    lines.push_back(report.type.substr(report.type.rfind(':') + 1) + " " +
                    report.handling.substr(report.handling.rfind(':') + 1));
    ++reports;
  };
  const auto told = [&](const std::string& line) {
    return tests::eventually([&] {
      const std::scoped_lock lock(mutex);
      return std::find(lines.begin(), lines.end(), line) != lines.end();
    });
  };
  Runtime runtime(options);
  const Pid quick = runtime.spawn<Dawdler>();
  const Pid drawn = runtime.spawn<Dawdler>();
  runtime.cast<Dawdler>(drawn, Drawn{&reports});
  EXPECT_TRUE(tests::eventually([&] { return runtime.info(drawn)->handled == 1; }));
  runtime.cast<Dawdler>(quick, Quick{});
  EXPECT_TRUE(told("Dawdler Drawn"));
  runtime.cast<Dawdler>(quick, Quick{});
  runtime.spawn<SlowBorn>(&reports);
  EXPECT_TRUE(told("SlowBorn init"));
  const Pid dying = runtime.spawn<SlowDead>(&reports);
  runtime.send(dying, 1);
  EXPECT_TRUE(told("SlowDead terminate"));
}

}  // namespace
}  // namespace skein
