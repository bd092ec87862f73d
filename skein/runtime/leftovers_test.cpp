// What is over must leave nothing behind: monitors of the dead, Downs that were awaited, timers that were cancelled.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <tuple>
#include <vector>

#include "skein/runtime/core.hpp"
#include "skein/runtime/testing.hpp"

namespace skein {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using namespace tests;

const Pid k_nobody(0, 5, 3);

std::size_t watchers_of(Runtime& runtime, Pid pid) {
  const detail::Slot& slot = *runtime.core().table.find(pid);
  const std::size_t more = slot.extension == nullptr ? 0 : slot.extension->watchers.size();
  return more + (slot.first_watcher.pid ? 1 : 0);
}

TEST(Leftovers, whoever_dies_is_forgotten_by_those_it_watched) {
  Runtime runtime(tests::seeded(1));
  const Pid hub = runtime.spawn<Puppet>();
  for (int i = 0; i < 1'000; ++i) {
    const Pid one = runtime.spawn<Puppet>();
    runtime.send(one, Do{[hub](Self self) {
                   for (int times = 0; times < 3; ++times) std::ignore = self.monitor(hub);
                   self.stop();
                 }});
  }
  runtime.run_ready();
  ASSERT_EQ(runtime.process_count(), 1U);
  EXPECT_EQ(watchers_of(runtime, hub), 0U);
}

TEST(Leftovers, waiting_for_an_end_in_vain_leaves_nothing) {
  Runtime runtime(tests::seeded(1));
  const Pid hub = runtime.spawn<Puppet>();
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(runtime.wait_for_end(hub, milliseconds(1)));
  runtime.run_ready();
  EXPECT_EQ(watchers_of(runtime, hub), 0U);
}

// Each costs the same however many there are; 100,000 took seconds when each was looked for.
TEST(Leftovers, many_monitors_of_one_process_are_taken_back_in_any_order) {
  Runtime runtime(tests::seeded(1));
  const Pid hub = runtime.spawn<Puppet>();
  const Pid watcher = runtime.spawn<Puppet>();
  runtime.send(watcher, Do{[hub](Self self) {
                 std::vector<MonitorRef> all;
                 for (int i = 0; i < 100'000; ++i) all.push_back(self.monitor(hub));
                 for (std::size_t i = 0; i < all.size(); ++i) self.demonitor(all[(i * 7'919) % all.size()]);
               }});
  runtime.run_ready();
  EXPECT_EQ(watchers_of(runtime, hub), 0U);
}

Async<bool> down_after_demonitor(Self self) {
  const MonitorRef ref = self.monitor(k_nobody);
  auto sleeping = self.sleep(milliseconds(10));
  co_await sleeping;
  self.demonitor(ref);
  auto waiting = self.down(ref, milliseconds(10));
  const auto reason = co_await waiting;
  co_return reason.has_value();
}

TEST(Leftovers, a_wait_for_a_monitor_taken_back_ends_with_its_time) {
  Runtime runtime(tests::seeded(1));
  EXPECT_FALSE(runtime.run(&down_after_demonitor).value());
}

struct WatchOften {
  int rounds;
  bool take_back;
};

// Its Downs come while it waits for something else.
struct OftenWatcher {
  std::vector<int>* all;
  explicit OftenWatcher(std::vector<int>* told) : all(told) {}
  Async<void> handle_cast(Self self, WatchOften often) {
    for (int i = 0; i < often.rounds; ++i) {
      const MonitorRef ref = self.monitor(k_nobody);
      auto sleeping = self.sleep(milliseconds(1));
      co_await sleeping;
      if (often.take_back) {
        self.demonitor(ref);
        continue;
      }
      auto waiting = self.down(ref);
      co_await waiting;
    }
    auto sleeping = self.sleep(seconds(10));
    co_await sleeping;
  }
  void handle_info(Self, Message message) {
    if (const int* number = message.get_if<int>()) all->push_back(*number);
    if (message.is<Down>()) all->push_back(-1);
  }
};

void expect_no_downs_in_the_mailbox(bool take_back, bool behind_another) {
  std::vector<int> told;
  Runtime runtime(tests::seeded(1));
  SpawnOptions options;
  options.mailbox_limit = 100;
  const Pid watcher = runtime.spawn_with<OftenWatcher>(options, &told);
  runtime.cast<OftenWatcher>(watcher, WatchOften{500, take_back});
  runtime.run_ready();
  if (behind_another) {
    EXPECT_EQ(runtime.send(watcher, 1), SendResult::ok);
  }
  runtime.run_for(seconds(1));
  EXPECT_EQ(runtime.mailbox_length(watcher), behind_another ? 1U : 0U);
  const detail::Slot& slot = *runtime.core().table.find(watcher);
  EXPECT_LE(slot.extension->void_downs, 64U) << "they are kept for as long as its handler lasts";
  EXPECT_EQ(runtime.send(watcher, 2), SendResult::ok);
  runtime.run_for(seconds(20));
  EXPECT_EQ(told, behind_another ? (std::vector<int>{1, 2}) : std::vector<int>{2});
  EXPECT_EQ(runtime.mailbox_length(watcher), 0U);
}

TEST(Leftovers, a_down_that_was_awaited_is_no_longer_in_the_mailbox) {
  expect_no_downs_in_the_mailbox(false, false);
  expect_no_downs_in_the_mailbox(false, true);
}

TEST(Leftovers, a_down_that_was_taken_back_is_no_longer_in_the_mailbox) {
  expect_no_downs_in_the_mailbox(true, false);
  expect_no_downs_in_the_mailbox(true, true);
}

// What a message holds is the user's, and may use timers when it goes.
struct CancelsWhenGone {
  std::shared_ptr<Self> self;
  TimerRef ref;
  ~CancelsWhenGone() {
    if (self) self->cancel(ref);
  }
};

TEST(Leftovers, a_cancelled_timer_may_cancel_another) {
  auto done = std::make_shared<std::promise<void>>();
  auto is_done = done->get_future();
  auto runtime = std::make_shared<Runtime>(tests::seeded(1));
  // A deadlock would keep this thread: it is left to itself then.
  std::thread([runtime, done] {
    const Pid pid = runtime->spawn<Puppet>();
    runtime->send(pid, Do{[](Self self) {
                    const TimerRef one = self.send_after(seconds(5), self.pid(), 1);
                    const auto held = std::make_shared<CancelsWhenGone>(std::make_shared<Self>(self), one);
                    const TimerRef two = self.send_after(seconds(5), self.pid(), held);
                    EXPECT_TRUE(self.cancel(two));
                  }});
    runtime->run_ready();
    done->set_value();
  }).detach();
  EXPECT_EQ(is_done.wait_for(seconds(30)), std::future_status::ready) << "deadlock";
}

struct HostIt {};

// Runs a runtime of its own inside a handler, as tests of others do.
struct RuntimeHost {
  int handle_call(Self, HostIt) {
    Runtime inner(tests::seeded(1));
    const Pid pid = inner.spawn<Puppet>();
    for (int i = 0; i < 2'000; ++i) inner.send(pid, i);
    return 1;
  }
};

TEST(Leftovers, a_runtime_may_be_used_and_ended_within_a_turn_of_another) {
  Runtime outer(tests::threaded(1));
  const Pid host = outer.spawn<RuntimeHost>();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(outer.call<RuntimeHost>(host, HostIt{}));
}

}  // namespace
}  // namespace skein
