// skein-sim log: stories of a journal, seed by seed.
#include <fmt/format.h>

#include "sim/log_world.hpp"
#include "sim/seeds.hpp"

namespace skein::sim {
namespace {

constexpr const char* k_log_usage = "log [--seeds N] [--start S] | log --seed X [--trace]";
constexpr std::uint64_t k_log_seeds = 1000;

void add(StoryResult& total, const StoryResult& story) {
  total.commands += story.commands;
  total.starts += story.starts;
  total.power_cuts += story.power_cuts;
  total.failures += story.failures;
  total.damages += story.damages;
  total.points += story.points;
  for (const auto& [what, times] : story.tally) total.tally[what] += times;
}

int run_log(std::span<const std::string> args) {
  const auto seeds = read_seeds(args, k_log_seeds, k_log_usage);
  if (!seeds) return k_bad_usage;
  StoryResult total;
  if (!hold_all(*seeds, "log", tell_log_story, [&](const StoryResult& story) { add(total, story); })) {
    return k_violated;
  }
  for (const auto& [what, times] : total.tally) fmt::print("{:>10}  {}\n", times, what);
  fmt::print(
      "{} seeds: {} commands, {} starts, {} power cuts, {} disk failures, {} damaged copies, {} persistence points; "
      "nothing violated\n",
      seeds->count, total.commands, total.starts, total.power_cuts, total.failures, total.damages, total.points);
  return k_nothing_violated;
}

const Registrar k_log{{.name = "log", .usage = k_log_usage, .run = run_log}};

}  // namespace
}  // namespace skein::sim
