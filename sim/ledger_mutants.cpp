// skein-sim ledger-mutants: the model of the ledger against bugs planted in the ledger. As for the journal's (see
// mutants.cpp), only skein-sim has them: it is linked with its own build of the ledger's sources. One thread.
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <optional>
#include <string>

#include "sim/ledger_model.hpp"
#include "sim/simulation.hpp"
#include "skein/ledger/planted.hpp"

namespace skein::inline v0::ledger {
namespace {

std::optional<Bug>& the_planted() {
  static std::optional<Bug> bug;
  return bug;
}

}  // namespace

bool planted(Bug bug) noexcept { return the_planted() == bug; }

}  // namespace skein::inline v0::ledger

namespace skein::sim {
namespace {

using ledger::Bug;

// Each falls within some seeds; one that needs this many hides.
constexpr std::uint64_t k_seeds_max = 1000;
constexpr std::size_t k_steps = 400;

struct Mutant {
  Bug bug;
  const char* what;
};

constexpr std::array k_mutants = {
    Mutant{Bug::stale_fence_accepted, "an outcome with a stale fence is accepted"},
    Mutant{Bug::completion_applied_twice, "a completion is applied twice"},
    Mutant{Bug::apply_counts_outside_state, "apply reads what is not in the state"},
    Mutant{Bug::requeue_loses_attempts, "a requeue after a crash costs no attempt"},
    Mutant{Bug::key_forgotten_at_snapshot, "idempotency keys are left out of snapshots"},
    Mutant{Bug::cancel_reopens_finished, "a cancel opens a finished task again"},
    Mutant{Bug::queue_limit_off_by_one, "a swarm takes one task more than its limit"},
};

std::optional<std::uint64_t> seed_that_catches(std::optional<Bug> bug, std::uint64_t seeds, std::string& violation) {
  ledger::the_planted() = bug;
  std::optional<std::uint64_t> caught;
  for (std::uint64_t seed = 1; seed <= seeds && !caught; ++seed) {
    const auto wrong = run_ledger_steps(ledger_steps(seed, k_steps));
    if (!wrong) continue;
    violation = *wrong;
    caught = seed;
  }
  ledger::the_planted().reset();
  return caught;
}

int run_mutants(std::span<const std::string> args) {
  if (!args.empty()) {
    fmt::print(stderr, "skein-sim: 'ledger-mutants' takes no arguments\nusage: skein-sim ledger-mutants\n");
    return k_bad_usage;
  }
  std::string violation;
  if (const auto seed = seed_that_catches(std::nullopt, 100, violation)) {
    fmt::print("seed {} with nothing planted: {}\n", *seed, violation);
    return k_violated;
  }
  std::size_t caught = 0;
  for (const Mutant& mutant : k_mutants) {
    if (const auto seed = seed_that_catches(mutant.bug, k_seeds_max, violation)) {
      ++caught;
      fmt::print("caught by seed {:>4}: {}\n                     {}\n", *seed, mutant.what, violation);
    } else {
      fmt::print("NOT CAUGHT by {} seeds: {}\n", k_seeds_max, mutant.what);
    }
    std::fflush(stdout);
  }
  fmt::print("{} of {} caught\n", caught, k_mutants.size());
  return caught == k_mutants.size() ? k_nothing_violated : k_violated;
}

const Registrar k_registered{{.name = "ledger-mutants", .usage = "ledger-mutants", .run = run_mutants}};

}  // namespace
}  // namespace skein::sim
