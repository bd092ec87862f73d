// Random supervision trees under random attack, on the deterministic runtime: one seed is one tree and one attack.
//
// Kills, crashes and calls fall between single steps of the scheduler, also while supervisors start, restart and stop
// children. While it goes on, and when all is at rest, TreeAccount and the checks here say whether the supervisors did
// what they must: no process without a living supervisor, no name left behind, no start beside what is left of the old
// subtree, every child as its strategy says, every restart counted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace skein::sim {

struct TreeModelResult {
  std::vector<std::string> violations;
  std::vector<std::string> trace;  // what was done and reported, if asked for
  std::uint64_t restarts = 0;
  std::uint64_t give_ups = 0;
  std::uint64_t unjudged = 0;
  std::uint64_t steps = 0;
};

[[nodiscard]] TreeModelResult run_tree_model(std::uint64_t seed, bool trace);

}  // namespace skein::sim
