#include "skein/operations/error.hpp"

#include <fmt/format.h>

#include <iterator>

namespace skein::inline v0::operations {
namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

constexpr milliseconds k_soon{100};
constexpr milliseconds k_later{1000};

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
      return invalid(fmt::format("{} was not understood", what),
                     "check names and numbers; names have no odd characters");
    case Verdict::too_large:
      return {Code::too_large, fmt::format("{} is larger than allowed, the limit is {}", what, result.number),
              "send less, or keep large things elsewhere and send where they are", 0ms};
    case Verdict::no_such_task:
      return {Code::task_not_found, fmt::format("there is no {}", what), "check the id; old tasks are removed in time",
              0ms};
    case Verdict::no_such_swarm:
      return {Code::swarm_not_found,
              fmt::format("there is no {}{}", what.starts_with("swarm ") ? "" : "swarm for ", what),
              "list the swarms, or create it first", 0ms};
    case Verdict::no_such_agent:
      return {Code::agent_not_found, fmt::format("there is no {}", what), "list the agents", 0ms};
    case Verdict::no_such_dependency:
      return {Code::dependency_not_found, fmt::format("{} waits for {}, which nobody knows", what, result.task.text()),
              "submit what it waits for first", 0ms};
    case Verdict::stale_fence:
      return {Code::forbidden, fmt::format("the attempt of {} that this token was for has ended", what),
              "the attempt that runs now has a token of its own", 0ms};
    case Verdict::name_taken:
      return {Code::token_exists, fmt::format("{} exists, or was changed meanwhile", what),
              "choose another name, or rotate it; 'skein token list' shows them", 0ms};
    case Verdict::no_such_token:
      return {Code::token_not_found, fmt::format("there is no {}", what), "'skein token list' shows them", 0ms};
    case Verdict::too_many_children:
      return {Code::child_limit, fmt::format("{} has submitted as many tasks as it may, {}", what, result.number),
              "do the rest in one of them, or within the task itself", 0ms};
    case Verdict::too_deep:
      return {Code::child_limit,
              fmt::format("{} may submit no tasks: they would be more than {} deep", what, result.number),
              "do it within the task itself", 0ms};
    case Verdict::queue_full:
      return {Code::queue_full, fmt::format("the swarm's queue is full, the limit is {}", result.number),
              "wait until some tasks are done, or raise the swarm's limit", k_later};
    case Verdict::ledger_full:
      return {Code::ledger_full, fmt::format("the ledger is full, the limit is {}", result.number),
              "wait until some tasks are done, or raise the limit", k_later};
    case Verdict::archive_behind:
      return {Code::archive_behind, "too many finished tasks wait for the archive",
              "wait; if it lasts, see the archive's status and the disk", k_later};
    case Verdict::swarm_closed:
      // A change of a swarm is refused so when the config has withdrawn it.
      if (what.starts_with("swarm ")) {
        return {Code::swarm_closed, fmt::format("{} is removed: the config no longer has it", what),
                "it is gone once its open tasks are done; to keep it, put it into skein.toml and run 'skein reload'",
                0ms};
      }
      return {Code::swarm_closed, fmt::format("the swarm takes no tasks ({})", what), "resume the swarm first", 0ms};
    case Verdict::swarm_busy:
      return {Code::swarm_busy, fmt::format("{} has open tasks, or is the default", what),
              "drain it, or cancel its tasks first", 0ms};
    case Verdict::already_finished:
      return {Code::already_finished, fmt::format("{} is {} already", what, state), "", 0ms};
    case Verdict::old_version:
      return {Code::overloaded,
              fmt::format("{} needs ledger version {}, and the ledger still has {}", what, ledger::k_ledger_version,
                          result.number),
              "the dispatcher raises it when it starts; try again", k_soon};
    case Verdict::wrong_state:
      return {Code::wrong_state, fmt::format("{} is {}", what, state), "only failed or cancelled tasks can be retried",
              0ms};
    default:
      break;
  }
  return {Code::internal, fmt::format("{}: the ledger answered {}", what, ledger::name_of(result.verdict)),
          "this is a bug: please report it", 0ms};
}

Error error_of(journal::Outcome outcome, const std::string& why, const std::string& leader) {
  using journal::Outcome;
  switch (outcome) {
    case Outcome::not_leader:
      return {Code::not_leader, leader.empty() ? "no leader is known" : fmt::format("the leader is {}", leader),
              leader.empty() ? "try again soon" : "ask that node", k_soon};
    case Outcome::overloaded:
      return {Code::overloaded, fmt::format("too much at once ({})", why), "try again later; nothing was done",
              k_later};
    case Outcome::unknown:
      return {Code::unknown, fmt::format("no answer came in time ({})", why),
              "it may have been done: ask by the task's id or idempotency key, or send it again with the same key",
              k_later};
    case Outcome::refused:
      return {Code::too_large, fmt::format("it can never be accepted ({})", why), "send less", 0ms};
    case Outcome::stopped:
    case Outcome::applied:
      break;
  }
  return {Code::stopped, fmt::format("the node is stopping ({})", why), "try again when it is back", k_later};
}

Error error_of(const archive::ArchiveError& error) {
  using Kind = archive::ArchiveError::Kind;
  // Trying again does not mend it.
  if (error.kind == Kind::damaged) return {Code::archive_unavailable, error.describe(), "other tasks are whole", 0ms};
  return {Code::archive_unavailable, error.describe(), "open tasks are not touched by this", k_later};
}

Error task_not_found(ledger::TaskId id) {
  return {Code::task_not_found, fmt::format("there is no task {}", id.text()),
          "check the id; old tasks are removed in time", 0ms};
}

Error overloaded(std::string message) {
  return {Code::overloaded, std::move(message), "try again later; nothing was done", k_soon};
}

}  // namespace skein::inline v0::operations
