// Which tasks move to the fallback swarm of their swarm, and the operations that move them. Decides only: the ledger
// counts attempts and the node's crashes, so it says in the end whether the task moves, fails or is tried again where
// it is. Reads the core's table of swarms, which outlives it. One thread at a time.
//
// 1. An operation names a fallback only when it may end the task's last attempt in its swarm.
// 2. What failed for good fails in every swarm: it does not move.
// 3. A pinned task stays with its agent's swarm, unless any agent may have it.
// 4. A ledger of a version that does not know of fallbacks is not told of them.
#pragma once

#include <string>

#include "skein/dispatch/dispatcher_options.hpp"
#include "skein/dispatch/dispatcher_records.hpp"
#include "skein/ledger/command.hpp"

namespace skein::inline v0::dispatch {

class Fallback {
 public:
  Fallback(const Slab<SwarmRecord>& swarms, const DispatcherOptions& options) : swarms_(swarms), options_(options) {}

  // What the ledger understands.
  void set_version(std::uint64_t version) { version_ = version; }

  // The swarm that takes the task over should the attempt at hand have been the last one here; empty: none.
  [[nodiscard]] const std::string& swarm_for(const TaskRecord& task) const;

  // The operation that ends an attempt: the failure itself, or with the fallback that it leads to.
  [[nodiscard]] ledger::Op failed(const TaskRecord& task, ledger::Epoch epoch, ledger::Fail failure) const;
  // The operation that ends an attempt whose agent has the task no longer: the requeue itself; with what the agent last
  // said, if it said something and the ledger takes it; with the fallback that it leads to.
  [[nodiscard]] ledger::Op requeued(const TaskRecord& task, const ledger::Requeue& op,
                                    const std::string* last_words) const;

 private:
  const Slab<SwarmRecord>& swarms_;
  const DispatcherOptions& options_;
  std::uint64_t version_ = ledger::k_first_ledger_version;
};

}  // namespace skein::inline v0::dispatch
