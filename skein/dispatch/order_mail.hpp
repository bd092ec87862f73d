// Outgoing messages to agents: orders gather per agent and go out together once per step. All messages to an agent
// about a run are sent here, so that the run's record says what its agent was told. One thread at a time.
//
// 1. An agent gets at most one message per step; each is numbered one higher than the one before it.
// 2. A run is told to stop once, is asked to yield once, and is not asked to yield after it was told to stop (Told).
// 3. Nothing is sent to an agent without a process.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "skein/dispatch/dispatcher_tables.hpp"

namespace skein::inline v0::dispatch {

// Instructions to an agent about a run that it has to do.
[[nodiscard]] Order order_for(const Run& run, const TaskRecord& task, Duration timeout);

class OrderMail {
 public:
  explicit OrderMail(DispatcherTables& tables) : tables_(tables) {}

  [[nodiscard]] Orders& to(SlotNumber agent);
  // Ordered, and not yet sent: the agent cannot know of it.
  [[nodiscard]] static bool has_order(const AgentRecord& agent, TaskRef ref);

  // Unless the agent was told so before, or does not have it.
  void stop(Run& run, StopReason why);
  void ask_to_yield(Run& run);
  // Asks for those of these runs that their agents have not begun.
  void ask_to_return(std::span<const SlotNumber> runs, Instant now);

  // All that waits.
  void take(std::vector<std::pair<Pid, Orders>>& out, Instant now);

 private:
  DispatcherTables& tables_;
  std::vector<SlotNumber> waiting_;  // agents with AgentRecord::is_in_mail, and some that are gone
};

}  // namespace skein::inline v0::dispatch
