// What people and swarm coordinators see of the dispatcher's tables. Only reads. One thread at a time.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "skein/dispatch/dispatcher_tables.hpp"
#include "skein/dispatch/moment.hpp"
#include "skein/dispatch/passed_over.hpp"
#include "skein/dispatch/ready_queue.hpp"
#include "skein/dispatch/swarm_load.hpp"
#include "skein/dispatch/type_breakers.hpp"
#include "skein/routing/router.hpp"

namespace skein::inline v0::dispatch {

// Nothing when there is no such swarm, or it is not known yet. Costs as much as there are agents and lanes.
[[nodiscard]] std::optional<SwarmLoad> swarm_load(const DispatcherTables& tables, const ReadyQueue& queue,
                                                  const TypeBreakers& breakers, std::string_view name);
// Agents and types of tasks that get nothing at the moment, and why; see passed_over.hpp. Of one agent, or of all.
[[nodiscard]] std::vector<PassedOver> passed_over_agents(const DispatcherTables& tables, Router& router,
                                                         std::string_view name, const Moment& moment);
[[nodiscard]] std::vector<PassedOver> passed_over_types(const TypeBreakers& breakers, const Moment& moment);

}  // namespace skein::inline v0::dispatch
