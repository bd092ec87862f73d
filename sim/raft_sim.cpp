// skein-sim raft: stories of a group that agrees on a log, seed by seed.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/raft_world.hpp"
#include "sim/seeds.hpp"

namespace skein::sim::raft {
namespace {

constexpr const char* k_raft_usage =
    "raft [--seeds N] [--start S] [--members 3|5|7] [--tally] | raft --seed X [--trace] [--members 3|5|7]";
constexpr std::uint64_t k_raft_seeds = 300;

struct Totals {
  std::uint64_t stories = 0;
  PitfallTally tally{};
  std::map<std::string, std::uint64_t> counts;
};

void print(const Totals& totals, bool with_tally) {
  for (const auto& [what, count] : totals.counts) fmt::print("{:>12} {}\n", count, what);
  if (!with_tally) return;
  fmt::print("situations of the thirty pitfalls, and how often they were met:\n");
  for (std::size_t i = 0; i < k_pitfalls; ++i) fmt::print("{:>12} {}\n", totals.tally[i], k_situations[i]);
}

int run_raft(std::span<const std::string> args) {
  std::vector<std::string> others;
  std::size_t members = 0;
  bool with_tally = false;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--tally") {
      with_tally = true;
    } else if (args[i] == "--members" && i + 1 < args.size() &&
               (args[i + 1] == "3" || args[i + 1] == "5" || args[i + 1] == "7")) {
      members = static_cast<std::size_t>(args[++i].front() - '0');
    } else {
      others.push_back(args[i]);
    }
  }
  const auto seeds = read_seeds(others, k_raft_seeds, k_raft_usage);
  if (!seeds) return k_bad_usage;
  Totals totals;
  const auto add = [&](const RaftStory& story) {
    ++totals.stories;
    for (std::size_t i = 0; i < k_pitfalls; ++i) totals.tally[i] += story.tally[i];
    for (const auto& [what, count] : story.counts) totals.counts[what] += count;
  };
  const auto tell = [&](std::uint64_t seed, bool trace) { return tell_raft_story(seed, trace, members); };
  if (!hold_all(*seeds, "raft", tell, add)) return k_violated;
  print(totals, with_tally);
  if (totals.stories != seeds->count || totals.stories == 0) {
    fmt::print("{} seeds were asked for, and {} were run\n", seeds->count, totals.stories);
    return k_violated;
  }
  fmt::print("{} seeds: nothing violated\n", totals.stories);
  return k_nothing_violated;
}

const Registrar k_raft{{.name = "raft", .usage = k_raft_usage, .run = run_raft}};

}  // namespace
}  // namespace skein::sim::raft
