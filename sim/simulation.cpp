#include "sim/simulation.hpp"

namespace skein::sim {

std::vector<Simulation>& simulations() {
  static std::vector<Simulation> list;
  return list;
}

}  // namespace skein::sim
