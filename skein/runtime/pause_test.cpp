#include "skein/runtime/pause.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "skein/runtime/testing.hpp"

namespace skein {
namespace {

using namespace std::chrono_literals;

struct Ask {
  using Answer = int;
};

// Answers after ten seconds, and has a timer of thirty.
class Slow {
 public:
  explicit Slow(Self self, int* fired) : fired_(fired) { self.send_after(30s, self.pid(), Ring{}); }
  void handle_info(Self, Message message) {
    if (message.is<Ring>()) ++*fired_;
  }
  Async<int> handle_call(Self self, Ask) {
    auto sleeping = self.sleep(10s);
    co_await sleeping;
    co_return 7;
  }

 private:
  struct Ring {};
  int* fired_;
};

// Asks, and writes down what it was told.
class Caller {
 public:
  Caller(Self self, Pid slow, int* answer) : slow_(slow), answer_(answer) { self.continue_with<Caller>(Begin{}); }
  struct Begin {};
  Async<void> handle_continue(Self self, Begin) {
    auto asking = self.call<Slow>(slow_, Ask{}, 15s);
    const auto told = co_await asking;
    *answer_ = told ? *told : -1;
  }

 private:
  Pid slow_;
  int* answer_;
};

TEST(Pause, of_the_whole_program_ends_no_wait_and_fires_no_timer) {
  Runtime runtime(tests::seeded(1));
  int fired = 0;
  int answer = 0;
  const Pid slow = runtime.spawn<Slow>(&fired);
  runtime.spawn<Caller>(slow, &answer);
  runtime.run_for(5s);
  pause_program(runtime, 3600s);
  runtime.run_ready();
  EXPECT_EQ(answer, 0) << "the call of 15 s has had 6 s at most";
  EXPECT_EQ(fired, 0);
  EXPECT_GT(time_lost(runtime), 3598s);
  runtime.run_for(6s);
  EXPECT_EQ(answer, 7);
  runtime.run_for(20s);
  EXPECT_EQ(fired, 1);
}

TEST(Pause, many_in_a_row_cost_little_each) {
  Runtime runtime(tests::seeded(2));
  int fired = 0;
  runtime.spawn<Slow>(&fired);
  for (int i = 0; i < 20; ++i) {
    runtime.run_for(100ms);
    pause_program(runtime, 60s);
  }
  EXPECT_EQ(fired, 0);
  EXPECT_LT(runtime.now().time_since_epoch(), 20s);
  EXPECT_GT(time_lost(runtime), 20 * 59s);
}

TEST(Pause, on_threads_the_clock_keeps_up_with_the_real_one_while_nothing_is_stopped) {
  Runtime runtime;
  const Duration offset = runtime.now().time_since_epoch() - tests::real_time();
  int fired = 0;
  runtime.spawn<Slow>(&fired);
  const Duration until = tests::real_time() + 1500ms;
  while (tests::real_time() < until) {
    (void)runtime.now();
    std::this_thread::sleep_for(20ms);
  }
  const Duration apart = runtime.now().time_since_epoch() - tests::real_time() - offset;
  // What a loaded machine takes away from all threads at once is a pause too.
  EXPECT_LT(std::chrono::abs(apart + time_lost(runtime)), 20ms);
}

}  // namespace
}  // namespace skein
