#include "skein/operations/principal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>

#include "skein/operations/table.hpp"

namespace skein::inline v0::operations {
namespace {

using namespace std::chrono_literals;

// What says on which connection it is asked, and nothing of tasks or swarms.
constexpr auto k_of_connection = std::to_array<std::string_view>({"hello", "cancel", "mcp"});
constexpr auto k_for_task = std::to_array<std::string_view>({"task_submit", "task_status", "task_wait", "task_cancel"});

// What a token that is bound to a swarm may ask for, and the member that names the swarm, if one does.
struct InSwarm {
  std::string_view operation;
  std::string_view member;
  bool is_filled_in = false;  // when the request does not name it
};
constexpr auto k_in_swarm = std::to_array<InSwarm>({
    {"task_submit", "swarm", true},
    {"task_list", "swarm", true},
    {"task_status", "swarm", true},
    {"task_wait", "", false},
    {"task_cancel", "", false},
    {"task_retry", "", false},
    {"swarm_status", "name", false},
    {"swarm_override", "name", false},
    {"swarm_scale", "name", false},
    {"swarm_pause", "name", false},
    {"swarm_resume", "name", false},
    {"swarm_drain", "name", false},
    {"swarm_stop", "name", false},
});

std::string token_label(std::string_view name, std::string_view id) { return fmt::format("token:{}:{}", name, id); }

template <class List>
bool is_among(const List& list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}

std::string argument_text(const json::object& arguments, std::string_view member) {
  const json::value* found = arguments.if_contains(member);
  const json::string* text = found != nullptr ? found->if_string() : nullptr;
  return text != nullptr ? std::string(*text) : std::string();
}

Error not_allowed(std::string message, std::string advice) {
  return {Code::forbidden, std::move(message), std::move(advice), 0ms};
}

std::optional<Error> may_for_task(const Principal& who, std::string_view operation, const json::object& arguments) {
  if (!is_among(k_for_task, operation)) {
    return not_allowed(
        fmt::format("{} may submit children of that task, and show, wait for and cancel them and the task "
                    "itself, but may not use {}",
                    who.words(), operation),
        "leave this to the client that submitted the task");
  }
  if (operation == "task_status" && argument_text(arguments, "id").empty() &&
      !argument_text(arguments, "key").empty()) {
    return not_allowed(fmt::format("{} cannot look up tasks by key", who.words()), "use the id of the task");
  }
  return std::nullopt;
}

std::optional<Error> may_in_swarm(const Principal& who, std::string_view operation, const json::object& arguments) {
  const auto found = std::ranges::find(k_in_swarm, operation, &InSwarm::operation);
  const std::string advice = "use a token without that restriction; 'skein token create' makes one";
  if (found == k_in_swarm.end()) {
    return not_allowed(
        fmt::format("{} is restricted to swarm '{}', and {} is not", who.words(), who.bounds.swarm, operation), advice);
  }
  const std::string named = found->member.empty() ? "" : argument_text(arguments, found->member);
  if (named == who.bounds.swarm || found->member.empty() || (named.empty() && found->is_filled_in)) return std::nullopt;
  return not_allowed(fmt::format("{} is restricted to swarm '{}', and the request is for swarm '{}'", who.words(),
                                 who.bounds.swarm, named),
                     advice);
}

}  // namespace

bool Principal::has_label(std::string_view text) const {
  if (text == label()) return true;
  return kind == Kind::token && !former_id.empty() && text == token_label(name, former_id);
}

std::string Principal::label() const {
  switch (kind) {
    case Kind::owner:
      return "local";
    case Kind::anyone:
    case Kind::first:
      return "http";  // what was given to them before there were tokens with names
    case Kind::token:
      return token_label(name, id);
    case Kind::task:
      break;
  }
  return "task:" + bounds.task.text();
}

std::string Principal::words() const {
  switch (kind) {
    case Kind::owner:
      return "the node's owner";
    case Kind::anyone:
      return "a client without a token";
    case Kind::task:
      return "the token of task " + bounds.task.text();
    case Kind::first:
    case Kind::token:
      break;
  }
  return fmt::format("the token '{}'", name);
}

PrincipalPtr the_owner() {
  static const auto owner = std::make_shared<const Principal>();
  return owner;
}

PrincipalPtr anyone() {
  static const auto all = [] {
    Principal made;
    made.kind = Principal::Kind::anyone;
    return std::make_shared<const Principal>(std::move(made));
  }();
  return all;
}

std::optional<Rank> rank_of(std::string_view operation) {
  const Operation* found = find_operation(operation);
  if (found == nullptr) return std::nullopt;
  return found->rank;
}

Error no_longer_valid(const Principal& who) {
  if (who.kind == Principal::Kind::task) {
    return not_allowed(
        fmt::format("this token belongs to an attempt of task {} that has ended", who.bounds.task.text()),
        "use the token of the current attempt");
  }
  return not_allowed(fmt::format("{} was revoked or replaced, or has expired", who.words()),
                     "get a new token: 'skein token create' or 'skein token rotate' makes one");
}

std::optional<Error> may(const Principal& who, std::string_view operation, const json::object& arguments) {
  if (!who.holds()) return no_longer_valid(who);
  if (who.rank == Rank::administer && !who.is_bound()) return std::nullopt;  // of most requests
  const auto needed = rank_of(operation);
  if (!needed || is_among(k_of_connection, operation)) return std::nullopt;
  if (!who.bounds.task.none()) return may_for_task(who, operation, arguments);
  if (*needed > who.rank) {
    return not_allowed(fmt::format("{} needs the rank {}, and {} has {}", operation, ledger::name_of(*needed),
                                   who.words(), ledger::name_of(who.rank)),
                       fmt::format("use a token of that rank: 'skein token create NAME --rank {}' makes one",
                                   ledger::name_of(*needed)));
  }
  return who.bounds.swarm.empty() ? std::nullopt : may_in_swarm(who, operation, arguments);
}

bool may_ever(const Principal& who, std::string_view operation) {
  if (who.rank == Rank::administer && !who.is_bound()) return true;
  const auto needed = rank_of(operation);
  if (!who.bounds.task.none()) return is_among(k_for_task, operation);
  if (needed && *needed > who.rank) return false;
  return who.bounds.swarm.empty() || std::ranges::find(k_in_swarm, operation, &InSwarm::operation) != k_in_swarm.end();
}

std::optional<Error> never(const Principal& who, std::string_view operation) {
  if (who.holds() && may_ever(who, operation)) return std::nullopt;
  return may(who, operation, {});
}

json::object narrowed(const Principal& who, std::string_view operation, json::object arguments) {
  const auto found = std::ranges::find(k_in_swarm, operation, &InSwarm::operation);
  if (who.bounds.swarm.empty() || found == k_in_swarm.end() || !found->is_filled_in) return arguments;
  if (argument_text(arguments, found->member).empty()) arguments[found->member] = who.bounds.swarm;
  return arguments;
}

std::optional<ledger::ChildOf> child_of(const Principal& who) {
  if (who.bounds.task.none()) return std::nullopt;
  ledger::ChildOf child{who.bounds.task, who.fence};
  if (who.bounds.depth != 0) child.depth_max = who.bounds.depth;
  if (who.bounds.children != 0) child.children_max = who.bounds.children;
  return child;
}

std::optional<Error> wrong_swarm(const Principal& who, std::string_view operation, const std::string& swarm,
                                 json::object& arguments) {
  if (who.bounds.task.none() || operation != "task_submit") return std::nullopt;
  const std::string named = argument_text(arguments, "swarm");
  if (!named.empty() && named != swarm) {
    return not_allowed(fmt::format("{} may submit tasks to swarm '{}' only, not to '{}'", who.words(), swarm, named),
                       "name that swarm, or leave out the swarm");
  }
  arguments["swarm"] = swarm;
  return std::nullopt;
}

std::vector<ledger::TaskId> tasks_named(std::string_view operation, const json::object& arguments) {
  std::vector<ledger::TaskId> all;
  const auto add = [&](const json::value& value) {
    const json::string* text = value.if_string();
    const auto id = text != nullptr ? ledger::TaskId::parse(*text) : std::nullopt;
    if (id) all.push_back(*id);
  };
  const Operation* found = find_operation(operation);
  if (found == nullptr) return all;
  for (const Param& param : found->params) {
    const json::value* given = arguments.if_contains(param.name);
    if (given == nullptr) continue;
    if (param.kind == Param::Kind::task_id) add(*given);
    const json::array* list = param.kind == Param::Kind::task_ids ? given->if_array() : nullptr;
    if (list == nullptr) continue;
    for (const json::value& each : *list) add(each);
  }
  return all;
}

}  // namespace skein::inline v0::operations
