// The seeds a simulation is asked to go through, which all simulations by seed understand in the same words:
//
//   [--seeds N] [--start S] [--first]  |  --seed X [--trace]
//
// and the walk over stories that each end with a violation or without. Called by main's thread.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "sim/simulation.hpp"

namespace skein::sim {

struct Seeds {
  std::uint64_t start = 1;
  std::uint64_t count = 0;
  bool trace = false;
  bool first = false;  // stop at the first seed that is violated
};

// What the arguments ask for; nullopt, with the usage on stderr, when they are not understood.
[[nodiscard]] std::optional<Seeds> read_seeds(std::span<const std::string> args, std::uint64_t count_default,
                                              const char* usage);

template <class Story>
void print_trace(const Story& story) {
  for (const auto& line : story.trace) fmt::print("{}\n", line);
}

// Tells story after story and hands each to `count`. False at the first that is violated: its seed, its trace and how
// to see it again were printed.
template <class Tell, class Count>
[[nodiscard]] bool hold_all(const Seeds& seeds, const char* name, Tell tell, Count count) {
  for (std::uint64_t seed = seeds.start; seed < seeds.start + seeds.count; ++seed) {
    const auto story = tell(seed, seeds.trace);
    print_trace(story);
    if (story.violation) {
      if (!seeds.trace) print_trace(tell(seed, true));
      fmt::print("seed {}: {}\nagain: skein-sim {} --seed {} --trace\n", seed, *story.violation, name, seed);
      return false;
    }
    count(story);
  }
  return true;
}

}  // namespace skein::sim
