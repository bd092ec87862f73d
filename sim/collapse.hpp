// The collapse test: a tree that once came down is built again and attacked in the same way, phase by phase, on virtual
// time. What should happen is checked, what did happen is measured and written down for people.
#pragma once

#include <cstdint>
#include <string>

namespace skein::sim {

struct CollapseReport {
  std::string text;
  int passed = 0;
  int failed = 0;
};

[[nodiscard]] CollapseReport run_collapse(std::uint64_t seed);

}  // namespace skein::sim
