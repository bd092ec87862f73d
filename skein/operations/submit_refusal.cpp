#include "skein/operations/submit_refusal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace skein::inline v0::operations {
namespace {

using ledger::Verdict;
using namespace std::chrono_literals;

struct Member {
  std::string_view name;
  std::uint64_t size;
  std::uint64_t limit;
  std::string_view unit;  // empty: the member is itself a number
};

Error too_large(const SubmitSizes& sent, const ledger::Limits& limits, std::uint64_t judged_by) {
  const std::array<Member, 10> members{{
      {"type", sent.type_bytes, limits.name_bytes, "bytes"},
      {"capabilities", sent.capability_bytes, limits.name_bytes, "bytes in one name"},
      {"agent", sent.agent_bytes, limits.name_bytes, "bytes"},
      {"route_key", sent.route_key_bytes, limits.key_bytes, "bytes"},
      {"params", sent.params_bytes, limits.params_bytes, "bytes"},
      {"capabilities", sent.capabilities, limits.capabilities, "names"},
      {"dependencies", sent.dependencies, limits.dependencies, "ids"},
      {"key", sent.key_bytes, limits.key_bytes, "bytes"},
      {"trace", sent.trace_bytes, limits.trace_bytes, "bytes"},
      {"attempts", sent.attempts, limits.attempts, ""},
  }};
  const auto is_too_large = [](const Member& each) { return each.size > each.limit; };
  const auto found = std::ranges::find_if(members, is_too_large);
  if (found == members.end()) {  // the limits have changed since
    return {Code::too_large, fmt::format("the task is larger than allowed, the limit is {}", judged_by), "send less",
            0ms};
  }
  if (found->unit.empty()) {
    return invalid(fmt::format("{} is {}, the limit is {}", found->name, found->size, found->limit),
                   "give a smaller number, or raise the limit in [limits] of the config");
  }
  return {Code::too_large,
          fmt::format("{} has {} {}, the limit is {}", found->name, found->size, found->unit, found->limit),
          found->name == "params" ? "keep large things elsewhere and send where they are" : "send less", 0ms};
}

}  // namespace

SubmitSizes sizes_of(const ledger::TaskSpec& spec) {
  SubmitSizes sizes;
  sizes.swarm = spec.swarm;
  sizes.params_bytes = ledger::view_of(spec.params).size();
  sizes.type_bytes = spec.type.size();
  for (const std::string& each : spec.capabilities) {
    sizes.capability_bytes = std::max<std::uint64_t>(sizes.capability_bytes, each.size());
  }
  sizes.capabilities = spec.capabilities.size();
  sizes.dependencies = spec.extras.dependencies.size();
  sizes.key_bytes = spec.extras.key.size();
  sizes.trace_bytes = spec.extras.trace.size();
  if (const auto& where = spec.extras.placement) {
    sizes.agent_bytes = where->agent.size();
    sizes.route_key_bytes = where->route_key.size();
  }
  sizes.attempts = spec.attempts_max;
  return sizes;
}

Error submit_refusal(const ledger::OpResult& result, const SubmitSizes& sent, const ledger::Limits& limits) {
  switch (result.verdict) {
    case Verdict::too_large:
      return too_large(sent, limits, result.number);
    case Verdict::no_such_swarm:
      return error_of(result, fmt::format("swarm '{}'", sent.swarm));
    case Verdict::no_such_dependency:
      return {Code::dependency_not_found, fmt::format("there is no task {} to wait for", result.task.text()),
              "submit what it waits for first", 0ms};
    case Verdict::queue_full: {
      Error error = error_of(result, "");
      error.message = fmt::format("the queue of swarm '{}' is full, the limit is {}", sent.swarm, result.number);
      return error;
    }
    case Verdict::swarm_closed:
      return {Code::swarm_closed,
              fmt::format("swarm '{}' takes no tasks: it is draining or stopped, or the config no longer has it",
                          sent.swarm),
              "resume it, or declare it again in skein.toml and reload, or choose another swarm", 0ms};
    default:
      return error_of(result, "the task");
  }
}

}  // namespace skein::inline v0::operations
