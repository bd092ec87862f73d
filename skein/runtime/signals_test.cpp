#include "skein/runtime/core.hpp"
#include "skein/runtime/testing.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace skein {
namespace {

using std::chrono::milliseconds;
using namespace tests;
using Lines = std::vector<std::string>;

constexpr std::uint64_t k_seeds = 100;

// A deterministic runtime with two puppets: `watcher` writes down what it gets.
class Pair {
 public:
  Pair(std::uint64_t seed, bool trap)
      : runtime(tests::seeded(seed)),
        watcher(runtime.spawn<Puppet>(&seen, trap)),
        other(runtime.spawn<Puppet>(nullptr, false)) {
    runtime.run_ready();
  }
  void order(Pid whom, std::function<void(Self)> what) {
    runtime.send(whom, Do{std::move(what)});
    runtime.run_ready();
  }
  std::string end_of(Pid pid) { return runtime.wait_for_end(pid)->text(); }

  Notebook seen;
  Runtime runtime;
  Pid watcher;
  Pid other;
};

TEST(Signals, a_message_sent_before_death_arrives_before_the_exit) {
  for (std::uint64_t seed = 0; seed < k_seeds; ++seed) {
    Pair pair(seed, true);
    pair.order(pair.watcher, [&](Self self) { self.link(pair.other); });
    pair.order(pair.other, [&](Self self) {
      for (int i = 1; i <= 3; ++i) self.send(pair.watcher, i);
      self.stop(ExitReason::custom("done"));
    });
    ASSERT_EQ(pair.seen.lines(), (Lines{"1", "2", "3", "exit done"})) << "seed " << seed;
  }
}

TEST(Signals, a_message_sent_before_an_exit_signal_is_seen_before_it) {
  for (std::uint64_t seed = 0; seed < k_seeds; ++seed) {
    Pair pair(seed, true);
    pair.order(pair.other, [&](Self self) {
      self.send(pair.watcher, 1);
      self.exit(pair.watcher, ExitReason::custom("go"));
      self.send(pair.watcher, 2);
    });
    ASSERT_EQ(pair.seen.lines(), (Lines{"1", "exit go", "2"})) << "seed " << seed;
  }
}

TEST(Signals, a_monitor_of_the_dead_gives_noproc) {
  Pair pair(1, false);
  pair.runtime.exit(pair.other, ExitReason::kill());
  pair.runtime.run_ready();
  pair.order(pair.watcher, [&](Self self) {
    EXPECT_TRUE(self.monitor(pair.other));
    EXPECT_TRUE(self.monitor(Pid{}));
    EXPECT_TRUE(self.monitor(Pid(0, 77'777, 5)));
    EXPECT_TRUE(self.monitor(Pid(0, 77'777, 0)));
  });
  EXPECT_EQ(pair.seen.lines(), Lines(4, "down noproc"));
}

TEST(Signals, a_pid_of_another_node_is_nobody_here) {
  Pair pair(1, false);
  const Pid far(7, pair.other.slot(), pair.other.generation());
  EXPECT_EQ(pair.runtime.send(far, 1), SendResult::noproc);
  EXPECT_FALSE(pair.runtime.is_alive(far));
  pair.runtime.exit(far, ExitReason::kill());
  pair.order(pair.watcher, [far](Self self) { EXPECT_TRUE(self.monitor(far)); });
  EXPECT_TRUE(pair.runtime.is_alive(pair.other)) << "it has the same slot and generation, and is another";
  EXPECT_EQ(pair.seen.lines(), Lines{"down noproc"});
}

TEST(Signals, monitoring_twice_gives_two_downs) {
  Pair pair(2, false);
  pair.order(pair.watcher, [&](Self self) {
    const MonitorRef first = self.monitor(pair.other);
    const MonitorRef second = self.monitor(pair.other);
    EXPECT_NE(first, second);
  });
  pair.runtime.exit(pair.other, ExitReason::custom("gone"));
  pair.runtime.run_ready();
  EXPECT_EQ(pair.seen.lines(), (Lines{"down gone", "down gone"}));
}

TEST(Signals, demonitor_takes_back_one_of_two) {
  Pair pair(3, false);
  pair.order(pair.watcher, [&](Self self) {
    const MonitorRef first = self.monitor(pair.other);
    EXPECT_TRUE(self.monitor(pair.other));
    self.demonitor(first);
    self.demonitor(first);
    self.demonitor(MonitorRef{});
    self.demonitor(MonitorRef{12'345});
  });
  pair.runtime.exit(pair.other, ExitReason::custom("gone"));
  pair.runtime.run_ready();
  EXPECT_EQ(pair.seen.lines(), (Lines{"down gone"}));
}

TEST(Signals, demonitor_also_flushes_a_down_that_is_on_its_way) {
  Pair pair(4, false);
  pair.runtime.exit(pair.other, ExitReason::kill());
  pair.runtime.run_ready();
  pair.order(pair.watcher, [&](Self self) { self.demonitor(self.monitor(pair.other)); });
  EXPECT_EQ(pair.seen.lines(), Lines{});
}

struct Nap {
  Pid watched;
};

// Monitors, sleeps while the Down comes in and queues, and takes the monitor back.
class Napper {
 public:
  explicit Napper(Notebook* seen) : seen_(seen) {}
  Async<void> handle_cast(Self self, Nap nap) {
    const MonitorRef ref = self.monitor(nap.watched);
    auto sleeping = self.sleep(milliseconds(10));
    co_await sleeping;
    self.demonitor(ref);
    seen_->add("woke");
  }
  void handle_info(Self /*self*/, Message message) { seen_->add(std::string(message.type_name())); }

 private:
  Notebook* seen_;
};

TEST(Signals, demonitor_also_flushes_a_down_that_waits_in_the_queue) {
  for (std::uint64_t seed = 0; seed < k_seeds; ++seed) {
    Notebook seen;
    Runtime runtime(tests::seeded(seed));
    const Pid doomed = runtime.spawn<Puppet>();
    const Pid napper = runtime.spawn<Napper>(&seen);
    runtime.cast<Napper>(napper, Nap{doomed});
    runtime.run_ready();
    runtime.exit(doomed, ExitReason::kill());
    runtime.run_ready();
    ASSERT_EQ(runtime.mailbox_length(napper), 1U) << "the Down waits";
    runtime.run_for(milliseconds(20));
    ASSERT_EQ(seen.lines(), Lines{"woke"});
  }
}

Async<bool> await_none(Self self) {
  auto waiting = self.down(MonitorRef{}, milliseconds(10));
  const auto reason = co_await waiting;
  co_return reason.has_value();
}

TEST(Signals, a_wait_for_no_monitor_ends_with_its_time) {
  Runtime runtime(tests::seeded(1));
  const auto found = runtime.run(&await_none);
  ASSERT_TRUE(found) << "it waits for ever";
  EXPECT_FALSE(*found);
}

TEST(Signals, kill_can_not_be_trapped_and_those_linked_see_killed) {
  Pair pair(5, true);
  pair.order(pair.other, [](Self self) { self.trap_exit(true); });
  pair.order(pair.watcher, [&](Self self) {
    self.link(pair.other);
    EXPECT_TRUE(self.monitor(pair.other));
    self.exit(pair.other, ExitReason::kill());
  });
  EXPECT_FALSE(pair.runtime.is_alive(pair.other));
  const Lines seen = pair.seen.lines();
  EXPECT_EQ((std::map<std::string, int>{{seen.at(0), 1}, {seen.at(1), 1}}),
            (std::map<std::string, int>{{"exit killed", 1}, {"down killed", 1}}));
}

TEST(Signals, a_kill_that_comes_over_a_link_is_trappable_and_not_converted) {
  Pair pair(6, true);
  const Pid third = pair.runtime.spawn<Puppet>(nullptr, false);
  pair.order(pair.watcher, [&](Self self) {
    self.link(pair.other);
    EXPECT_TRUE(self.monitor(third));
  });
  pair.order(third, [&](Self self) { self.link(pair.other); });
  pair.order(pair.other, [](Self self) { self.stop(ExitReason::kill()); });
  const Lines seen = pair.seen.lines();
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0], "exit kill");
  EXPECT_EQ(seen[1], "down kill") << "the one that does not trap died of it, unconverted";
  EXPECT_TRUE(pair.runtime.is_alive(pair.watcher));
}

TEST(Signals, normal_is_dropped_unless_trapped) {
  Pair quiet(7, false);
  quiet.order(quiet.watcher, [&](Self self) { self.link(quiet.other); });
  quiet.order(quiet.other, [&](Self self) {
    self.exit(quiet.watcher, ExitReason::normal());
    self.stop();
  });
  EXPECT_TRUE(quiet.runtime.is_alive(quiet.watcher));
  EXPECT_EQ(quiet.seen.lines(), Lines{});

  Pair trapping(7, true);
  trapping.order(trapping.watcher, [&](Self self) { self.link(trapping.other); });
  trapping.order(trapping.other, [&](Self self) {
    self.exit(trapping.watcher, ExitReason::normal());
    self.stop();
  });
  EXPECT_EQ(trapping.seen.lines(), (Lines{"exit normal", "exit normal"}));
}

TEST(Signals, an_abnormal_exit_ends_those_linked_that_do_not_trap) {
  Pair pair(8, false);
  pair.order(pair.watcher, [&](Self self) { self.link(pair.other); });
  const Pid third = pair.runtime.spawn<Puppet>(&pair.seen, false);
  pair.order(third, [&](Self self) { EXPECT_TRUE(self.monitor(pair.watcher)); });
  pair.order(pair.other, [](Self) { throw std::runtime_error("boom"); });
  EXPECT_FALSE(pair.runtime.is_alive(pair.watcher));
  ASSERT_EQ(pair.seen.size(), 1U);
  EXPECT_NE(pair.seen.lines()[0].find("std::runtime_error: boom"), std::string::npos) << pair.seen.lines()[0];
}

TEST(Signals, exit_to_oneself_ends_one_even_with_normal) {
  Pair pair(9, false);
  pair.order(pair.watcher, [](Self self) { self.exit(self.pid(), ExitReason::normal()); });
  EXPECT_FALSE(pair.runtime.is_alive(pair.watcher));
  pair.order(pair.other, [](Self self) { self.exit(self.pid(), ExitReason::kill()); });
  EXPECT_FALSE(pair.runtime.is_alive(pair.other));
}

TEST(Signals, exit_to_oneself_is_trappable_like_any) {
  Pair pair(10, true);
  pair.order(pair.watcher, [](Self self) { self.exit(self.pid(), ExitReason::custom("x")); });
  EXPECT_EQ(pair.seen.lines(), Lines{"exit x"});
}

TEST(Signals, linking_to_the_dead_is_an_exit_of_noproc) {
  Pair pair(11, true);
  pair.runtime.exit(pair.other, ExitReason::kill());
  pair.runtime.run_ready();
  pair.order(pair.watcher, [&](Self self) { self.link(pair.other); });
  EXPECT_EQ(pair.seen.lines(), Lines{"exit noproc"});
  pair.order(pair.watcher, [&](Self self) {
    self.trap_exit(false);
    self.link(pair.other);
  });
  EXPECT_FALSE(pair.runtime.is_alive(pair.watcher));
}

TEST(Signals, linking_and_monitoring_oneself_or_nobody_is_harmless) {
  Pair pair(12, false);
  pair.order(pair.watcher, [](Self self) {
    self.link(self.pid());
    self.link(Pid{});
    self.unlink(self.pid());
    self.unlink(Pid{});
    EXPECT_TRUE(self.monitor(self.pid()));
    self.exit(Pid{}, ExitReason::kill());
    EXPECT_EQ(self.send(Pid{}, 1), SendResult::noproc);
  });
  EXPECT_TRUE(pair.runtime.is_alive(pair.watcher));
  pair.order(pair.watcher, [](Self self) { self.stop(ExitReason::custom("end")); });
  EXPECT_FALSE(pair.runtime.is_alive(pair.watcher));
}

TEST(Signals, nothing_comes_over_a_link_that_was_taken_back) {
  for (std::uint64_t seed = 0; seed < k_seeds; ++seed) {
    Pair pair(seed, true);
    pair.order(pair.watcher, [&](Self self) { self.link(pair.other); });
    // The order is given while the other one's death is under way.
    pair.runtime.exit(pair.other, ExitReason::custom("gone"));
    pair.runtime.send(pair.watcher, Do{[&](Self self) {
                        self.unlink(pair.other);
                        self.send(self.pid(), std::string("unlinked"));
                      }});
    pair.runtime.run_ready();
    const Lines seen = pair.seen.lines();
    ASSERT_TRUE(seen == Lines{"unlinked"} || seen == (Lines{"exit gone", "unlinked"}))
        << "seed " << seed << ": " << ::testing::PrintToString(seen);
  }
}

struct Said {
  Pid by;
  int number;
};

constexpr int k_words = 5;

struct Talker {
  Talker(Self self, Pid to) {
    for (int i = 0; i < k_words; ++i) self.send(to, Said{self.pid(), i});
    self.stop(i_am_done());
  }
  static ExitReason i_am_done() { return ExitReason::custom("done"); }
};

// Keeps some linked, monitored talkers going and checks the order of everything each of them sent.
class Listener {
 public:
  Listener(Self self, int talkers, std::atomic<int>* finished, std::atomic<int>* wrong)
      : left_(talkers), finished_(finished), wrong_(wrong) {
    self.trap_exit(true);
    for (int i = 0; i < 16; ++i) spawn_talker(self);
  }
  void handle_info(Self self, Message message) {
    if (const auto* said = message.get_if<Said>()) {
      if (heard_[said->by.bits()]++ != said->number) ++*wrong_;
    } else if (const auto* exit = message.get_if<Exit>()) {
      ended(self, exit->from);
    } else if (const auto* down = message.get_if<Down>()) {
      ended(self, down->pid);
    }
  }

 private:
  void spawn_talker(Self self) {
    if (left_ == 0) return;
    --left_;
    ++alive_;
    SpawnOptions options;
    options.link = true;
    options.monitor = true;
    self.spawn_with<Talker>(options, self.pid());
  }
  void ended(Self self, Pid talker) {
    // The Exit and the Down both come after the words.
    int& count = heard_[talker.bits()];
    if (count % 100 != k_words) ++*wrong_;
    count += 100;
    if (count < 200) return;
    heard_.erase(talker.bits());
    --alive_;
    spawn_talker(self);
    if (alive_ == 0) ++*finished_;
  }

  int left_;
  int alive_ = 0;
  std::map<std::uint64_t, int> heard_;
  std::atomic<int>* finished_;
  std::atomic<int>* wrong_;
};

TEST(Signals, words_then_exit_holds_under_load_on_threads) {
  constexpr int k_listeners = 8;
  constexpr int k_talkers = tests::k_sanitized ? 500 : 5'000;
  std::atomic<int> finished{0};
  std::atomic<int> wrong{0};
  Runtime runtime(tests::threaded(3));
  for (int i = 0; i < k_listeners; ++i) runtime.spawn<Listener>(k_talkers, &finished, &wrong);
  EXPECT_TRUE(tests::eventually([&] { return finished == k_listeners; }, std::chrono::seconds(60)));
  EXPECT_EQ(wrong, 0);
  runtime.shutdown(milliseconds(100));
}

}  // namespace
}  // namespace skein
