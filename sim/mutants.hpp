// Planted bugs: each is put into the running program, the simulation that must find it tells its stories, seed by seed,
// and it must be found; see planted.hpp. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "sim/planted.hpp"

namespace skein::sim {

// What the story of a seed violates.
using Story = std::function<std::optional<std::string>(std::uint64_t)>;

struct PlantedBug {
  Bug bug;
  const char* what;
  std::uint64_t seeds_max;  // one that needs so many hides
  Story violation;
};

struct NamedBug {
  Bug bug;
  const char* what;
};

[[nodiscard]] std::vector<PlantedBug>& all_mutants();
// Adds bugs that the same stories must find. True, so that a constant can be made with it.
bool add_mutants(std::uint64_t seeds_max, const Story& violation, std::initializer_list<NamedBug> bugs);

}  // namespace skein::sim
