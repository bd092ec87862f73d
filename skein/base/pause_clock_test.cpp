#include "skein/base/pause_clock.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace skein {
namespace {

using namespace std::chrono_literals;

constexpr Instant at(Duration time) { return Instant(time); }

Instant read(PauseClock& clock, Duration raw) {
  return clock.now([raw] { return at(raw); });
}

TEST(PauseClock, is_the_raw_clock_while_looks_come_in_time) {
  PauseClock clock;
  for (Duration raw = 1s; raw < 10s; raw += 250ms) {
    EXPECT_EQ(clock.look(at(raw), at(raw + 250ms)), at(raw));
    EXPECT_EQ(read(clock, raw + 100ms), at(raw + 100ms));
  }
  EXPECT_EQ(clock.lost(), 0s);
}

TEST(PauseClock, a_look_that_is_a_little_late_is_no_pause) {
  PauseClock clock;
  clock.look(at(1s), at(1250ms));
  EXPECT_EQ(clock.look(at(1250ms + k_pause_tolerance), at(3s)), at(1250ms + k_pause_tolerance));
  EXPECT_EQ(clock.lost(), 0s);
}

TEST(PauseClock, a_pause_counts_until_the_promised_look_and_the_tolerance) {
  PauseClock clock;
  clock.look(at(1s), at(1250ms));
  const Instant before = read(clock, 1100ms);
  const Instant after = clock.look(at(36s), at(36250ms));
  EXPECT_EQ(after, at(1250ms + k_pause_tolerance));
  EXPECT_GT(after, before);
  EXPECT_EQ(clock.lost(), 36s - 1250ms - k_pause_tolerance);
  EXPECT_EQ(read(clock, 36100ms), after + 100ms) << "and then goes on";
  EXPECT_EQ(clock.raw_of(after), at(36s));
}

TEST(PauseClock, whoever_reads_first_after_a_pause_notices_it) {
  PauseClock clock;
  clock.look(at(1s), at(1250ms));
  EXPECT_EQ(read(clock, 60s), at(1250ms + k_pause_tolerance));
  EXPECT_EQ(read(clock, 60s + 10ms), at(1260ms + k_pause_tolerance));
  clock.look(at(60s + 20ms), at(60s + 270ms));
  EXPECT_EQ(clock.lost(), 60s - 1250ms - k_pause_tolerance) << "one pause, counted once";
}

TEST(PauseClock, a_second_pause_before_anybody_looked_counts_too) {
  PauseClock clock;
  clock.look(at(1s), at(1250ms));
  const Instant first = read(clock, 60s);
  const Instant second = read(clock, 120s);
  EXPECT_LE(second - first, k_pause_look + k_pause_tolerance);
  EXPECT_GT(clock.lost(), 115s);
}

TEST(PauseClock, a_coarse_reading_after_a_pause_does_not_go_back) {
  PauseClock clock;
  clock.look(at(1s), at(1250ms));
  const Instant after = read(clock, 60s);
  EXPECT_EQ(read(clock, 59s + 990ms), after);
  EXPECT_EQ(read(clock, 1s), after);
}

TEST(PauseClock, without_a_promise_nothing_is_a_pause) {
  PauseClock clock;
  EXPECT_EQ(read(clock, 5s), at(5s));
  EXPECT_EQ(read(clock, 500s), at(500s));
  clock.look(at(501s), Instant::max());
  EXPECT_EQ(read(clock, 5000s), at(5000s));
  EXPECT_EQ(clock.lost(), 0s);
}

// Readers race with pauses: nobody ever sees the clock go back.
TEST(PauseClock, threads_see_it_go_forward_only) {
  PauseClock clock;
  std::atomic<std::int64_t> raw{Duration(1s).count()};
  std::atomic<bool> is_over{false};
  std::atomic<int> wrong{0};
  const auto now = [&] { return clock.now([&] { return at(Duration(raw.load())); }); };
  clock.look(at(1s), at(1250ms));
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      Instant last = now();
      while (!is_over.load()) {
        const Instant next = now();
        if (next < last) wrong.fetch_add(1);
        last = next;
      }
    });
  }
  for (int i = 0; i < 20'000; ++i) {
    raw.fetch_add(i % 10 == 9 ? Duration(30s).count() : Duration(1ms).count());
    const Instant here = at(Duration(raw.load()));
    clock.look(here, here + 250ms);
  }
  is_over = true;
  for (auto& each : readers) each.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_GT(clock.lost(), 2'000 * 29s);
}

}  // namespace
}  // namespace skein
