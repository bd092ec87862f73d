#include "skein/routing/type_figures.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <vector>

namespace skein {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr AgentHandle k_one{1, 0};
constexpr AgentHandle k_two{2, 0};

TEST(RunTimes, knows_nothing_before_five_runs) {
  RunTimes times;
  for (int i = 0; i < 4; ++i) times.record(seconds(1));
  EXPECT_EQ(times.median(), std::nullopt);
  times.record(seconds(1));
  EXPECT_TRUE(times.median());
}

TEST(RunTimes, is_within_an_eighth_of_the_median) {
  const bool holds = rc::check([](const std::vector<std::uint32_t>& told) {
    RC_PRE(told.size() >= 5 && told.size() < 250);
    RunTimes times;
    std::vector<double> exact;
    for (const std::uint32_t each : told) {
      const auto ms = 1 + each % 100'000'000;  // up to a day
      times.record(milliseconds(ms));
      exact.push_back(ms);
    }
    std::ranges::sort(exact);
    const double wanted = exact[(exact.size() - 1) / 2];
    const double got = std::chrono::duration<double, std::milli>(*times.median()).count();
    RC_ASSERT(got > wanted * 0.87 && got < wanted * 1.15);
  });
  EXPECT_TRUE(holds);
}

TEST(RunTimes, follows_a_type_that_becomes_slower) {
  RunTimes times;
  for (int i = 0; i < 5'000; ++i) times.record(milliseconds(2));
  for (int i = 0; i < 400; ++i) times.record(minutes(20));
  EXPECT_GT(*times.median(), minutes(17));
  EXPECT_LT(*times.median(), minutes(23));
}

TEST(RunTimes, takes_any_time) {
  RunTimes times;
  for (const Duration each : {Duration::min(), Duration(-1), Duration(0), Duration(1), k_forever}) times.record(each);
  EXPECT_TRUE(times.median());
}

TEST(TypeFigures, scales_by_the_median_of_slow_types_and_not_at_all_for_quick_ones) {
  TypeFigures slow;
  EXPECT_EQ(slow.scaled(minutes(20)), std::nullopt) << "nobody knows what is usual";
  EXPECT_EQ(slow.scaled(milliseconds(30)), Duration(milliseconds(30)));
  EXPECT_EQ(slow.scaled(std::nullopt), std::nullopt);
  for (int i = 0; i < 20; ++i) slow.completed(k_one, hours(1));
  const auto usual = slow.scaled(*slow.median());
  EXPECT_NEAR(std::chrono::duration<double>(*usual).count(), 0.1, 1e-6);
  EXPECT_NEAR(std::chrono::duration<double>(*slow.scaled(10 * *slow.median())).count(), 1.0, 1e-6);
  TypeFigures quick;
  for (int i = 0; i < 20; ++i) quick.completed(k_one, milliseconds(2));
  EXPECT_EQ(quick.scaled(milliseconds(700)), Duration(milliseconds(700)));
}

TEST(TypeFigures, suspects_who_is_alone_with_permanent_errors) {
  TypeFigures type;
  for (int i = 0; i < 10; ++i) type.completed(k_one, seconds(1));
  for (int i = 0; i < 2; ++i) type.failed_for_good(k_two);
  EXPECT_FALSE(type.suspects(k_two, 3));
  type.failed_for_good(k_two);
  EXPECT_TRUE(type.suspects(k_two, 3));
  EXPECT_FALSE(type.suspects(k_one, 3));
  EXPECT_EQ(type.in_row(k_two), 3U);
  type.completed(k_two, seconds(1));
  EXPECT_FALSE(type.suspects(k_two, 3));
  EXPECT_EQ(type.in_row(k_two), 0U);
}

TEST(TypeFigures, suspects_nobody_when_all_fail) {
  TypeFigures type;
  for (int i = 0; i < 40; ++i) {
    type.failed_for_good(k_one);
    type.failed_for_good(k_two);
    if (i == 0) continue;
    EXPECT_FALSE(type.suspects(k_one, 3)) << i;
    EXPECT_FALSE(type.suspects(k_two, 3)) << i;
  }
}

TEST(TypeTable, forgets_the_one_not_asked_for_longest) {
  TypeTable table(2);
  const TypeRef a = table.find_or_add("a");
  const TypeRef b = table.find_or_add("b");
  EXPECT_EQ(table.find_or_add("a"), a);
  const TypeRef c = table.find_or_add("c");
  EXPECT_EQ(table.size(), 2U);
  EXPECT_EQ(table.at(b), nullptr);
  EXPECT_NE(table.at(a), nullptr);
  EXPECT_NE(table.at(c), nullptr);
  EXPECT_EQ(table.at(TypeRef{}), nullptr);
}

}  // namespace
}  // namespace skein
