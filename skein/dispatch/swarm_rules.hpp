// What the dispatcher reads from the fields of a swarm: its strategy, fallback, breaker, weight, and the agents and
// executor that it has alone or shares. Pure.
#pragma once

#include "skein/dispatch/dispatcher_options.hpp"
#include "skein/dispatch/dispatcher_records.hpp"

namespace skein::inline v0::dispatch {

// A field that is missing or makes no sense counts as the option that stands for all swarms.
void read_swarm(SwarmRecord& record, const ledger::Swarm& swarm, const DispatcherOptions& options);

}  // namespace skein::inline v0::dispatch
