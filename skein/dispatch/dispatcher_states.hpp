// The states of a task, a run and an agent as the dispatcher sees them, and which of them may follow which. Pure.
// 1. Records change their state by become() and tell() alone (dispatcher_records.hpp), and only as the table of
//    the enum allows: a dispatcher that has lost track stops before it appends what follows from that.
//
// A table has a row per state before and a column per state after, both in the order of the enum; an x allows the
// change. To enter the same state again is a change like any other.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace skein::inline v0::dispatch {

template <class State, std::size_t N>
class Transitions {
 public:
  using Rows = std::array<std::string_view, N>;
  consteval explicit Transitions(const Rows& rows) {
    for (std::size_t from = 0; from < N; ++from) {
      if (rows[from].size() != N) throw "a row has another length than there are states";
      for (std::size_t to = 0; to < N; ++to) allowed_[from][to] = rows[from][to] == 'x';
    }
  }
  [[nodiscard]] constexpr bool allow(State from, State to) const {
    return allowed_[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
  }

 private:
  std::array<std::array<bool, N>, N> allowed_{};
};

// Where a task stands.
enum class TaskPhase : std::uint8_t {
  none,       // a free slot, or out of the ready queue and on its way to another phase
  blocked,    // known only for its deadline
  delayed,    // queued, not before a time
  ready,      // in the ready queue
  assigning,  // its assign is appended; it has a run without a fence
  running,    // it has a run with a fence
  ending,     // an operation that ends the run, or the task, is appended
};
inline constexpr std::size_t k_task_phases = 7;

// A ready task leaves the queue first (none). Only what is ready, or is requeued by the same append, is assigned. What
// the ledger says overrules what was expected: a change may queue or assign a task that was under way elsewhere.
inline constexpr Transitions<TaskPhase, k_task_phases> k_task_transitions{{
    //  none, blocked, delayed, ready, assigning, running, ending
    ".xxx.xx",  // none
    "..xx.xx",  // blocked
    "..xx.xx",  // delayed
    "x...x..",  // ready
    "..xx.xx",  // assigning
    "..xx.xx",  // running
    "..xxxxx",  // ending
}};

// How far a run is.
enum class RunState : std::uint8_t {
  deciding,  // its assign is not applied yet
  held,      // sent to the agent, or found in the ledger as being there; not begun as far as anybody said
  started,   // the agent said that it has begun
  reported,  // the agent told its outcome, which the ledger has not decided yet
  returned,  // the agent gave it back or never had it: there is nobody to tell when the task goes on
};
inline constexpr std::size_t k_run_states = 5;

// An outcome is never taken back, and what has begun is not held unbegun again by the same run.
inline constexpr Transitions<RunState, k_run_states> k_run_transitions{{
    //  deciding, held, started, reported, returned
    ".xx..",  // deciding
    "..xxx",  // held
    "...xx",  // started
    ".....",  // reported
    ".x.xx",  // returned
}};

// What the agent was told to do with a run; more can follow, less cannot.
enum class Told : std::uint8_t { nothing, to_yield, to_stop };
inline constexpr std::size_t k_told_states = 3;

inline constexpr Transitions<Told, k_told_states> k_told_transitions{{
    //  nothing, to_yield, to_stop
    ".xx",  // nothing
    "..x",  // to_yield
    "...",  // to_stop
}};

// Whether an agent is there.
enum class AgentPresence : std::uint8_t {
  away,       // named by a run and not announced, or gone
  announced,  // before the state was known: what it holds is compared with the state when that comes
  here,       // announced, and what it holds was compared
};
inline constexpr std::size_t k_agent_states = 3;

// A known state stays known: agents that are here never wait for it again.
inline constexpr Transitions<AgentPresence, k_agent_states> k_agent_transitions{{
    //  away, announced, here
    ".xx",  // away
    "xxx",  // announced
    "x.x",  // here
}};

[[nodiscard]] constexpr bool may_become(TaskPhase from, TaskPhase to) { return k_task_transitions.allow(from, to); }
[[nodiscard]] constexpr bool may_become(RunState from, RunState to) { return k_run_transitions.allow(from, to); }
[[nodiscard]] constexpr bool may_become(Told from, Told to) { return k_told_transitions.allow(from, to); }
[[nodiscard]] constexpr bool may_become(AgentPresence from, AgentPresence to) {
  return k_agent_transitions.allow(from, to);
}

}  // namespace skein::inline v0::dispatch
