// skein-sim ledger: stories of the whole stack, seed by seed.
#include <fmt/format.h>

#include "sim/seeds.hpp"
#include "sim/stack_world.hpp"

namespace skein::sim {
namespace {

constexpr const char* k_ledger_usage = "ledger [--seeds N] [--start S] | ledger --seed X [--trace]";
constexpr std::uint64_t k_ledger_seeds = 500;

int run_ledger(std::span<const std::string> args) {
  const auto seeds = read_seeds(args, k_ledger_seeds, k_ledger_usage);
  if (!seeds) return k_bad_usage;
  Counts total;
  const auto add = [&](const StackResult& story) {
    for (const auto& [what, count] : story.counts) total[what] += count;
  };
  if (!hold_all(*seeds, "ledger", tell_stack_story, add)) return k_violated;
  for (const auto& [what, count] : total) fmt::print("{:>12} {}\n", count, what);
  fmt::print("{} seeds: nothing violated; {} leases expired, {} breakers opened, {} submits answered unknown\n",
             seeds->count, total["requeued: lease_expired"], total["event breaker_opened"],
             total["submits answered unknown"]);
  return k_nothing_violated;
}

const Registrar k_ledger{{.name = "ledger", .usage = k_ledger_usage, .run = run_ledger}};

}  // namespace
}  // namespace skein::sim
