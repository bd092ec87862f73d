// skein-sim ledger: stories of the whole stack, seed by seed.
#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "sim/simulation.hpp"
#include "sim/stack_world.hpp"

namespace skein::sim {
namespace {

constexpr const char* k_usage = "ledger [--seeds N] [--start S] | ledger --seed X [--trace]";
constexpr std::uint64_t k_seeds_default = 500;

struct Options {
  std::uint64_t seeds = k_seeds_default;
  std::uint64_t start = 1;
  bool trace = false;
};

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Options> parse(std::span<const std::string> args) {
  Options options;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--trace") {
      options.trace = true;
      continue;
    }
    const auto value = i + 1 < args.size() ? number(args[i + 1]) : std::nullopt;
    if (!value) return std::nullopt;
    if (args[i] == "--seeds") {
      options.seeds = *value;
    } else if (args[i] == "--start") {
      options.start = *value;
    } else if (args[i] == "--seed") {
      options.start = *value;
      options.seeds = 1;
    } else {
      return std::nullopt;
    }
    ++i;
  }
  return options;
}

void print_trace(const StackResult& story) {
  for (const auto& line : story.trace) fmt::print("{}\n", line);
}

int run_ledger(std::span<const std::string> args) {
  const auto options = parse(args);
  if (!options) {
    fmt::print(stderr, "skein-sim: 'ledger' is not understood like that\nusage: skein-sim {}\n", k_usage);
    return k_bad_usage;
  }
  Counts total;
  for (std::uint64_t seed = options->start; seed < options->start + options->seeds; ++seed) {
    const auto story = tell_stack_story(seed, options->trace);
    if (options->trace) print_trace(story);
    if (story.violation) {
      if (!options->trace) print_trace(tell_stack_story(seed, true));
      fmt::print("seed {}: {}\nagain: skein-sim ledger --seed {} --trace\n", seed, *story.violation, seed);
      return k_violated;
    }
    for (const auto& [what, count] : story.counts) total[what] += count;
  }
  for (const auto& [what, count] : total) fmt::print("{:>12} {}\n", count, what);
  fmt::print("{} seeds: nothing violated; {} leases expired, {} breakers opened, {} submits answered unknown\n",
             options->seeds, total["requeued: lease_expired"], total["event breaker_opened"],
             total["submits answered unknown"]);
  return k_nothing_violated;
}

const Registrar k_registered{{.name = "ledger", .usage = k_usage, .run = run_ledger}};

}  // namespace
}  // namespace skein::sim
