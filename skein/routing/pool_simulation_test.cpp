#include "skein/routing/pool_simulation.hpp"

#include <gtest/gtest.h>

namespace skein {
namespace {

PoolFigures even(Balance strategy, std::uint64_t seed) {
  PoolSimulation simulation = PoolSimulation::even(strategy, seed);
  simulation.tasks = 40'000;
  return simulate_pool(simulation);
}

TEST(PoolSimulation, gives_the_same_figures_for_the_same_seed) {
  const PoolFigures one = even(Balance::two_choices, 5);
  const PoolFigures other = even(Balance::two_choices, 5);
  EXPECT_EQ(one.mean_ms, other.mean_ms);
  EXPECT_EQ(one.tasks, 20'000U);
  EXPECT_NE(one.mean_ms, even(Balance::two_choices, 6).mean_ms);
}

TEST(PoolSimulation, learning_beats_round_robin_and_least_connections_on_a_skewed_pool) {
  // Failures come in bursts as breakers open and close, so the seeds are taken together.
  const auto both_seeds = [](Balance strategy) {
    PoolFigures sum = simulate_pool(PoolSimulation::skewed(strategy, 1));
    const PoolFigures other = simulate_pool(PoolSimulation::skewed(strategy, 2));
    sum.mean_ms += other.mean_ms;
    sum.failed += other.failed;
    return sum;
  };
  const PoolFigures learned = both_seeds(Balance::q_learning);
  for (const Balance other : {Balance::round_robin, Balance::least_connections}) {
    const PoolFigures usual = both_seeds(other);
    EXPECT_LT(learned.mean_ms, usual.mean_ms) << balance_name(other);
    EXPECT_LT(learned.failed, usual.failed) << balance_name(other);
  }
}

TEST(PoolSimulation, learning_is_within_5_percent_on_an_even_pool) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const PoolFigures learned = even(Balance::q_learning, seed);
    EXPECT_LT(learned.mean_ms, 1.05 * even(Balance::round_robin, seed).mean_ms) << "seed " << seed;
    EXPECT_LT(learned.mean_ms, 1.05 * even(Balance::least_connections, seed).mean_ms) << "seed " << seed;
  }
}

TEST(PoolSimulation, learning_is_within_5_percent_where_latencies_straddle_its_lines) {
  PoolSimulation simulation = PoolSimulation::even(Balance::q_learning);
  simulation.service = std::chrono::milliseconds(50);
  simulation.tasks = 40'000;
  const double learned = simulate_pool(simulation).mean_ms;
  simulation.strategy = Balance::least_connections;
  EXPECT_LT(learned, 1.05 * simulate_pool(simulation).mean_ms);
}

}  // namespace
}  // namespace skein
