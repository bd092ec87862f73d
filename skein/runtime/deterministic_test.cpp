#include "skein/runtime/deterministic.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "skein/runtime/testing.hpp"

namespace skein {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using namespace tests;

// Three that pass a ball on with timers, jobs and messages, and write down what happens.
class Player {
 public:
  Player(Notebook* notebook, int number) : notebook_(notebook), number_(number) {}
  Async<void> handle_info(Self self, Message message) {
    const int ball = *message.get_if<int>();
    notebook_->add(std::to_string(number_) + " has " + std::to_string(ball) + " at " +
                   std::to_string(self.now().time_since_epoch() / milliseconds(1)));
    if (ball % 3 == 0) {
      auto sleeping = self.sleep(milliseconds(ball));
      co_await sleeping;
    }
    if (ball % 5 == 0) {
      auto job = self.blocking([notebook = notebook_] { notebook->add("job"); });
      co_await job;
    }
    if (ball > 0) self.send(self.whereis(std::to_string((number_ + 1) % 3)), ball - 1);
  }

 private:
  Notebook* notebook_;
  int number_;
};

struct Record {
  std::vector<std::string> transcript;
  std::uint64_t fingerprint;
};

Record play(std::uint64_t seed) {
  Notebook notebook;
  Runtime runtime(tests::seeded(seed));
  for (int i = 0; i < 3; ++i) {
    const std::string name = std::to_string(i);
    SpawnOptions named;
    named.name = name;
    const Pid pid = runtime.spawn_with<Player>(named, &notebook, i);
    for (int ball = 0; ball < 4; ++ball) runtime.send(pid, 20 + ball);
  }
  runtime.run_until_idle();
  return Record{notebook.lines(), runtime.fingerprint()};
}

TEST(Deterministic, the_same_seed_gives_the_same_transcript_and_fingerprint) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Record first = play(seed);
    const Record second = play(seed);
    ASSERT_GT(first.transcript.size(), 200U);
    ASSERT_EQ(first.transcript, second.transcript);
    ASSERT_EQ(first.fingerprint, second.fingerprint);
  }
}

TEST(Deterministic, different_seeds_differ) {
  std::set<std::vector<std::string>> transcripts;
  std::set<std::uint64_t> fingerprints;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Record record = play(seed);
    transcripts.insert(record.transcript);
    fingerprints.insert(record.fingerprint);
  }
  EXPECT_GT(transcripts.size(), 45U);
  EXPECT_EQ(fingerprints.size(), 50U);
}

TEST(Deterministic, time_jumps_to_the_next_timer_and_no_further) {
  Notebook notebook;
  Runtime runtime(tests::seeded(1));
  const Pid pid = runtime.spawn<Puppet>(&notebook);
  const Instant begin = runtime.now();
  runtime.send(pid, Do{[](Self self) { self.send_after(hours(24 * 365), self.pid(), 1); }});
  runtime.run_ready();
  EXPECT_EQ(runtime.now(), begin);
  const Duration real = tests::real_time();
  runtime.run_until_idle();
  EXPECT_LT(tests::real_time() - real, seconds(10));
  EXPECT_EQ(runtime.now() - begin, hours(24 * 365));
  EXPECT_EQ(notebook.size(), 1U);
}

TEST(Deterministic, run_for_stops_the_clock_where_it_was_asked_to) {
  Runtime runtime(tests::seeded(1));
  const Instant begin = runtime.now();
  runtime.run_for(milliseconds(1'234));
  EXPECT_EQ(runtime.now() - begin, milliseconds(1'234));
  const Pid pid = runtime.spawn<Puppet>();
  runtime.send(pid, Do{[](Self self) { self.send_after(milliseconds(10), self.pid(), 1); }});
  runtime.run_for(milliseconds(5));
  EXPECT_EQ(runtime.now() - begin, milliseconds(1'239));
  EXPECT_EQ(runtime.info(pid)->handled, 1U);
  runtime.run_for(milliseconds(5));
  EXPECT_EQ(runtime.info(pid)->handled, 2U);
}

TEST(Deterministic, steps_are_counted_and_limited) {
  Runtime runtime(tests::seeded(1));
  EXPECT_FALSE(runtime.step());
  const Pid pid = runtime.spawn<Puppet>();
  runtime.send(pid, Do{[](Self self) { self.send_interval(milliseconds(1), self.pid(), 1); }});
  EXPECT_EQ(runtime.run_until_idle(50), 50U) << "an interval never ends: the limit does";
  EXPECT_TRUE(runtime.is_alive(pid));
}

TEST(Deterministic, calls_from_the_driving_thread_let_time_pass) {
  Runtime runtime(tests::seeded(1));
  const Instant begin = runtime.now();
  const Pid pid = runtime.spawn<Puppet>();
  EXPECT_EQ(runtime.wait_for_end(pid, seconds(7)), std::nullopt);
  EXPECT_EQ(runtime.now() - begin, seconds(7));
}

struct Read {};
struct Write {
  int value;
};

// A cell without an atomic increment: a process that reads and writes back may lose another's update.
class Cell {
 public:
  int handle_call(Self /*self*/, Read /*request*/) const { return value_; }
  void handle_call(Self /*self*/, Write write) { value_ = write.value; }

 private:
  int value_ = 0;
};

class Incrementer {
 public:
  explicit Incrementer(Pid cell) : cell_(cell) {}
  Async<void> handle_info(Self self, Message /*message*/) {
    auto reading = self.call<Cell>(cell_, Read{});
    const auto value = co_await reading;
    auto writing = self.call<Cell>(cell_, Write{value.value() + 1});
    const auto written = co_await writing;
    EXPECT_TRUE(written);
  }

 private:
  Pid cell_;
};

bool loses_an_update(std::uint64_t seed) {
  Runtime runtime(tests::seeded(seed));
  const Pid cell = runtime.spawn<Cell>();
  for (int i = 0; i < 2; ++i) runtime.send(runtime.spawn<Incrementer>(cell), 1);
  runtime.run_until_idle();
  return runtime.call<Cell>(cell, Read{}).value() != 2;
}

TEST(Deterministic, a_planted_race_is_found_by_some_seeds_and_reproduces) {
  std::optional<std::uint64_t> found;
  int losing = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    if (!loses_an_update(seed)) continue;
    ++losing;
    if (!found) found = seed;
  }
  ASSERT_TRUE(found);
  EXPECT_LT(losing, 300) << "some orders are right: it is the order that matters";
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(loses_an_update(*found)) << "seed " << *found;
}

TEST(Deterministic, may_be_driven_from_inside_a_process_of_another_runtime) {
  Runtime outer(tests::seeded(1));
  const Pid pid = outer.spawn<Puppet>();
  std::vector<std::string> inside;
  outer.send(pid, Do{[&](Self self) {
               inside = play(7).transcript;
               self.send(self.pid(), Do{[](Self again) { again.stop(); }});
             }});
  outer.run_ready();
  EXPECT_EQ(inside, play(7).transcript);
  EXPECT_FALSE(outer.is_alive(pid));
}

}  // namespace
}  // namespace skein
