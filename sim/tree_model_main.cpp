// `skein-sim trees`: random trees under random attack, a seed each.
#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "sim/simulation.hpp"
#include "sim/tree_model.hpp"

namespace skein::sim {
namespace {

constexpr const char* k_usage = "trees [--seeds N] [--start S] [--first] | trees --seed X [--trace]";
constexpr std::size_t k_shown_max = 5;

struct Choice {
  std::uint64_t seeds = 1000;
  std::uint64_t start = 1;
  bool trace = false;
  bool first = false;  // stop at the first seed that is violated
  bool bad = false;
};

Choice read(std::span<const std::string> args) {
  Choice choice;
  try {
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (args[i] == "--trace") {
        choice.trace = true;
        continue;
      }
      if (args[i] == "--first") {
        choice.first = true;
        continue;
      }
      const std::uint64_t value = i + 1 < args.size() ? std::stoull(args[i + 1]) : throw std::invalid_argument("");
      if (args[i] == "--seeds") {
        choice.seeds = value;
      } else if (args[i] == "--start") {
        choice.start = value;
      } else if (args[i] == "--seed") {
        choice.start = value;
        choice.seeds = 1;
      } else {
        choice.bad = true;
      }
      ++i;
    }
  } catch (const std::exception&) {
    choice.bad = true;
  }
  return choice;
}

int run_trees(std::span<const std::string> args) {
  const Choice choice = read(args);
  if (choice.bad) {
    fmt::print(stderr, "usage: skein-sim {}\n", k_usage);
    return k_bad_usage;
  }
  std::uint64_t violated = 0;
  std::uint64_t restarts = 0;
  std::uint64_t give_ups = 0;
  std::uint64_t unjudged = 0;
  std::uint64_t steps = 0;
  for (std::uint64_t seed = choice.start; seed < choice.start + choice.seeds; ++seed) {
    const TreeModelResult result = run_tree_model(seed, choice.trace);
    restarts += result.restarts;
    give_ups += result.give_ups;
    unjudged += result.unjudged;
    steps += result.steps;
    for (const std::string& line : result.trace) fmt::print("{}\n", line);
    if (result.violations.empty()) continue;
    if (++violated <= k_shown_max) {
      for (const std::string& each : result.violations) fmt::print("seed {}: {}\n", seed, each);
      fmt::print("again with its trace: skein-sim trees --seed {} --trace\n", seed);
    }
    if (choice.first) break;
  }
  fmt::print("{} seeds, {} steps, {} restarts, {} supervisors gave up, {} not judged to the end; {} seeds violated\n",
             choice.seeds, steps, restarts, give_ups, unjudged, violated);
  return violated == 0 ? k_nothing_violated : k_violated;
}

const Registrar k_trees{{.name = "trees", .usage = k_usage, .run = run_trees}};

}  // namespace
}  // namespace skein::sim
