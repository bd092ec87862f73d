// Planted bugs: each is put into the running program, the simulation that must find it tells its stories, seed by seed,
// and it must be found; see planted.hpp. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/planted.hpp"

namespace skein::sim {

struct PlantedBug {
  Bug bug;
  const char* what;
  std::uint64_t seeds_max;                                             // one that needs so many hides
  std::function<std::optional<std::string>(std::uint64_t)> violation;  // what the story of a seed violates
};

[[nodiscard]] std::vector<PlantedBug>& all_mutants();

}  // namespace skein::sim
