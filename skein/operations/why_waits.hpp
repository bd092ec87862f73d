// Why an open task does not run yet: one sentence for people, a word for programs.
//
// Pure. The caller gathers the facts: task, swarm and dependencies from the ledger, types that are held back from
// the dispatcher, agents from the registry. The first cause that holds is named: it must go before any later one
// counts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skein/dispatch/passed_over.hpp"
#include "skein/ledger/change.hpp"
#include "skein/ledger/task.hpp"

namespace skein::inline v0::operations {

// Their names are the API: they stay as they are.
enum class WaitCause : std::uint8_t {
  none,            // it runs, or has ended
  dependencies,    // other tasks must be completed first
  swarm_stopped,   //
  swarm_paused,    //
  not_before,      // it was delayed, or its next attempt is
  swarm_breaker,   // the swarm's breaker is open
  type_held_back,  // agents crashed over tasks of its type
  its_agent,       // it is for one agent, which does not take it
  no_able_agent,   // no agent that may run the task can do it
  no_agent,        // its swarm has no agent at the moment
  busy,            // all agents that can do it hold other tasks
  soon,            // nothing is in its way
  agents_paused,   // the agents that can do it are paused
  agents_stopped,  // those of [[agents]] that can do it do not run
  agents_failing,  // those of [[agents]] that can do it end before they are ready, again and again
  node_stopping,   // the node is on its way down; it begins after the next start
};
inline constexpr WaitCause k_last_wait_cause = WaitCause::node_stopping;
[[nodiscard]] std::string_view name_of(WaitCause cause);
// Time alone does not end it: somebody has to do something.
[[nodiscard]] bool needs_help(WaitCause cause);
[[nodiscard]] bool needs_help(std::string_view cause);  // by its name

inline constexpr std::size_t k_swarms_named = 5;        // in one sentence
inline constexpr std::size_t k_dependencies_named = 3;  // likewise
inline constexpr std::size_t k_agents_named = 3;        // likewise

// What was paused or stopped by somebody, as the ledger has it. `number` differs whenever the names do.
struct PausedNames {
  std::uint64_t number = 0;
  std::vector<std::string> agents{};  // sorted
  std::vector<std::string> swarms{};  // sorted; those that give nothing out

  [[nodiscard]] bool has_agent(std::string_view name) const;
  [[nodiscard]] bool has_swarm(std::string_view name) const;
};

// Agents as the registry has them, seen from one task.
struct AbleAgents {
  std::uint64_t able = 0;                // have what it needs, belong to its swarm where that has agents, not paused
  std::uint64_t busy = 0;                // of those, hold a task
  std::uint64_t of_swarm = 0;            // of its swarm, able or not
  std::vector<std::string> elsewhere{};  // swarms whose agents have what it needs; only when `able` is 0
  std::vector<std::string> paused{};     // would be able; only when `able` is 0, at most k_agents_named
  std::uint64_t paused_count = 0;        // all of these
  std::vector<std::string> stopped{};    // would be able and were stopped; likewise
  std::string failing{};                 // one that would be able and ends before it is ready; likewise
  std::string failing_why{};             // how it ended last
  bool is_paused_one_kept = false;       // one of `paused` was started by the swarm, which can start others like it
};

struct WaitFacts {
  const ledger::Task& task;
  const ledger::Swarm* swarm = nullptr;  // null: it has gone
  ledger::WallMs now = 0;
  std::vector<std::pair<ledger::TaskId, ledger::State>> dependencies{};  // those that are not completed
  const dispatch::PassedOver* held = nullptr;                            // its type is held back in its swarm
  std::string its_agent{};             // of a pinned task: why its agent has not taken it
  std::optional<AbleAgents> agents{};  // nothing: unknown
  std::string problem{};               // why its swarm cannot start agents, if that is so
  bool is_stopping = false;            // the node is on its way down
};

struct WaitReason {
  WaitCause cause = WaitCause::none;
  std::string text{};
  std::vector<std::string> able_swarms{};  // of no_able_agent: where there are agents that can do it
};

[[nodiscard]] WaitReason why_it_waits(const WaitFacts& facts);

}  // namespace skein::inline v0::operations
