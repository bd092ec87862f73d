// What the dispatcher's core hands to its driver after each step, what it counts, and the events that it tells people.
// Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skein/base/time.hpp"
#include "skein/dispatch/agent_protocol.hpp"
#include "skein/dispatch/outgoing.hpp"
#include "skein/ledger/task.hpp"
#include "skein/runtime/pid.hpp"

namespace skein::inline v0::dispatch {

struct DispatchEvent {
  enum class Kind : std::uint8_t {
    agent_joined,
    agent_left,  // gracefully
    agent_crashed,
    agent_refused,
    agent_silent,
    agent_passed_over,  // the router goes around it; the detail says why, `until` for how long
    agent_back,         // and no longer does
    routing_timeout,    // nobody was free for a set of capabilities for so long
    was_late,           // this dispatcher had no turn for long; every run got a new lease
    was_paused,         // the whole program stood still
    lease_expired,
    attempt_timed_out,
    preempted,
    returned,   // not begun: for an idle agent, or since its swarm gives nothing out
    fell_back,  // by the subject, a swarm; the detail says to which
    unpinned,   // the subject, an agent, did not take its task in time; any agent may have it
    breaker_warning,
    breaker_opened,
    breaker_half_opened,
    breaker_closed,
    deposed,           // another dispatcher has taken over
    dispatch_refused,  // by the ledger; nothing is given out meanwhile
    learned_refused,   // the table of a dispatcher before this one
  };
  Kind kind = Kind::agent_joined;
  std::string subject;  // an agent, a swarm, or capabilities
  ledger::TaskNumber task = 0;
  std::string detail;
  std::string type{};        // breaker_*: of the tasks that it stops
  ledger::WallMs until = 0;  // agent_passed_over, breaker_opened: about when it is tried again; 0: unknown
};
[[nodiscard]] std::string_view name_of(DispatchEvent::Kind kind);

struct DispatchCounters {
  std::uint64_t assigned = 0;   // decided
  std::uint64_t delivered = 0;  // orders sent, resent ones not counted
  std::uint64_t completed = 0;
  std::uint64_t failed_attempts = 0;
  std::uint64_t requeued = 0;
  std::uint64_t returned = 0;   // not begun by their agents
  std::uint64_t fell_back = 0;  // to a fallback swarm
  std::uint64_t unpinned = 0;   // from an agent that did not take them in time
  std::uint64_t stale_reports = 0;
  std::uint64_t refused_ops = 0;
  std::uint64_t resyncs = 0;
  std::uint64_t aged = 0;
  std::uint64_t expired = 0;
  std::uint64_t late_steps = 0;  // after which every run got a new lease
  std::uint64_t pauses = 0;      // of the whole program
};

struct DispatchOutput {
  std::vector<Append> appends;
  std::vector<std::pair<Pid, Orders>> mail;
  std::vector<Pid> watch;    // monitor them
  std::vector<Pid> unwatch;  // no longer
  std::vector<DispatchEvent> events;
  Instant wake_at = Instant::max();
  bool wants_state = false;  // something did not fit: call on_state() with a fresh one

  void tell(DispatchEvent::Kind kind, std::string_view subject, ledger::TaskNumber task = 0, std::string detail = {}) {
    events.push_back({kind, std::string(subject), task, std::move(detail)});
  }
};

}  // namespace skein::inline v0::dispatch
