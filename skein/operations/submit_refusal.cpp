#include "skein/operations/submit_refusal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

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

std::uint64_t longest(const std::vector<std::string>& names) {
  std::uint64_t bytes = 0;
  for (const std::string& each : names) bytes = std::max<std::uint64_t>(bytes, each.size());
  return bytes;
}

Error too_large(const ledger::TaskSpec& sent, const ledger::Limits& limits, std::uint64_t judged_by) {
  const ledger::Placement* where = sent.extras.placement.get();
  const std::array<Member, 10> members{{
      {"type", sent.type.size(), limits.name_bytes, "bytes"},
      {"capabilities", longest(sent.capabilities), limits.name_bytes, "bytes in one name"},
      {"agent", where != nullptr ? where->agent.size() : 0, limits.name_bytes, "bytes"},
      {"route_key", where != nullptr ? where->route_key.size() : 0, limits.key_bytes, "bytes"},
      {"params", ledger::view_of(sent.params).size(), limits.params_bytes, "bytes"},
      {"capabilities", sent.capabilities.size(), limits.capabilities, "names"},
      {"dependencies", sent.extras.dependencies.size(), limits.dependencies, "ids"},
      {"key", sent.extras.key.size(), limits.key_bytes, "bytes"},
      {"trace", sent.extras.trace.size(), limits.trace_bytes, "bytes"},
      {"attempts", sent.attempts_max, limits.attempts, ""},
  }};
  const auto is_too_large = [](const Member& each) { return each.size > each.limit; };
  const auto found = std::ranges::find_if(members, is_too_large);
  if (found == members.end()) {  // the limits have changed since
    return {Code::too_large, fmt::format("the task is too large: the limit is {}", judged_by), "send less", 0ms};
  }
  if (found->unit.empty()) {
    return invalid(fmt::format("{} is {}, the limit is {}", found->name, found->size, found->limit),
                   "give a smaller number, or raise the limit in [limits] of the config");
  }
  return {Code::too_large,
          fmt::format("{} has {} {}, the limit is {}", found->name, found->size, found->unit, found->limit),
          found->name == "params" ? "store large data elsewhere and send a reference to it" : "send less", 0ms};
}

bool is_name(std::string_view text) {
  const auto is_control = [](char each) { return static_cast<unsigned char>(each) < 0x20 || each == 0x7F; };
  return !text.empty() && std::ranges::none_of(text, is_control);
}

Error malformed(const ledger::OpResult& result, const ledger::TaskSpec& sent) {
  const bool is_type = !is_name(sent.type);
  if (!is_type && std::ranges::all_of(sent.capabilities, is_name)) return error_of(result, "the task");
  return invalid(fmt::format("{} is no name", is_type ? "type" : "one of capabilities"),
                 "a name is not empty and has no line ends or other control characters");
}

}  // namespace

Error submit_refusal(const ledger::OpResult& result, const ledger::TaskSpec& sent, const ledger::Limits& limits) {
  switch (result.verdict) {
    case Verdict::too_large:
      return too_large(sent, limits, result.number);
    case Verdict::malformed:
      return malformed(result, sent);
    case Verdict::no_such_swarm:
      return error_of(result, fmt::format("swarm '{}'", sent.swarm));
    case Verdict::no_such_dependency:
      return {Code::dependency_not_found,
              fmt::format("the task depends on task {}, which does not exist", result.task.text()),
              "submit that task first", 0ms};
    case Verdict::queue_full: {
      Error error = error_of(result, "");
      error.message = fmt::format("the queue of swarm '{}' is full, the limit is {}", sent.swarm, result.number);
      return error;
    }
    case Verdict::swarm_closed:
      return {Code::swarm_closed, fmt::format("swarm '{}' accepts no tasks: it is draining or stopped", sent.swarm),
              fmt::format("resume it with 'skein swarm resume {}', or choose another swarm", sent.swarm), 0ms};
    default:
      return error_of(result, "the task");
  }
}

}  // namespace skein::inline v0::operations
