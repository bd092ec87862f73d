// A death is over before anybody is told of it, as seen from another core: on one thread nobody could look in between.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "skein/runtime/runtime.hpp"
#include "skein/runtime/testing.hpp"

namespace skein {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Farewell {};
class SlowLeaver {
 public:
  explicit SlowLeaver(std::atomic<bool>* over) : over_(over) {}
  int handle_call(Self self, Farewell /*request*/) {
    self.stop();
    return 7;
  }
  void terminate(Self /*self*/, const ExitReason& /*reason*/) {
    tests::spin_for(milliseconds(20));
    *over_ = true;
  }

 private:
  std::atomic<bool>* over_;
};

TEST(ToldLast, an_answer_given_with_a_stop_reaches_a_thread_after_terminate_and_with_the_name_free) {
  std::atomic<bool> over{false};
  Runtime runtime(tests::threaded(1));
  SpawnOptions named;
  named.name = "leaver";
  const Pid leaver = runtime.spawn_with<SlowLeaver>(named, &over);
  EXPECT_EQ(runtime.call<SlowLeaver>(leaver, Farewell{}).value(), 7);
  EXPECT_TRUE(over) << "terminate was still running";
  EXPECT_FALSE(runtime.is_alive(leaver));
  EXPECT_FALSE(runtime.whereis("leaver"));
}

struct Tap {};
// Waits for ever in its first message; others queue behind it.
struct Absent {
  Async<void> handle_info(Self self, Message /*message*/) {
    auto sleeping = self.sleep(k_forever);
    co_await sleeping;
  }
  int handle_call(Self /*self*/, Tap /*request*/) { return 1; }
};

struct Mourner {
  Mourner(Self self, Pid whom, std::atomic<int>* watching) {
    static_cast<void>(self.monitor(whom));
    ++*watching;
  }
};

TEST(ToldLast, a_successor_can_take_the_name_as_soon_as_a_caller_knows_of_the_death) {
  // So many that telling them takes longer than it takes the caller to wake up.
  constexpr int k_mourners = 20'000;
  for (int round = 0; round < 3; ++round) {
    std::atomic<int> watching{0};
    Runtime runtime(tests::threaded(2));
    SpawnOptions named;
    named.name = "absent";
    const Pid absent = runtime.spawn_with<Absent>(named);
    runtime.send(absent, 1);
    for (int i = 0; i < k_mourners; ++i) runtime.spawn<Mourner>(absent, &watching);
    ASSERT_TRUE(tests::eventually([&] { return watching == k_mourners && runtime.mailbox_length(absent) == 0; }));
    std::thread caller([&] {
      const auto answer = runtime.call<Absent>(absent, Tap{}, seconds(20));
      const bool is_dead = !runtime.is_alive(absent);
      const Pid holder = runtime.whereis("absent");
      EXPECT_FALSE(answer);
      EXPECT_TRUE(is_dead);
      EXPECT_FALSE(holder) << "the name is still taken";
      EXPECT_NO_THROW(runtime.spawn_with<Absent>(named));
    });
    EXPECT_TRUE(tests::eventually([&] { return runtime.mailbox_length(absent) == 1; }));
    runtime.exit(absent, ExitReason::kill());
    caller.join();
  }
}

}  // namespace
}  // namespace skein
