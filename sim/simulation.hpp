// The list of simulations. A sim/*.cpp file adds its own with a static registrar:
//
//   const skein::sim::Registrar k_raft{{.name = "raft", .usage = "raft [--seeds N] [--seed S]", .run = run_raft}};
//
// The list is filled before main and only read afterwards, by main's thread.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace skein::sim {

// What a simulation answers, and what skein-sim exits with.
inline constexpr int k_nothing_violated = 0;
inline constexpr int k_violated = 1;
inline constexpr int k_bad_usage = 2;

struct Simulation {
  const char* name;
  const char* usage;
  int (*run)(std::span<const std::string> args);  // prints the seed and trace of what it finds violated
};

[[nodiscard]] std::vector<Simulation>& simulations();

struct Registrar {
  explicit Registrar(const Simulation& simulation) { simulations().push_back(simulation); }
};

}  // namespace skein::sim
