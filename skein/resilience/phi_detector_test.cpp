#include "skein/resilience/phi_detector.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

#include "skein/resilience/testing.hpp"

namespace skein {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

PhiOptions fast() {
  PhiOptions options;
  options.min_deviation = milliseconds(25);
  options.acceptable_pause = milliseconds(500);
  options.first_interval = milliseconds(100);
  return options;
}

using tests::at;

// When a node that sent `beats` heartbeats, 100 ms apart, and then stopped is convicted, in ms after the last.
std::int64_t conviction_ms(PhiDetector& detector, int beats) {
  for (int i = 0; i < beats; ++i) detector.heartbeat(at(i * 100));
  const std::int64_t last = std::int64_t{beats - 1} * 100;
  for (std::int64_t ms = 0; ms < 10'000; ++ms) {
    if (!detector.is_available(at(last + ms))) return ms;
  }
  return -1;
}

TEST(PhiDetector, is_zero_before_the_first_heartbeat) {
  const PhiDetector detector;
  EXPECT_EQ(detector.phi(at(100'000)), 0.0);
  EXPECT_TRUE(detector.is_available(at(100'000)));
}

TEST(PhiDetector, convicts_a_perfectly_regular_node_that_stops_in_under_a_second) {
  PhiDetector detector(fast());
  const std::int64_t after = conviction_ms(detector, 1000);
  EXPECT_GT(after, 600);
  EXPECT_LT(after, 1000);
  EXPECT_NEAR(static_cast<double>(after), 730, 30);
}

TEST(PhiDetector, convicts_after_a_single_heartbeat_too) {
  PhiDetector detector(fast());
  EXPECT_GT(conviction_ms(detector, 1), 0);
}

TEST(PhiDetector, does_not_learn_the_interval_that_ends_a_suspicion) {
  PhiDetector detector(fast());
  const std::int64_t after = conviction_ms(detector, 100);
  detector.heartbeat(at(60'000));
  PhiDetector fresh(fast());
  EXPECT_EQ(conviction_ms(fresh, 100), after);
  EXPECT_TRUE(detector.is_available(at(60'100)));
  EXPECT_LT(detector.mean(), milliseconds(110));
}

TEST(PhiDetector, never_falls_while_no_heartbeat_comes) {
  PhiDetector detector(fast());
  for (int i = 0; i < 50; ++i) detector.heartbeat(at(i * 100));
  double before = 0;
  for (std::int64_t ms = 4900; ms < 100'000; ms += 7) {
    const double phi = detector.phi(at(ms));
    ASSERT_GE(phi, before) << "at " << ms << " ms";
    before = phi;
  }
  EXPECT_EQ(before, PhiDetector::k_phi_max);
}

TEST(PhiDetector, a_time_that_goes_back_counts_as_the_latest) {
  PhiDetector detector(fast());
  detector.heartbeat(at(1000));
  detector.heartbeat(at(500));
  EXPECT_EQ(detector.phi(at(400)), 0.0);
  EXPECT_TRUE(std::isfinite(detector.phi(at(2000))));
}

TEST(PhiDetector, withholds_judgement_after_the_asker_slept) {
  PhiDetector detector(fast());
  for (int i = 0; i <= 100; ++i) {
    detector.heartbeat(at(i * 100));
    detector.asked(at(i * 100));
  }
  // The whole program stood still for a minute: the heartbeats of that minute wait to be read.
  detector.asked(at(70'000));
  EXPECT_TRUE(detector.is_available(at(70'000)));
  // They do not come: after a pause's length the verdict still falls.
  for (std::int64_t ms = 70'100; ms <= 71'000; ms += 100) detector.asked(at(ms));
  EXPECT_FALSE(detector.is_available(at(71'000)));
}

TEST(PhiDetector, convicts_also_when_it_is_asked_less_often_than_the_local_pause) {
  for (const std::int64_t every : {1'500, 2'000, 10'000, 60'000}) {
    PhiDetector detector(fast());
    std::int64_t ms = 0;
    for (; ms < 50 * every; ms += 100) {
      detector.heartbeat(at(ms));
      if (ms % every == 0) detector.asked(at(ms));
    }
    std::int64_t convicted = 0;
    for (std::int64_t ask = 1; ask <= 3 && convicted == 0; ++ask) {
      const std::int64_t now = 49 * every + (ask + 1) * every;
      detector.asked(at(now));
      if (!detector.is_available(at(now))) convicted = ask;
    }
    EXPECT_GT(convicted, 0) << "asked every " << every << " ms";
  }
}

TEST(PhiDetector, forgives_a_few_gaps_at_most_when_the_first_questions_are_far_apart) {
  PhiDetector detector(fast());
  detector.heartbeat(at(0));
  detector.asked(at(0));
  int asked = 0;
  for (std::int64_t ms = 60'000; asked < 20; ms += 60'000, ++asked) {
    detector.asked(at(ms));
    if (!detector.is_available(at(ms))) break;
  }
  EXPECT_LT(asked, 8);
}

TEST(PhiDetector, learns_nothing_from_heartbeats_that_waited_while_it_slept) {
  for (const bool question_first : {true, false}) {
    PhiDetector detector(fast());
    std::int64_t ms = 0;
    for (; ms <= 10'000; ms += 100) {
      detector.heartbeat(at(ms));
      detector.asked(at(ms));
    }
    const Duration mean = detector.mean();
    const std::size_t known = detector.intervals();
    // A minute of heartbeats is read within a millisecond.
    if (question_first) detector.asked(at(70'000));
    for (int i = 0; i < 600; ++i) detector.heartbeat(Instant(seconds(70)) + Duration(i * 1'000));
    if (!question_first) detector.asked(at(70'001));
    EXPECT_TRUE(detector.is_available(at(70'001)));
    EXPECT_EQ(detector.mean(), mean);
    EXPECT_EQ(detector.intervals(), known);
    // And then it learns again.
    for (ms = 70'100; ms < 71'000; ms += 100) {
      detector.heartbeat(at(ms));
      detector.asked(at(ms));
    }
    EXPECT_GT(detector.intervals(), known);
    EXPECT_NEAR(static_cast<double>(detector.mean().count()), 1e8, 1e6);
  }
}

TEST(PhiDetector, a_long_interval_that_has_left_the_window_leaves_nothing_behind) {
  PhiOptions options = fast();
  options.window = 10;
  options.min_deviation = milliseconds(1);
  options.acceptable_pause = Duration::max();
  PhiDetector detector(options);
  Instant now{};
  detector.heartbeat(now);
  detector.heartbeat(now += Duration(900'000'000'000'000'000));
  for (int i = 0; i < 40; ++i) detector.heartbeat(now += milliseconds(i % 2 == 0 ? 50 : 150));
  EXPECT_NEAR(static_cast<double>(detector.mean().count()), 1e8, 1e3);
  EXPECT_NEAR(static_cast<double>(detector.deviation().count()), 5e7, 1e3);
}

TEST(PhiDetector, refuses_options_that_make_no_sense) {
  for (auto change : std::initializer_list<void (*)(PhiOptions&)>{
           [](PhiOptions& o) { o.threshold = 0; },
           [](PhiOptions& o) { o.threshold = std::numeric_limits<double>::quiet_NaN(); },
           [](PhiOptions& o) { o.threshold = 5000; }, [](PhiOptions& o) { o.window = 0; },
           [](PhiOptions& o) { o.min_deviation = Duration::zero(); },
           [](PhiOptions& o) { o.acceptable_pause = milliseconds(-1); },
           [](PhiOptions& o) { o.first_interval = Duration::zero(); },
           [](PhiOptions& o) { o.local_pause = Duration::zero(); }}) {
    PhiOptions options;
    change(options);
    EXPECT_TRUE(options.problem().has_value());
    EXPECT_THROW(PhiDetector{options}, std::invalid_argument);
  }
}

RC_GTEST_PROP(PhiDetector, is_finite_for_any_sequence_of_times, ()) {
  PhiOptions options = fast();
  options.window = *rc::gen::inRange<std::size_t>(1, 20);
  PhiDetector detector(options);
  const auto times = *rc::gen::container<std::vector<std::int64_t>>(rc::gen::arbitrary<std::int64_t>());
  for (const std::int64_t time : times) {
    const Instant now{Duration(time)};
    if (*rc::gen::arbitrary<bool>()) detector.asked(now);
    detector.heartbeat(now);
    const double phi = detector.phi(later(now, Duration(12'345)));
    RC_ASSERT(std::isfinite(phi));
    RC_ASSERT(phi >= 0.0);
    RC_ASSERT(phi <= PhiDetector::k_phi_max);
  }
}

}  // namespace
}  // namespace skein
