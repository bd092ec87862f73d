// skein-sim mutants: the simulators against bugs planted in supervisors, journal, ledger, dispatcher, archive and
// operations.
#include "sim/mutants.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "sim/simulation.hpp"

namespace skein {
namespace {

std::optional<Bug>& the_planted() {
  static std::optional<Bug> bug;
  return bug;
}

}  // namespace

void plant(std::optional<Bug> bug) { the_planted() = bug; }
bool planted(Bug bug) noexcept { return the_planted() == bug; }

}  // namespace skein

namespace skein::sim {

std::vector<PlantedBug>& all_mutants() {
  static std::vector<PlantedBug> all;
  return all;
}

bool add_mutants(std::uint64_t seeds_max, const Story& violation, std::initializer_list<NamedBug> bugs) {
  for (const auto& [bug, what] : bugs) all_mutants().push_back({bug, what, seeds_max, violation});
  return true;
}

namespace {

// True when some seed finds it.
bool is_caught(const PlantedBug& mutant) {
  for (std::uint64_t seed = 1; seed <= mutant.seeds_max; ++seed) {
    plant(mutant.bug);
    const auto violation = mutant.violation(seed);
    plant(std::nullopt);
    if (!violation) continue;
    fmt::print("caught by seed {:>4}: {}\n                     {}\n", seed, mutant.what, *violation);
    // The same story without the bug: what was found is the bug, and not the simulator's own.
    if (const auto innocent = mutant.violation(seed)) {
      fmt::print("seed {} without it: {}\n", seed, *innocent);
      return false;
    }
    return true;
  }
  fmt::print("NOT CAUGHT by {} seeds: {}\n", mutant.seeds_max, mutant.what);
  return false;
}

int run_mutants(std::span<const std::string> args) {
  if (!args.empty()) {
    fmt::print(stderr, "skein-sim: 'mutants' takes no arguments\nusage: skein-sim mutants\n");
    return k_bad_usage;
  }
  std::size_t caught = 0;
  for (const auto& mutant : all_mutants()) {
    if (is_caught(mutant)) ++caught;
    std::fflush(stdout);
  }
  fmt::print("{} of {} caught\n", caught, all_mutants().size());
  return caught == all_mutants().size() ? k_nothing_violated : k_violated;
}

const Registrar k_registered{{.name = "mutants", .usage = "mutants", .run = run_mutants}};

}  // namespace
}  // namespace skein::sim
