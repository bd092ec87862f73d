// What the dispatcher's core remembers of tasks, runs, agents and swarms; see dispatcher_core.hpp. Plain data, kept in
// slabs and named by their slots.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skein/base/must_hold.hpp"
#include "skein/dispatch/agent_protocol.hpp"
#include "skein/dispatch/crash_breaker.hpp"
#include "skein/dispatch/dispatcher_states.hpp"
#include "skein/ledger/change.hpp"
#include "skein/resilience/phi_detector.hpp"
#include "skein/routing/adaptive_retry.hpp"
#include "skein/routing/routed_agent.hpp"

namespace skein::inline v0::dispatch {

using SlotNumber = std::uint32_t;
inline constexpr SlotNumber k_no_slot = UINT32_MAX;

// Items with numbers that stay theirs until they are given back; then used again.
template <class T>
class Slab {
 public:
  SlotNumber add() {
    if (free_.empty()) {
      items_.emplace_back();
      return static_cast<SlotNumber>(items_.size() - 1);
    }
    const SlotNumber slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void remove(SlotNumber slot) {
    items_[slot] = T{};
    free_.push_back(slot);
  }
  [[nodiscard]] T& operator[](SlotNumber slot) { return items_[slot]; }
  [[nodiscard]] const T& operator[](SlotNumber slot) const { return items_[slot]; }
  void prefetch(SlotNumber slot) const {
    const auto* item = reinterpret_cast<const char*>(&items_[slot]);
    for (std::size_t line = 0; line < sizeof(T); line += 64) __builtin_prefetch(item + line);
  }
  [[nodiscard]] std::size_t slots() const { return items_.size(); }
  [[nodiscard]] std::size_t size() const { return items_.size() - free_.size(); }
  void clear() {
    items_.clear();
    free_.clear();
  }

 private:
  std::vector<T> items_;
  std::vector<SlotNumber> free_;
};

// What few tasks have: an earlier attempt, or an agent they wait for.
struct TaskPast {
  ledger::Body mark;
  std::uint32_t failed_by = 0;  // agents
  std::array<AgentHandle, 2> failed_agents{};
  std::optional<AdaptiveRetry::Chosen> retry;  // what was chosen before this attempt
  Instant unpin_at = Instant::max();           // pinned: when any agent may have it
};

struct TaskRecord {
  // Made when it is first needed.
  [[nodiscard]] TaskPast& its_past() {
    if (!past) past = std::make_unique<TaskPast>();
    return *past;
  }
  void become(TaskPhase next) {
    must_hold(may_become(phase, next), "dispatcher_states.hpp 1: a task cannot change its phase like that");
    phase = next;
  }
  [[nodiscard]] const ledger::Shape& shape() const { return **shared_shape; }
  // The agent that alone may have it; empty: any may.
  [[nodiscard]] std::string_view pinned_to() const {
    const bool is_pinned = extras && extras->placement && extras->placement->is_pinned();
    return is_pinned ? std::string_view(extras->placement->agent) : std::string_view();
  }

  ledger::TaskId id;
  ledger::TaskNumber number = 0;
  const std::shared_ptr<const ledger::Shape>* shared_shape = nullptr;  // the ready queue's, while it holds its lane
  ledger::Body params;
  std::shared_ptr<const ledger::Extras> extras;
  ledger::Fence fence = 0;  // of its last assignment that is known to be applied
  std::int64_t order = 0;
  std::uint64_t timeout_ms = 0;
  ledger::WallMs deadline_at = 0;
  Instant wait_until = Instant::max();    // delayed: when it becomes ready
  Instant deadline_due = Instant::max();  // the deadline on the monotonic clock
  Instant asks_again_at{};                // for a place: when the next run may be asked to yield for it
  std::uint64_t batch = 0;                // the append that carries an operation on it; 0: none
  SlotNumber lane = k_no_slot;
  SlotNumber swarm = k_no_slot;
  SlotNumber run = k_no_slot;
  std::uint32_t attempts = 0;
  std::uint32_t attempts_max = 0;
  std::uint16_t priority = 0;
  std::uint16_t effective_priority = 0;
  TaskPhase phase = TaskPhase::none;
  std::uint8_t returns_asked = 0;    // for an idle agent
  std::uint8_t times_preempted = 0;  // as far as this dispatcher knows
  bool goes_to_idle = false;         // it was returned for one, whatever the swarm's strategy says
  std::unique_ptr<TaskPast> past;
};

// A task at an agent: from the decision to give it to the agent until the agent no longer has it.
struct Run {
  void become(RunState next) {
    must_hold(may_become(state, next), "dispatcher_states.hpp 1: a run cannot change its state like that");
    state = next;
  }
  void tell(Told next) {
    must_hold(may_become(told, next), "order_mail.hpp 2: a run is told to stop once");
    told = next;
  }
  // The agent has it, as far as is known.
  [[nodiscard]] bool is_at_agent() const {
    return state == RunState::held || state == RunState::started || state == RunState::reported;
  }
  // And owes an outcome.
  [[nodiscard]] bool is_open() const { return state == RunState::held || state == RunState::started; }
  [[nodiscard]] bool is_reported() const { return state == RunState::reported; }
  [[nodiscard]] bool is_started() const { return state == RunState::started; }
  // The task goes on without it; it still occupies the agent.
  [[nodiscard]] bool is_abandoned() const { return task == k_no_slot; }

  SlotNumber task = k_no_slot;  // none: abandoned
  SlotNumber agent = k_no_slot;
  TaskRef ref;  // fence 0: not issued yet
  std::optional<Assignment> ticket;
  Instant lease_until = Instant::max();
  Instant timeout_at = Instant::max();
  Instant since{};                         // sent, or started
  std::optional<Instant> return_asked_at;  // asked for its return, if it is not begun
  std::optional<ledger::Body> next_mark;   // the last one told while another was under way
  std::unique_ptr<std::string> last_words;
  std::optional<Duration> timed_out_after;
  std::uint32_t place = 0;        // in its agent's runs
  std::uint32_t share_group = 0;  // of the executor it holds a place of; 0: none that is shared
  SlotNumber share_swarm = k_no_slot;
  double charged = 0;  // for that place, in seconds
  RunState state = RunState::deciding;
  Told told = Told::nothing;
  bool is_confirmed = false;  // the agent has said that it holds it, to this dispatcher
  bool has_mark_under_way = false;
  bool is_probe = false;   // given out while the breaker of its swarm and type was half open
  bool is_listed = false;  // by the message at hand
};

// Why an agent gets nothing although it is there.
enum class Hold : std::uint8_t {
  paused,         // by somebody
  paused_itself,  // by itself
  refused,        // the ledger does not take its name
  silent,         // nothing was heard of it
  outcomes_wait,  // as many as it may tell before the ledger has decided some
};
class Holds {
 public:
  [[nodiscard]] bool has(Hold hold) const { return (bits_ & bit(hold)) != 0; }
  [[nodiscard]] bool any() const { return bits_ != 0; }
  void set(Hold hold, bool is_held) {
    bits_ = static_cast<std::uint8_t>(is_held ? bits_ | bit(hold) : bits_ & ~bit(hold));
  }
  void clear() { bits_ = 0; }

 private:
  [[nodiscard]] static std::uint8_t bit(Hold hold) {
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(hold));
  }
  std::uint8_t bits_ = 0;
};

// What an agent has once there was something to be sent to it: there may be a million idle ones.
struct AgentMail {
  Orders out;
  std::vector<TaskRef> held;  // announced before the state was known
};

struct AgentRecord {
  // Made when it is first needed.
  [[nodiscard]] AgentMail& its_mail() {
    if (!mail) mail = std::make_unique<AgentMail>();
    return *mail;
  }
  void become(AgentPresence next) {
    must_hold(may_become(state, next), "dispatcher_states.hpp 1: an agent cannot change its state like that");
    state = next;
  }
  [[nodiscard]] bool has(std::string_view capability) const {
    return capabilities && std::binary_search(capabilities->begin(), capabilities->end(), capability);
  }
  [[nodiscard]] bool has_all(const std::vector<std::string>& sorted) const {
    return capabilities && std::includes(capabilities->begin(), capabilities->end(), sorted.begin(), sorted.end());
  }

  std::string name;
  Pid pid;                                                       // nobody: not announced, or gone
  std::optional<AgentHandle> handle;                             // in the router, while it is there
  std::shared_ptr<const std::vector<std::string>> capabilities;  // sorted; shared by those who have the same
  std::vector<SlotNumber> runs;
  std::unique_ptr<AgentMail> mail;
  std::uint64_t sequence = 0;
  Instant sent_at{};
  Instant heard_at{};
  std::optional<PhiDetector> heartbeats;  // from its announcement on
  std::uint32_t unsettled = 0;            // outcomes told and not yet decided
  std::uint32_t outcome_room = k_outcome_room;
  Role role = Role::worker;
  bool is_function = false;
  Duration attempt_timeout{};  // zero: by kind
  bool reports_starts = false;
  bool tells_last_words = false;
  bool is_managed = false;  // by its swarm's coordinator
  Holds holds;
  bool is_in_mail = false;                    // has something to be sent
  AgentPresence state = AgentPresence::away;  // away when it has no pid, and only then
  AgentMetrics metrics;
};

// Whether the agent has begun the run, as far as is known: an agent that does not report starts begins at once.
[[nodiscard]] inline bool has_worked(const Run& run, const AgentRecord& agent) {
  return run.is_started() || (run.is_open() && !agent.reports_starts);
}
// And is still there with it, and the task waits for it.
[[nodiscard]] inline bool is_at_work(const Run& run, const AgentRecord& agent) {
  return !run.is_abandoned() && agent.pid && has_worked(run, agent);
}

struct SwarmRecord {
  std::string name;
  ledger::SwarmState state = ledger::SwarmState::active;
  // Of the swarm as a whole, in the ledger: as an earlier version left it. Crashes are counted per type, see
  // crash_breaker.hpp.
  ledger::Breaker breaker = ledger::Breaker::closed;
  ledger::WallMs breaker_until = 0;
  Balance strategy = Balance::round_robin;
  std::string own_agents;               // the capability only they have; empty: it has none
  std::string fallback;                 // the swarm its tasks go to when their attempts are used up; empty: none
  ledger::Swarm latest;                 // as it was told last
  CrashBreakerOptions breaker_options;  // its own, or the dispatcher's
  std::uint32_t weight = 1;             // of its share
  std::uint32_t share_group = 0;        // of the executor it shares with others; 0: none
  bool is_changing = false;             // a change of its breaker is appended
  bool is_known = false;

  [[nodiscard]] bool gives_out() const {
    using enum ledger::SwarmState;
    return is_known && (state == active || state == draining || state == removed) && breaker != ledger::Breaker::open;
  }
};

}  // namespace skein::inline v0::dispatch
