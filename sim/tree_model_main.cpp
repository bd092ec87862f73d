// `skein-sim trees`: random trees under random attack, a seed each.
#include <fmt/format.h>

#include <string>

#include "sim/seeds.hpp"
#include "sim/tree_model.hpp"

namespace skein::sim {
namespace {

constexpr const char* k_trees_usage = "trees [--seeds N] [--start S] [--first] | trees --seed X [--trace]";
constexpr std::uint64_t k_trees_seeds = 1000;
constexpr std::size_t k_shown_max = 5;

int run_trees(std::span<const std::string> args) {
  const auto seeds = read_seeds(args, k_trees_seeds, k_trees_usage);
  if (!seeds) return k_bad_usage;
  std::uint64_t violated = 0;
  std::uint64_t restarts = 0;
  std::uint64_t give_ups = 0;
  std::uint64_t unjudged = 0;
  std::uint64_t steps = 0;
  for (std::uint64_t seed = seeds->start; seed < seeds->start + seeds->count; ++seed) {
    const TreeModelResult result = run_tree_model(seed, seeds->trace);
    restarts += result.restarts;
    give_ups += result.give_ups;
    unjudged += result.unjudged;
    steps += result.steps;
    print_trace(result);
    if (result.violations.empty()) continue;
    if (++violated <= k_shown_max) {
      for (const std::string& each : result.violations) fmt::print("seed {}: {}\n", seed, each);
      fmt::print("again with its trace: skein-sim trees --seed {} --trace\n", seed);
    }
    if (seeds->first) break;
  }
  fmt::print("{} seeds, {} steps, {} restarts, {} supervisors gave up, {} not judged to the end; {} seeds violated\n",
             seeds->count, steps, restarts, give_ups, unjudged, violated);
  return violated == 0 ? k_nothing_violated : k_violated;
}

const Registrar k_trees{{.name = "trees", .usage = k_trees_usage, .run = run_trees}};

}  // namespace
}  // namespace skein::sim
