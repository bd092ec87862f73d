// Links and monitors as a protocol: whatever two processes do to their link, both sides agree in the end.
#include "skein/base/random.hpp"
#include "skein/runtime/core.hpp"
#include "skein/runtime/testing.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace skein {
namespace {

using namespace tests;

bool linked(Runtime& runtime, Pid one, Pid other) {
  bool answer = false;
  runtime.send(one, Do{[&](Self self) { answer = detail::has_link(*self.slot(), other); }});
  runtime.run_ready();
  return answer;
}

std::size_t unacknowledged(Runtime& runtime, Pid one) {
  std::size_t count = 0;
  runtime.send(one, Do{[&](Self self) {
                 if (self.slot()->extension != nullptr) count = self.slot()->extension->unlinks.size();
               }});
  runtime.run_ready();
  return count;
}

// Two processes, each with its own list of links and unlinks, interleaved by the seed.
RC_GTEST_PROP(Ties, both_sides_of_a_link_agree_in_the_end, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const auto first = *rc::gen::container<std::vector<bool>>(rc::gen::arbitrary<bool>());
  const auto second = *rc::gen::container<std::vector<bool>>(rc::gen::arbitrary<bool>());
  Notebook seen;
  Runtime runtime(tests::seeded(seed));
  const Pid one = runtime.spawn<Puppet>(&seen, true);
  const Pid other = runtime.spawn<Puppet>(&seen, true);
  const auto order = [&](Pid whom, Pid partner, bool link) {
    runtime.send(whom, Do{[partner, link](Self self) { link ? self.link(partner) : self.unlink(partner); }});
  };
  Random random(seed);
  for (std::size_t i = 0; i < std::max(first.size(), second.size()); ++i) {
    if (i < first.size()) order(one, other, first[i]);
    if (i < second.size()) order(other, one, second[i]);
    // Some orders pile up, so that turns end in the middle of them and signals cross.
    if (random.chance(0.5)) runtime.step();
  }
  runtime.run_ready();
  const bool agreed = linked(runtime, one, other);
  RC_ASSERT(agreed == linked(runtime, other, one));
  RC_ASSERT(unacknowledged(runtime, one) == 0U);
  RC_ASSERT(unacknowledged(runtime, other) == 0U);
  RC_ASSERT(seen.lines().empty());
  // If only one of them did anything, its last word counts.
  if (second.empty() && !first.empty()) RC_ASSERT(agreed == first.back());
  runtime.exit(one, ExitReason::kill());
  runtime.run_ready();
  RC_ASSERT(seen.lines() == (agreed ? std::vector<std::string>{"exit killed"} : std::vector<std::string>{}));
}

// The same over many seeds with long lists: RapidCheck's are mostly short.
TEST(Ties, both_sides_agree_after_long_quarrels) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Runtime runtime(tests::seeded(seed));
    const Pid one = runtime.spawn<Puppet>(nullptr, true);
    const Pid other = runtime.spawn<Puppet>(nullptr, true);
    Random random(seed);
    for (int i = 0; i < 60; ++i) {
      const bool first = random.chance(0.5);
      const Pid partner = first ? other : one;
      const bool link = random.chance(0.5);
      runtime.send(first ? one : other,
                   Do{[partner, link](Self self) { link ? self.link(partner) : self.unlink(partner); }});
      if (random.chance(0.3)) runtime.step();
    }
    runtime.run_ready();
    ASSERT_EQ(linked(runtime, one, other), linked(runtime, other, one)) << "seed " << seed;
  }
}

TEST(Ties, unlinking_somebody_who_just_died_leaves_nothing_behind) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Notebook seen;
    Runtime runtime(tests::seeded(seed));
    const Pid one = runtime.spawn<Puppet>(&seen, true);
    const Pid other = runtime.spawn<Puppet>(&seen, true);
    runtime.send(one, Do{[other](Self self) { self.link(other); }});
    runtime.run_ready();
    runtime.exit(other, ExitReason::kill());
    runtime.send(one, Do{[other](Self self) { self.unlink(other); }});
    runtime.run_ready();
    ASSERT_FALSE(linked(runtime, one, other));
    ASSERT_EQ(unacknowledged(runtime, one), 0U) << "seed " << seed;
  }
}

// Is long in its terminate, which takes no mail.
class LongGoodbye {
 public:
  LongGoodbye(std::atomic<bool>* begun, std::atomic<bool>* may_end) : begun_(begun), may_end_(may_end) {}
  void handle_info(Self self, Message /*message*/) { self.stop(); }
  void terminate(Self /*self*/, const ExitReason& /*reason*/) {
    *begun_ = true;
    while (!*may_end_) std::this_thread::yield();
  }

 private:
  std::atomic<bool>* begun_;
  std::atomic<bool>* may_end_;
};

TEST(Ties, unlinking_somebody_at_the_very_end_leaves_nothing_behind) {
  std::atomic<bool> begun{false};
  std::atomic<bool> may_end{false};
  std::atomic<int> steps{0};
  std::atomic<std::size_t> left{1};
  Notebook seen;
  Runtime runtime(tests::threaded(2));
  const Pid one = runtime.spawn<Puppet>(&seen, true);
  const Pid other = runtime.spawn<LongGoodbye>(&begun, &may_end);
  runtime.send(one, Do{[&, other](Self self) {
                 self.link(other);
                 ++steps;
               }});
  ASSERT_TRUE(tests::eventually([&] { return steps == 1; }));
  runtime.send(other, 1);
  ASSERT_TRUE(tests::eventually([&] { return begun.load(); }));
  runtime.send(one, Do{[&, other](Self self) {
                 self.unlink(other);
                 ++steps;
               }});
  ASSERT_TRUE(tests::eventually([&] { return steps == 2; }));
  may_end = true;
  ASSERT_TRUE(tests::eventually([&] { return !runtime.is_alive(other); }));
  EXPECT_TRUE(tests::eventually(
      [&] {
        runtime.send(one, Do{[&left](Self self) { left = self.slot()->extension->unlinks.size(); }});
        return left == 0;
      },
      std::chrono::seconds(5)))
      << "nobody acknowledged it";
  EXPECT_EQ(seen.size(), 0U) << "no Exit came over the link";
}

TEST(Ties, many_links_and_monitors_of_one_process_all_fire) {
  constexpr int k_many = 1'000;
  Notebook seen;
  Runtime runtime(tests::seeded(3));
  const Pid hub = runtime.spawn<Puppet>();
  for (int i = 0; i < k_many; ++i) {
    const Pid one = runtime.spawn<Puppet>(&seen, true);
    runtime.send(one, Do{[hub](Self self) {
                   self.link(hub);
                   EXPECT_TRUE(self.monitor(hub));
                 }});
  }
  runtime.run_ready();
  runtime.exit(hub, ExitReason::custom("gone"));
  runtime.run_ready();
  const auto lines = seen.lines();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "exit gone"), k_many);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "down gone"), k_many);
}

// A failed start tells nobody but its starter; neither may it leave its link behind in the starter.
// Its state is too large for the slot.
class LargePuppet : public Puppet {
 public:
  using Puppet::Puppet;
  LargePuppet(Self self, Notebook* notebook, std::string first) : Puppet(notebook) {
    self.continue_with<LargePuppet>(std::move(first));
  }
  void handle_continue(Self self, std::string line) {
    self.send(self.pid(), std::move(line));
    if (++continued_[0] < 3) self.continue_with<LargePuppet>("and again");
  }

 private:
  std::array<int, 100> continued_{};  // the first counts, the others make it large
};

TEST(Ties, watchers_of_a_large_process_hear_of_its_end_unless_they_stopped_watching) {
  for (std::size_t watchers = 0; watchers <= 6; ++watchers) {
    for (std::size_t gone = 0; gone < (std::size_t{1} << watchers); ++gone) {
      Notebook seen;
      Runtime runtime(tests::seeded(1));
      const Pid large = runtime.spawn<LargePuppet>();
      std::size_t left = 0;
      for (std::size_t i = 0; i < watchers; ++i) {
        const Pid watcher = runtime.spawn<Puppet>(&seen);
        runtime.send(watcher, Do{[large, leaves = (gone >> i) % 2 == 1](Self self) {
                       const MonitorRef ref = self.monitor(large);
                       if (leaves) self.demonitor(ref);
                     }});
        left += (gone >> i) % 2 == 0 ? 1 : 0;
        // Whoever comes next takes a place that was left.
        runtime.run_ready();
      }
      runtime.exit(large, ExitReason::kill());
      runtime.run_ready();
      EXPECT_EQ(seen.lines(), std::vector<std::string>(left, "down killed")) << watchers << " watchers, " << gone;
    }
  }
}

TEST(Ties, a_large_process_continues_as_a_small_one_does) {
  Notebook seen;
  Runtime runtime(tests::seeded(1));
  runtime.spawn<LargePuppet>(&seen, std::string("first"));
  runtime.run_ready();
  EXPECT_EQ(seen.lines(), (std::vector<std::string>{"first", "and again", "and again"}));
  // One that ends before it could continue, and one that never ran, leave nothing behind.
  const Pid ended = runtime.spawn<LargePuppet>(&seen, std::string("never"));
  runtime.exit(ended, ExitReason::kill());
  runtime.run_ready();
  runtime.spawn<LargePuppet>(&seen, std::string("never"));
  EXPECT_EQ(seen.size(), 3U);
}

struct Failing {
  explicit Failing(int) { throw std::runtime_error("no"); }
};

Async<int> start_failing(Self self, int times) {
  SpawnOptions options;
  options.link = true;
  for (int i = 0; i < times; ++i) {
    auto starting = self.start<Failing>(options, i);
    const StartResult result = co_await starting;
    if (result) co_return -1;
  }
  const detail::Slot& slot = *self.slot();
  co_return (slot.first_link ? 1 : 0) +
      (slot.extension == nullptr ? 0 : static_cast<int>(slot.extension->links.size()));
}

TEST(Ties, failed_starts_leave_no_links_behind) {
  Runtime runtime(tests::seeded(1));
  EXPECT_EQ(runtime.run(&start_failing, 10).value(), 0);
}

// Real threads: a hub and its partners link, unlink and relink without pause; at the end all agree.
struct Toggle {
  Pid partner;
};
struct CountLinks {};
class Toggler {
 public:
  void handle_cast(Self self, Toggle toggle) {
    self.trap_exit(true);
    if (++times_ % 3 == 0) {
      self.unlink(toggle.partner);
    } else {
      self.link(toggle.partner);
    }
  }
  std::vector<Pid> handle_call(Self self, CountLinks /*request*/) {
    std::vector<Pid> links;
    const detail::Slot& slot = *self.slot();
    if (slot.first_link) links.push_back(slot.first_link);
    if (slot.extension != nullptr) {
      for (const std::uint64_t bits : slot.extension->links) links.push_back(Pid::from_bits(bits));
    }
    return links;
  }

 private:
  int times_ = 0;
};

TEST(Ties, both_sides_agree_after_a_storm_on_threads) {
  constexpr std::size_t k_togglers = 6;
  Runtime runtime(tests::threaded(3));
  std::array<Pid, k_togglers> togglers;
  for (Pid& pid : togglers) pid = runtime.spawn<Toggler>();
  Random random(42);
  const int rounds = tests::k_sanitized ? 2'000 : 20'000;
  for (int i = 0; i < rounds; ++i) {
    const auto one = random.below(k_togglers);
    const auto other = random.below(k_togglers);
    runtime.cast<Toggler>(togglers[one], Toggle{togglers[other]});
  }
  std::vector<std::vector<Pid>> links(k_togglers);
  // The first round of calls comes behind all casts, the second behind all signals these sent.
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < k_togglers; ++i) {
      links[i] = runtime.call<Toggler>(togglers[i], CountLinks{}).value();
    }
  }
  const auto has = [&](std::size_t one, std::size_t other) {
    return std::find(links[one].begin(), links[one].end(), togglers[other]) != links[one].end();
  };
  for (std::size_t one = 0; one < k_togglers; ++one) {
    for (std::size_t other = 0; other < k_togglers; ++other) {
      EXPECT_EQ(has(one, other), has(other, one)) << one << " and " << other;
    }
  }
  runtime.shutdown(std::chrono::milliseconds(100));
}

}  // namespace
}  // namespace skein
