#include "skein/dispatch/correlation.hpp"

#include <gtest/gtest.h>

#include <string>

namespace skein {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

Instant at(Duration since_start) { return Instant(since_start); }

TraceContext trace(std::uint64_t seed) {
  Random random(seed);
  return TraceContext::begin(random);
}

TEST(CorrelationTracker, finds_the_trace_of_a_request) {
  CorrelationTracker tracker;
  ASSERT_TRUE(tracker.track("request-1", trace(1), at(seconds(5))));
  const auto found = tracker.find("request-1", at(minutes(59)));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->trace, trace(1));
  EXPECT_EQ(found->since, at(seconds(5)));
  EXPECT_FALSE(tracker.find("request-2", at(minutes(59))));
}

TEST(CorrelationTracker, forgets_after_an_hour) {
  CorrelationTracker tracker;
  tracker.track("request", trace(1), at(seconds(0)));
  EXPECT_TRUE(tracker.find("request", at(hours(1))));
  EXPECT_FALSE(tracker.find("request", at(hours(1) + seconds(1))));
  EXPECT_EQ(tracker.size(), 0U);
}

TEST(CorrelationTracker, lets_the_oldest_go_when_full) {
  CorrelationTracker tracker(3);
  for (int i = 0; i < 5; ++i) tracker.track("request-" + std::to_string(i), trace(1), at(seconds(i)));
  EXPECT_EQ(tracker.size(), 3U);
  EXPECT_EQ(tracker.evicted(), 2U);
  EXPECT_FALSE(tracker.find("request-1", at(seconds(5))));
  EXPECT_TRUE(tracker.find("request-2", at(seconds(5))));
}

TEST(CorrelationTracker, takes_an_id_tracked_again_as_new) {
  CorrelationTracker tracker(2);
  tracker.track("a", trace(1), at(seconds(1)));
  tracker.track("b", trace(1), at(seconds(2)));
  tracker.track("a", trace(2), at(seconds(3)));
  EXPECT_EQ(tracker.size(), 2U);
  EXPECT_EQ(tracker.evicted(), 0U);
  tracker.track("c", trace(1), at(seconds(4)));
  EXPECT_FALSE(tracker.find("b", at(seconds(4))));
  EXPECT_EQ(tracker.find("a", at(seconds(4)))->trace, trace(2));
}

TEST(CorrelationTracker, holds_a_hundred_thousand_by_default) {
  CorrelationTracker tracker;
  for (std::size_t i = 0; i <= CorrelationTracker::k_entries_max; ++i) {
    tracker.track(std::to_string(i), trace(1), at(seconds(1)));
  }
  EXPECT_EQ(tracker.size(), 100'000U);
  EXPECT_FALSE(tracker.find("0", at(seconds(1))));
  EXPECT_TRUE(tracker.find("1", at(seconds(1))));
}

TEST(CorrelationTracker, refuses_ids_that_are_empty_or_absurdly_long) {
  CorrelationTracker tracker;
  EXPECT_FALSE(tracker.track("", trace(1), at(seconds(1))));
  EXPECT_FALSE(tracker.track(std::string(257, 'x'), trace(1), at(seconds(1))));
  EXPECT_TRUE(tracker.track(std::string(256, 'x'), trace(1), at(seconds(1))));
}

TEST(CorrelationTracker, takes_a_clock_that_goes_back_as_standing_still) {
  CorrelationTracker tracker;
  tracker.track("old", trace(1), at(hours(10)));
  tracker.track("new", trace(1), at(hours(1)));
  EXPECT_EQ(tracker.find("new", at(hours(0)))->since, at(hours(10)));
  EXPECT_TRUE(tracker.find("old", Instant::min()));
}

TEST(CorrelationTracker, forgets_when_told_and_can_be_moved) {
  CorrelationTracker tracker;
  tracker.track("a", trace(1), at(seconds(1)));
  tracker.track("b", trace(1), at(seconds(1)));
  CorrelationTracker moved = std::move(tracker);
  EXPECT_TRUE(moved.forget("a"));
  EXPECT_FALSE(moved.forget("a"));
  EXPECT_TRUE(moved.find("b", at(seconds(1))));
}

}  // namespace
}  // namespace skein
