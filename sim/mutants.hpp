// Planted bugs: each is put into the running program, the simulation that must find it tells its stories, seed by seed,
// and it must be found. Only skein-sim has them: it is linked with its own build of the sources they are in, in which
// planted() asks here. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace skein::sim {

struct PlantedBug {
  const char* what;
  std::uint64_t seeds_max;                                             // one that needs so many hides
  std::function<void(bool is_planted)> plant;                          // or takes it out again
  std::function<std::optional<std::string>(std::uint64_t)> violation;  // what the story of a seed violates
};

[[nodiscard]] std::vector<PlantedBug>& all_mutants();

}  // namespace skein::sim
