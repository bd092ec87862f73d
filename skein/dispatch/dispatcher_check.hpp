// Whether the tables of the dispatcher's core agree with each other and with the ready queue. For tests and simulators:
// it costs as much as there are tasks, runs and agents.
#pragma once

#include <string>

#include "skein/dispatch/dispatcher_tables.hpp"
#include "skein/dispatch/ready_queue.hpp"

namespace skein::inline v0::dispatch {

// Empty when they do; else what does not fit.
[[nodiscard]] std::string inconsistency(const DispatcherTables& tables, const ReadyQueue& queue);

}  // namespace skein::inline v0::dispatch
