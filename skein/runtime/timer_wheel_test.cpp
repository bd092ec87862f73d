#include "skein/runtime/timer_wheel.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <vector>

namespace skein::detail {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr Duration k_tick = milliseconds(1);

Timer once(std::uint32_t id) { return Timer{Pid(0, id, 1), {}, {}}; }
Timer repeating(std::uint32_t id, Duration every) { return Timer{Pid(0, id, 1), every, {}}; }

std::vector<std::uint32_t> fired(TimerWheel& wheel, Instant now) {
  std::vector<TimerWheel::Due> due;
  wheel.advance(now, due);
  std::vector<std::uint32_t> ids;
  for (const TimerWheel::Due& each : due) ids.push_back(each.timer.to.slot());
  return ids;
}

using Ids = std::vector<std::uint32_t>;

TEST(TimerWheel, fires_once_when_due_and_never_before) {
  TimerWheel wheel(Instant{}, 10);
  wheel.add(Instant(milliseconds(5)), once(1));
  EXPECT_EQ(fired(wheel, Instant(milliseconds(4))), Ids{});
  EXPECT_EQ(fired(wheel, Instant(milliseconds(5) - Duration(1))), Ids{});
  EXPECT_EQ(fired(wheel, Instant(milliseconds(5))), Ids{1});
  EXPECT_EQ(fired(wheel, Instant(milliseconds(500))), Ids{});
  EXPECT_EQ(wheel.size(), 0U);
}

TEST(TimerWheel, what_is_due_together_comes_by_time_and_then_by_age) {
  TimerWheel wheel(Instant{}, 10);
  wheel.add(Instant(milliseconds(70)), once(1));
  wheel.add(Instant(milliseconds(5)), once(2));
  wheel.add(Instant(microseconds(5'000'000)), once(3));
  wheel.add(Instant(microseconds(4'900)), once(4));
  wheel.add(Instant(milliseconds(5)), once(5));
  EXPECT_EQ(fired(wheel, Instant(hours(1))), (Ids{4, 2, 5, 1, 3}));
}

TEST(TimerWheel, one_in_the_past_fires_at_the_next_look) {
  TimerWheel wheel(Instant(milliseconds(100)), 10);
  wheel.add(Instant(milliseconds(3)), once(1));
  EXPECT_LE(wheel.next(), Instant(milliseconds(100)));
  EXPECT_EQ(fired(wheel, Instant(milliseconds(100))), Ids{1});
}

TEST(TimerWheel, a_cancelled_one_does_not_fire_and_a_fired_one_is_not_cancelled) {
  TimerWheel wheel(Instant{}, 10);
  const auto first = wheel.add(Instant(milliseconds(5)), once(1));
  const auto second = wheel.add(Instant(milliseconds(5)), once(2));
  EXPECT_TRUE(wheel.cancel(*first));
  EXPECT_FALSE(wheel.cancel(*first));
  EXPECT_EQ(fired(wheel, Instant(milliseconds(9))), Ids{2});
  EXPECT_FALSE(wheel.cancel(*second));
  EXPECT_FALSE(wheel.cancel(TimerRef{}));
  EXPECT_FALSE(wheel.cancel(TimerRef{12'345, 1}));
  // The place is used again; the old ref must not reach the new timer.
  wheel.add(Instant(milliseconds(20)), once(3));
  EXPECT_FALSE(wheel.cancel(*first));
  EXPECT_FALSE(wheel.cancel(*second));
  EXPECT_EQ(fired(wheel, Instant(milliseconds(20))), Ids{3});
}

TEST(TimerWheel, says_when_it_is_full_and_has_room_again_after_a_cancel) {
  TimerWheel wheel(Instant{}, 2);
  const auto first = wheel.add(Instant(milliseconds(5)), once(1));
  ASSERT_TRUE(wheel.add(Instant(milliseconds(5)), once(2)));
  EXPECT_FALSE(wheel.add(Instant(milliseconds(5)), once(3)));
  wheel.cancel(*first);
  EXPECT_TRUE(wheel.add(Instant(milliseconds(5)), once(4)));
}

TEST(TimerWheel, an_interval_does_not_drift) {
  TimerWheel wheel(Instant{}, 10);
  const auto ref = wheel.add(Instant(milliseconds(10)), repeating(1, milliseconds(10)));
  for (int i = 1; i <= 100; ++i) {
    // Looked at a little late each time.
    ASSERT_EQ(fired(wheel, Instant(milliseconds(10 * i + i % 9))), Ids{1}) << i;
  }
  EXPECT_TRUE(wheel.cancel(*ref));
  EXPECT_EQ(fired(wheel, Instant(hours(1))), Ids{});
}

TEST(TimerWheel, an_interval_nobody_looked_at_does_not_make_up_for_all_it_missed) {
  TimerWheel wheel(Instant{}, 10);
  wheel.add(Instant(milliseconds(1)), repeating(1, milliseconds(1)));
  EXPECT_LE(fired(wheel, Instant(hours(1))).size(), 2U);
  EXPECT_EQ(fired(wheel, Instant(hours(1) + milliseconds(1))).size(), 1U);
}

TEST(TimerWheel, an_interval_shorter_than_a_tick_fires_each_tick_and_ends) {
  TimerWheel wheel(Instant{}, 10);
  wheel.add(Instant(Duration(1)), repeating(1, Duration(1)));
  for (int i = 1; i <= 5; ++i) ASSERT_EQ(fired(wheel, Instant(milliseconds(i))), Ids{1});
}

TEST(TimerWheel, next_never_lies_after_the_first_timer_and_is_the_end_of_time_without_one) {
  TimerWheel wheel(Instant{}, 10);
  EXPECT_EQ(wheel.next(), Instant::max());
  const auto ref = wheel.add(Instant(hours(5)), once(1));
  EXPECT_LE(wheel.next(), Instant(hours(5)));
  wheel.cancel(*ref);
  EXPECT_EQ(wheel.next(), Instant::max());
}

TEST(TimerWheel, waits_for_far_timers_in_few_looks) {
  for (const auto years : {1, 30, 130}) {
    TimerWheel wheel(Instant(milliseconds(12'345)), 10);
    const Instant at(hours(24 * 365) * years);
    wheel.add(at, once(1));
    int looks = 0;
    Ids ids;
    while (ids.empty()) {
      const Instant next = wheel.next();
      ASSERT_LE(next, at);
      ASSERT_LT(++looks, 100) << "it should not be looked at again and again";
      ids = fired(wheel, next);
    }
    EXPECT_EQ(ids, Ids{1});
  }
}

// Beyond the wheel's reach of 139 years: such a timer is somebody's "never", and must not be looked at for ever.
TEST(TimerWheel, a_timer_at_the_end_of_time_just_waits) {
  TimerWheel wheel(Instant(milliseconds(12'345)), 10);
  const auto ref = wheel.add(Instant::max(), once(1));
  wheel.add(Instant(milliseconds(20'000)), once(2));
  EXPECT_GT(wheel.next(), Instant(milliseconds(12'345)));
  EXPECT_EQ(fired(wheel, Instant(milliseconds(20'000))), Ids{2});
  EXPECT_GT(wheel.next(), Instant(hours(24 * 365)));
  EXPECT_EQ(fired(wheel, Instant(hours(24 * 365))), Ids{});
  EXPECT_TRUE(wheel.cancel(*ref));
}

struct Modelled {
  Instant at;
  std::uint64_t sequence;
  TimerRef ref;
};

// The wheel against a sorted list: random adds (near and far), cancels and steps of time.
RC_GTEST_PROP(TimerWheel, does_what_a_sorted_list_does, ()) {
  Instant now(milliseconds(*rc::gen::inRange(0, 1'000'000)) + Duration(*rc::gen::inRange(0, 1'000'000)));
  TimerWheel wheel(now, 1'000);
  std::map<std::uint32_t, Modelled> model;
  std::uint32_t id = 0;
  const int operations = *rc::gen::inRange(1, 120);
  for (int i = 0; i < operations; ++i) {
    const int choice = *rc::gen::inRange(0, 10);
    if (choice < 5) {
      // Spread over all levels: a random number of bits.
      const unsigned bits = *rc::gen::inRange(1U, 50U);
      const auto after = Duration(static_cast<std::int64_t>(*rc::gen::arbitrary<std::uint64_t>() >> (64U - bits)));
      const auto ref = wheel.add(now + after, once(++id));
      RC_ASSERT(ref.has_value());
      model[id] = Modelled{now + after, id, *ref};
    } else if (choice < 7 && !model.empty()) {
      auto victim = model.begin();
      std::advance(victim, *rc::gen::inRange<std::ptrdiff_t>(0, static_cast<std::ptrdiff_t>(model.size())));
      RC_ASSERT(wheel.cancel(victim->second.ref));
      model.erase(victim);
    } else {
      const unsigned bits = *rc::gen::inRange(1U, 50U);
      now += Duration(static_cast<std::int64_t>(*rc::gen::arbitrary<std::uint64_t>() >> (64U - bits)));
      std::vector<TimerWheel::Due> due;
      wheel.advance(now, due);
      Instant before = Instant::min();
      std::uint64_t sequence = 0;
      for (const TimerWheel::Due& each : due) {
        const auto found = model.find(each.timer.to.slot());
        RC_ASSERT(found != model.end());
        RC_ASSERT(found->second.at <= now);  // never early
        RC_ASSERT(each.at > before || (each.at == before && each.sequence > sequence));
        before = each.at;
        sequence = each.sequence;
        model.erase(found);
      }
      for (const auto& [left, timer] : model) RC_ASSERT(timer.at + k_tick > now);  // at most a tick late
    }
    RC_ASSERT(wheel.size() == model.size());
    for (const auto& [left, timer] : model) RC_ASSERT(wheel.next() < timer.at + k_tick);
  }
}

}  // namespace
}  // namespace skein::detail
