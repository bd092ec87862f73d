// Which runs are asked to be returned: what an agent holds and has not begun, when its swarm or type is no longer given
// out, when its agent is suspected or has an open breaker, or when it waits behind a run while another agent is idle.
// This value only decides; the core asks the agent. The agent has the last word, since it alone knows what it has
// begun. Reads the core's tables, which outlive it. One thread at a time.
//
// 1. A run that has begun, was told to yield or to stop, or whose end is under way is never asked for.
// 2. A run is asked for again after return_after, since the question may have been lost.
// 3. Of runs that wait behind another no more are asked for than there are idle agents that can begin them, and each
//    task at most returns_max times: each return is one delivery more.
// 4. A key stays with its agent, a pinned task with its own while it must.
#pragma once

#include <string_view>
#include <vector>

#include "skein/dispatch/agent_choice.hpp"
#include "skein/dispatch/dispatcher_options.hpp"
#include "skein/dispatch/dispatcher_tables.hpp"
#include "skein/dispatch/type_breakers.hpp"

namespace skein::inline v0::dispatch {

class Returning {
 public:
  struct Parts {
    DispatcherTables& tables;
    TypeBreakers& breakers;
    const AgentChoice& choice;
    Router& router;
    const DispatcherOptions& options;
  };
  explicit Returning(const Parts& parts) : parts_(parts) {}

  // Of a swarm that gives nothing out any more; of one type only, unless that is empty.
  [[nodiscard]] std::vector<SlotNumber> of_swarm(SlotNumber swarm, std::string_view type, Instant now) const;
  // Of an agent that gets nothing for a while, and would spoil this too.
  [[nodiscard]] std::vector<SlotNumber> of_agent(std::string_view id, Instant now) const;
  // Of all agents: what is closed, and what idle agents could begin. At most returns_at_once; counts for each task
  // how often it was asked for.
  [[nodiscard]] std::vector<SlotNumber> of_waiting(Instant now);

 private:
  [[nodiscard]] bool may_be_asked(const Run& run, Instant now) const;
  [[nodiscard]] bool is_closed(const TaskRecord& task) const;
  [[nodiscard]] bool any_closed() const;
  [[nodiscard]] bool is_busy(const AgentRecord& agent) const;
  // How many idle agents could begin what waits at this one.
  [[nodiscard]] std::size_t idle_for(const Run& run, Instant now) const;

  Parts parts_;
};

}  // namespace skein::inline v0::dispatch
