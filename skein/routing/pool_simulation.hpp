// A pool of agents on virtual time, routed by a Router: what a strategy is worth, in figures.
//
// Tasks arrive at random (Poisson); an agent works on one at a time and holds others in order. Some agents are slow,
// some fail. A task that nobody can take waits for the next agent that gets free. The same seed gives the same figures.
// For benchmarks and tests; a pure function, callable from any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "skein/base/time.hpp"
#include "skein/routing/balance.hpp"

namespace skein::inline v0 {

struct PoolSimulation {
  Balance strategy = Balance::round_robin;
  std::uint64_t seed = 1;
  std::size_t agents = 40;
  std::uint32_t capacity = 10;
  std::size_t tasks = 200'000;  // over four minutes: breakers of failing agents open and close many times
  Duration service = std::chrono::milliseconds(20);  // on average; uniform from half to one and a half of it
  double arrivals = 0.4;                             // tasks per agent and service time
  std::size_t slow_one_in = 0;                       // every so many agents one is slow; 0: none
  double slow_factor = 10;
  std::size_t failing_one_in = 0;
  double failing_rate = 0.5;
  std::size_t backlog_max = 1'000'000;  // tasks waiting; what comes beyond is not let in

  // The skewed pool of the published benchmark: one in four is ten times slower, one in ten fails half the time.
  [[nodiscard]] static PoolSimulation skewed(Balance strategy, std::uint64_t seed = 1);
  [[nodiscard]] static PoolSimulation even(Balance strategy, std::uint64_t seed = 1);
};

struct PoolFigures {
  double mean_ms = 0;  // from arrival to end
  double p99_ms = 0;
  double failed = 0;  // share
  std::size_t tasks = 0;
};

// The figures of the second half of the tasks: how it ends, when what can be learned is learned.
[[nodiscard]] PoolFigures simulate_pool(const PoolSimulation& simulation);

}  // namespace skein::inline v0
