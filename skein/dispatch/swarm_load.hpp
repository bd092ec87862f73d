// What the dispatcher knows of one swarm: how much work waits and runs, and which agents are its own. Asked for by the
// swarm's coordinator. Plain values.
//
// A swarm that names an executor has agents of its own: they announce the capability swarm_capability(name), and only
// they get its tasks. Every other swarm's tasks go to any agent with the capabilities they need.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "skein/ledger/change.hpp"
#include "skein/runtime/pid.hpp"

namespace skein::inline v0::dispatch {

// Fields of a swarm that the dispatcher reads; `strategy` besides.
inline constexpr std::string_view k_field_executor = "executor";
inline constexpr std::string_view k_field_breaker_crashes = "breaker_crashes";
inline constexpr std::string_view k_field_breaker_open_ms = "breaker_open_ms";
inline constexpr std::string_view k_field_weight = "weight";  // of its share of an executor that others use too

[[nodiscard]] inline std::string swarm_capability(std::string_view swarm) { return "swarm=" + std::string(swarm); }
[[nodiscard]] inline bool has_own_agents(const ledger::Swarm& swarm) {
  const auto executor = swarm.field(k_field_executor);
  return executor && !executor->empty();
}

inline constexpr std::size_t k_needs_told = 256;  // of one swarm

struct SwarmLoad {
  struct Agent {
    std::string name;
    Pid pid;
    std::uint32_t runs = 0;   // tasks it holds
    bool is_paused = false;   // by somebody; one that cannot start its program is not
    std::uint32_t ahead = 0;  // of the swarm's, behind another one
    std::shared_ptr<const std::vector<std::string>> capabilities{};  // sorted
    bool is_managed = false;                                         // by the swarm's coordinator
  };
  // Tasks that could begin at once and need the same.
  struct Need {
    std::vector<std::string> capabilities;  // sorted, with the one only its own agents have
    std::uint64_t ready = 0;
  };
  ledger::Swarm swarm;        // its definition, state and breaker; what it counts is of the last change
  std::uint64_t ready = 0;    // tasks that could begin at once
  std::uint64_t tasks = 0;    // all that are open
  std::uint64_t running = 0;  // at its agents
  std::uint32_t crashes = 0;  // of agents over distinct tasks of one type; of the type that has most
  std::vector<Need> needs;    // what `ready` is made of; at most k_needs_told of them
  std::vector<Agent> agents;  // its own, announced and alive
};

}  // namespace skein::inline v0::dispatch
