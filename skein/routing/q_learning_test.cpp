#include "skein/routing/q_learning.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <stdexcept>

namespace skein {
namespace {

using std::chrono::milliseconds;

TEST(QLearning, takes_a_table_of_version_1_which_knew_no_retries) {
  QLearning learned;
  learned.learn(0, -3, 0);
  std::string text = learned.save();
  text.resize(text.find("skein-retry"));
  text.replace(0, std::string_view("skein-q 2").size(), "skein-q 1");
  QLearning again;
  ASSERT_TRUE(again.restore(text));
  EXPECT_EQ(again.save(), learned.save());
  EXPECT_FALSE(again.restore(text + learned.save().substr(text.size())));
}

TEST(QLearning, tells_every_state_apart) {
  std::set<QState> states;
  for (std::uint32_t load = 0; load <= 10; ++load) {
    for (const double success : {0.5, 0.9, 0.99}) {
      for (const double latency : {10.0, 100.0, 500.0}) states.insert(q_state(load, success, latency));
    }
  }
  EXPECT_EQ(states.size(), k_q_states);
  EXPECT_EQ(*states.rbegin(), k_q_states - 1);
}

TEST(QLearning, draws_its_lines_where_it_says) {
  EXPECT_EQ(q_state(10, 1, 0), q_state(1000, 1, 0));
  EXPECT_EQ(q_state(0, 0.8, 0), q_state(0, 0.95, 0));
  EXPECT_NE(q_state(0, 0.799, 0), q_state(0, 0.8, 0));
  EXPECT_NE(q_state(0, 0.95, 0), q_state(0, 0.951, 0));
  EXPECT_NE(q_state(0, 1, 49.9), q_state(0, 1, 50));
  EXPECT_NE(q_state(0, 1, 199.9), q_state(0, 1, 200));
  EXPECT_EQ(q_state_at_load(q_state(0, 0.9, 100), 7), q_state(7, 0.9, 100));
}

TEST(QLearning, takes_bad_figures_for_bad_agents) {
  const double nan = std::nan("");
  EXPECT_EQ(q_state(0, nan, 10), q_state(0, 0, 10));
  EXPECT_EQ(q_state(0, 1, nan), q_state(0, 1, 1000));
  EXPECT_EQ(q_state(0, 1, -1), q_state(0, 1, 1000));
}

TEST(QLearning, rewards_as_specified) {
  EXPECT_DOUBLE_EQ(QLearning::reward(true, milliseconds(20)), 1 - 0.02);
  EXPECT_DOUBLE_EQ(QLearning::reward(true, milliseconds(100)), -0.1);
  EXPECT_DOUBLE_EQ(QLearning::reward(true, milliseconds(200)), -1.2);
  EXPECT_DOUBLE_EQ(QLearning::reward(false, milliseconds(300)), -11.3);
  EXPECT_DOUBLE_EQ(QLearning::reward(false, milliseconds(1)), -10.001);
  EXPECT_DOUBLE_EQ(QLearning::reward(false, std::nullopt), -10);
  EXPECT_DOUBLE_EQ(QLearning::reward(true, milliseconds(-5)), 1);
}

TEST(QLearning, moves_a_value_by_the_learning_rate) {
  QLearning learned;
  const QState good = q_state(0, 1, 10);
  const QState other = q_state(0, 1, 100);
  learned.learn(good, 1.0, other);
  EXPECT_DOUBLE_EQ(learned.value(good), 0.1);
  learned.learn(other, -1.0, good);
  EXPECT_DOUBLE_EQ(learned.value(other), 0.1 * (-1.0 + 0.9 * 0.1));
}

TEST(QLearning, explores_less_with_each_outcome_down_to_its_floor) {
  QLearning learned;
  EXPECT_DOUBLE_EQ(learned.explore(), 0.1);
  learned.learn(0, 0, 0);
  EXPECT_DOUBLE_EQ(learned.explore(), 0.1 * 0.999);
  for (int i = 0; i < 10'000; ++i) learned.learn(0, 0, 0);
  EXPECT_DOUBLE_EQ(learned.explore(), 0.01);
}

// The greatest is 1, all others as their values are to its own.
void expect_softmax(const QLearning& learned) {
  double greatest = learned.value(0);
  for (QState one = 0; one < k_q_states; ++one) greatest = std::max(greatest, learned.value(one));
  for (QState one = 0; one < k_q_states; ++one) {
    ASSERT_NEAR(learned.weight(one), std::exp(learned.value(one) - greatest), 1e-12) << int{one};
  }
}

TEST(QLearning, has_weights_that_are_the_softmax_of_its_values_whenever_they_are_asked_for) {
  QLearning learned;
  expect_softmax(learned);
  for (int i = 0; i < 500; ++i) {
    // Up and down, the greatest and others.
    learned.learn(static_cast<QState>(i % 7), i % 40 < 20 ? 1.0 : -2.0, static_cast<QState>(i % 5));
    if (i % 3 == 0) expect_softmax(learned);
  }
  QLearning other;
  other.learn(3, 50, 3);
  expect_softmax(other);
  ASSERT_TRUE(other.restore(learned.save()));
  expect_softmax(other);
}

TEST(QLearning, ignores_what_is_no_state_and_no_number) {
  QLearning learned;
  const std::string before = learned.save();
  learned.learn(k_q_states, 1, 0);
  learned.learn(0, 1, 255);
  learned.learn(0, std::nan(""), 0);
  learned.learn(0, std::numeric_limits<double>::infinity(), 0);
  EXPECT_EQ(learned.save(), before);
}

TEST(QLearning, stays_finite_for_any_rewards) {
  const bool holds = rc::check([](const std::vector<std::pair<std::uint8_t, double>>& told) {
    QLearning learned;
    for (const auto& [state, reward] : told) learned.learn(state, reward, static_cast<QState>(state / 2));
    for (std::size_t i = 0; i < k_q_states; ++i) {
      RC_ASSERT(std::isfinite(learned.value(static_cast<QState>(i))));
      RC_ASSERT(std::isfinite(learned.weight(static_cast<QState>(i))));
    }
  });
  EXPECT_TRUE(holds);
}

TEST(QLearning, is_the_same_after_saving_and_restoring) {
  QLearning learned;
  for (int i = 0; i < 1000; ++i)
    learned.learn(static_cast<QState>(i * 7 % 99), 0.1 * (i % 23) - 1, static_cast<QState>(i % 99));
  QLearning again;
  ASSERT_TRUE(again.restore(learned.save()));
  EXPECT_EQ(again.save(), learned.save());
  EXPECT_DOUBLE_EQ(again.explore(), learned.explore());
  for (std::size_t i = 0; i < k_q_states; ++i) {
    ASSERT_EQ(again.value(static_cast<QState>(i)), learned.value(static_cast<QState>(i)));
    ASSERT_DOUBLE_EQ(again.weight(static_cast<QState>(i)), learned.weight(static_cast<QState>(i)));
  }
}

TEST(QLearning, refuses_bad_tables_and_keeps_its_own) {
  QLearning learned;
  learned.learn(0, 1, 0);
  const std::string good = learned.save();
  QLearning other;
  const std::string before = other.save();
  std::string with_nan = good;
  with_nan.replace(with_nan.find("values ") + 7, 1, "nan");
  std::string huge = good;
  huge.replace(huge.find("values ") + 7, 1, "1e99");
  std::string bold = good;
  bold.replace(bold.find("explore ") + 8, 1, "7");
  for (const std::string& bad :
       {std::string(), std::string("{}"), std::string("skein-q 2\n"), good.substr(0, 40), good + "x",
        good.substr(0, good.size() - 1), with_nan, huge, bold, std::string(1 << 20, 'x')}) {
    const auto result = other.restore(bad);
    ASSERT_FALSE(result) << bad.substr(0, 100);
    EXPECT_NE(result.error().find("start afresh"), std::string::npos) << result.error();
    EXPECT_EQ(other.save(), before);
  }
}

TEST(QLearning, refuses_any_cut_of_a_good_table) {
  const std::string good = QLearning().save();
  for (std::size_t length = 0; length < good.size(); ++length) {
    QLearning other;
    ASSERT_FALSE(other.restore(std::string_view(good).substr(0, length))) << length;
  }
}

TEST(QLearning, refuses_options_that_make_no_sense) {
  QOptions options;
  options.learning_rate = 0;
  EXPECT_THROW(QLearning{options}, std::invalid_argument);
  options = {};
  options.discount = 1;
  EXPECT_THROW(QLearning{options}, std::invalid_argument);
  options = {};
  options.temperature = std::nan("");
  EXPECT_THROW(QLearning{options}, std::invalid_argument);
  options = {};
  options.explore_last = 0.5;
  EXPECT_THROW(QLearning{options}, std::invalid_argument);
}

}  // namespace
}  // namespace skein
