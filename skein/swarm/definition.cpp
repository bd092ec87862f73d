#include "skein/swarm/definition.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "skein/dispatch/capability.hpp"
#include "skein/dispatch/swarm_load.hpp"
#include "skein/ledger/swarm_fields.hpp"
#include "skein/routing/hash_ring.hpp"

namespace skein::inline v0::swarm {
namespace {

dispatch::Role role_named(std::string_view name) {
  for (const auto each : {dispatch::Role::specialist, dispatch::Role::coordinator}) {
    if (name == dispatch::name_of(each)) return each;
  }
  return dispatch::Role::worker;
}

}  // namespace

std::expected<Definition, std::vector<std::string>> definition_of(const ledger::Swarm& swarm) {
  std::vector<std::string> problems;
  if (!dispatch::has_own_agents(swarm)) problems.emplace_back("executor is missing; it must name one of the config's");
  if (swarm.name.size() > k_name_bytes_max) {
    problems.push_back(fmt::format("its name has {} bytes; at most {} are allowed for a swarm with an executor",
                                   swarm.name.size(), k_name_bytes_max));
  }
  auto fields = ledger::read_swarm_fields(swarm);
  if (!fields) {
    problems.insert(problems.end(), fields.error().begin(), fields.error().end());
    return std::unexpected(std::move(problems));
  }
  for (const std::string& each : fields->capabilities) {
    if (auto problem = dispatch::stored_capability_problem(each)) problems.push_back(std::move(*problem));
  }
  if (!problems.empty()) return std::unexpected(std::move(problems));
  Definition result;
  result.swarm = swarm.name;
  result.executor = std::move(fields->executor);
  result.role = role_named(fields->role);
  result.capabilities = std::move(fields->capabilities);
  result.agents_min = fields->min;
  result.agents_max = fields->max;
  result.prefetch = fields->prefetch;
  result.idle_after = fields->idle_shrink;
  return result;
}

std::uint64_t agent_mark(const Definition& definition) {
  return stable_hash(fmt::format("{}\n{}\n{}\n{}", definition.executor, dispatch::name_of(definition.role),
                                 fmt::join(definition.capabilities, ","), definition.prefetch));
}

bool needs_other_agents(const Definition& one, const Definition& other) { return agent_mark(one) != agent_mark(other); }

}  // namespace skein::inline v0::swarm
