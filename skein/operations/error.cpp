#include "skein/operations/error.hpp"

#include <fmt/format.h>

#include <iterator>

namespace skein::inline v0::operations {
namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

constexpr milliseconds k_soon{100};
constexpr milliseconds k_later{1000};
constexpr std::string_view k_no_task_advice =
    "check the id; 'skein tasks' lists tasks, and old tasks are removed in time";

}  // namespace

std::string_view name_of(Code code) {
  static constexpr std::string_view k_names[] = {"invalid",           "invalid_json",      "too_large",
                                                 "bad_cursor",        "task_not_found",    "swarm_not_found",
                                                 "agent_not_found",   "process_not_found", "dependency_not_found",
                                                 "dependency_failed", "swarm_exists",      "swarm_closed",
                                                 "swarm_busy",        "key_reused",        "already_finished",
                                                 "wrong_state",       "queue_full",        "ledger_full",
                                                 "archive_behind",    "overloaded",        "not_leader",
                                                 "unknown",           "stopped",           "archive_unavailable",
                                                 "forbidden",         "token_not_found",   "token_exists",
                                                 "child_limit",       "internal"};
  static_assert(std::size(k_names) == k_code_count);
  return k_names[static_cast<std::size_t>(code)];
}

std::string Error::describe() const {
  std::string text = message;
  if (!advice.empty()) text += ": " + advice;
  if (retry_after > 0ms) text += fmt::format(" (again in {} ms)", retry_after.count());
  return text;
}

Error invalid(std::string message, std::string advice) {
  return {Code::invalid, std::move(message), std::move(advice), 0ms};
}

Error error_of(const ledger::OpResult& result, std::string_view what) {
  using ledger::Verdict;
  const auto state = result.state ? ledger::name_of(*result.state) : std::string_view("unknown");
  switch (result.verdict) {
    case Verdict::malformed:
      return invalid(fmt::format("the ledger cannot read {}", what),
                     "check names and numbers: a name has letters, digits, '-', '_' and '.' only");
    case Verdict::too_large:
      return {Code::too_large, fmt::format("{} is too large: the limit is {}", what, result.number),
              "send less, or store large data elsewhere and send a reference to it", 0ms};
    case Verdict::no_such_task:
      return {Code::task_not_found, fmt::format("there is no {}", what), std::string(k_no_task_advice), 0ms};
    case Verdict::no_such_swarm:
      return {Code::swarm_not_found,
              fmt::format("there is no {}{}", what.starts_with("swarm ") ? "" : "swarm for ", what),
              "'skein swarms' lists the swarms, 'skein swarm create' makes one", 0ms};
    case Verdict::no_such_agent:
      return {Code::agent_not_found, fmt::format("there is no {}", what), "'skein agents' lists the agents", 0ms};
    case Verdict::no_such_dependency:
      return {Code::dependency_not_found,
              fmt::format("{} depends on task {}, which does not exist", what, result.task.text()),
              "submit that task first", 0ms};
    case Verdict::stale_fence:
      return {Code::forbidden, fmt::format("this token belongs to an attempt of {} that has ended", what),
              "use the token of the current attempt", 0ms};
    case Verdict::name_taken:
      return {Code::token_exists, fmt::format("{} already exists, or was changed at the same time", what),
              "choose another name, or rotate the token; 'skein token list' lists the tokens", 0ms};
    case Verdict::no_such_token:
      return {Code::token_not_found, fmt::format("there is no {}", what), "'skein token list' lists the tokens", 0ms};
    case Verdict::too_many_children:
      return {Code::child_limit,
              fmt::format("{} has already submitted {} tasks, which is its limit", what, result.number),
              "do the rest of the work in one of these tasks, or in the task itself", 0ms};
    case Verdict::too_deep:
      return {Code::child_limit,
              fmt::format("{} cannot submit tasks: they would be nested more than {} deep", what, result.number),
              "do the work in the task itself", 0ms};
    case Verdict::queue_full:
      return {Code::queue_full, fmt::format("the swarm's queue is full: the limit is {} tasks", result.number),
              "wait until some tasks have finished, or raise the swarm's limit", k_later};
    case Verdict::ledger_full:
      return {Code::ledger_full, fmt::format("the ledger is full: the limit is {}", result.number),
              "wait until some tasks have finished, or raise the limit in [limits] of the config", k_later};
    case Verdict::archive_behind:
      return {Code::archive_behind, "too many finished tasks wait to be archived",
              "try again later; if this persists, check the archive in 'skein status' and the free disk space",
              k_later};
    case Verdict::swarm_closed:
      // A change of a swarm is refused so when the config no longer declares it.
      if (what.starts_with("swarm ")) {
        return {
            Code::swarm_closed, fmt::format("{} is being removed: it is no longer in the config", what),
            "it disappears when its open tasks have finished; to keep it, add it to skein.toml and run 'skein reload'",
            0ms};
      }
      return {Code::swarm_closed, fmt::format("the swarm accepts no tasks ({})", what), "resume the swarm first", 0ms};
    case Verdict::swarm_busy:
      if (what == "swarm 'default'") {
        return {Code::swarm_busy, "swarm 'default' cannot be removed: it takes the tasks that name no swarm",
                "stop it with 'skein swarm stop default' instead", 0ms};
      }
      return {Code::swarm_busy, fmt::format("{} still has open tasks", what),
              "wait until they have finished ('skein swarm drain' accepts no new ones), or cancel them", 0ms};
    case Verdict::already_finished:
      return {Code::already_finished, fmt::format("{} is already {}", what, state), "", 0ms};
    case Verdict::old_version:
      return {Code::overloaded,
              fmt::format("{} needs ledger version {}, and the ledger has version {}", what, ledger::k_ledger_version,
                          result.number),
              "try again: the dispatcher upgrades the ledger when it starts", k_soon};
    case Verdict::wrong_state:
      return {Code::wrong_state, fmt::format("{} is {}", what, state), "only failed or cancelled tasks can be retried",
              0ms};
    default:
      break;
  }
  return {Code::internal, fmt::format("{}: the ledger answered {}", what, ledger::name_of(result.verdict)),
          "this is a bug in skein: please report it", 0ms};
}

Error error_of(journal::Outcome outcome, const std::string& why, const std::string& leader) {
  using journal::Outcome;
  switch (outcome) {
    case Outcome::not_leader:
      return {Code::not_leader, leader.empty() ? "no leader is known" : fmt::format("the leader is {}", leader),
              leader.empty() ? "try again soon" : "ask that node", k_soon};
    case Outcome::overloaded:
      return {Code::overloaded, fmt::format("the node has too many requests ({})", why),
              "try again later; nothing was changed", k_later};
    case Outcome::unknown:
      return {Code::unknown, fmt::format("no answer came in time ({})", why),
              "the request may have been carried out: look for the task by its id or idempotency key, or repeat the "
              "request "
              "with the same key",
              k_later};
    case Outcome::refused:
      return {Code::too_large, fmt::format("the request is too large ({})", why), "send less", 0ms};
    case Outcome::stopped:
    case Outcome::applied:
      break;
  }
  return {Code::stopped, fmt::format("the node is stopping ({})", why), "try again when the node is running again",
          k_later};
}

Error error_of(const archive::ArchiveError& error) {
  using Kind = archive::ArchiveError::Kind;
  // Trying again does not mend it.
  if (error.kind == Kind::damaged)
    return {Code::archive_unavailable, error.describe(), "other tasks are not affected", 0ms};
  return {Code::archive_unavailable, error.describe(), "open tasks are not affected", k_later};
}

Error task_not_found(ledger::TaskId id) {
  return {Code::task_not_found, fmt::format("there is no task {}", id.text()), std::string(k_no_task_advice), 0ms};
}

Error overloaded(std::string message) {
  return {Code::overloaded, std::move(message), "try again later; nothing was changed", k_soon};
}

}  // namespace skein::inline v0::operations
