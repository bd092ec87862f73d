// Operations on tasks: each declaration beside its handler.
#include <memory>
#include <utility>

#include "skein/archive/store.hpp"
#include "skein/net/http_status.hpp"
#include "skein/operations/table.hpp"

namespace skein::inline v0::operations {
namespace {

constexpr std::uint64_t k_attempts_most = 10'000;  // [limits] attempts can be no more
constexpr std::uint64_t k_wait_mcp_ms = 50'000;    // many clients abort a call after a minute
constexpr std::uint64_t k_tasks_listed_cli = 50;
constexpr std::uint64_t k_result_piece = 48ULL << 10U;  // of a result, in an answer over MCP

std::vector<std::string_view> state_names() {
  std::vector<std::string_view> names;
  for (int number = static_cast<int>(State::queued); number <= static_cast<int>(State::awaiting_approval); ++number) {
    names.push_back(ledger::name_of(static_cast<State>(number)));
  }
  return names;
}

std::optional<State> state_named(std::string_view name) {
  for (int number = static_cast<int>(State::queued); number <= static_cast<int>(State::awaiting_approval); ++number) {
    if (ledger::name_of(static_cast<State>(number)) == name) return static_cast<State>(number);
  }
  return std::nullopt;
}

Param the_task() { return Param::task_id("id", "The task's id").required().at("ID"); }

// Names of agents and other swarms are withheld from principals that are bound to a swarm or a task.
constexpr const char* k_nobody_able = "no agent that may run the task can do it";

void hide_names(TaskStatus& status) {
  if (status.able_swarms.empty()) return;
  status.able_swarms.clear();
  status.waits = k_nobody_able;
}

void hide_names(WaitAnswer& answer) { hide_names(answer.status); }

void hide_names(ListAnswer& page) {
  for (TaskStatus& each : page.tasks) hide_names(each);
}

void hide_names(SubmitAnswer& answer) {
  if (!answer.waits || answer.waits->able_swarms.empty()) return;
  answer.waits = std::make_shared<const WaitReason>(WaitReason{answer.waits->cause, k_nobody_able});
}

template <class T>
Reply<T> fit_for(const Principal& who, Reply<T> reply) {
  if (!who.is_bound()) return reply;
  return Reply<T>([reply = std::move(reply)](Result<T>&& result) mutable {
    if (result) {
      hide_names(*result);
    }
    reply(std::move(result));
  });
}

// A whole task, with params, result and history.
Reply<TaskStatus> whole_task(const Responder& respond) {
  return Reply<TaskStatus>([respond](Result<TaskStatus>&& result) {
    if (!result) return respond.fail(std::move(result.error()));
    respond.send(Answer::Kind::ok, [status = std::make_shared<TaskStatus>(std::move(*result))]() -> json::value {
      return to_json(*status, Detail::whole);
    });
  });
}

void submit_task(const Call& call) {
  const Arguments& in = call.in;
  SubmitRequest request;
  request.type = in.text("type");
  request.swarm = in.text("swarm");
  request.params = in.text("params");
  request.priority = in.text("priority");
  request.key = in.text("key");
  request.capabilities = in.texts("capabilities");
  request.dependencies = in.task_ids("dependencies");
  request.attempts = static_cast<std::uint32_t>(in.count("attempts"));
  request.timeout = in.milliseconds("timeout_ms");
  request.delay = in.milliseconds("delay_ms");
  request.deadline = in.milliseconds("deadline_ms");
  request.trace = in.text("trace");
  request.agent = in.text("agent");
  request.agent_fallback = in.text("agent_fallback");
  request.agent_wait = in.milliseconds("agent_wait_ms");
  request.route_key = in.text("route_key");
  request.child_of = child_of(call.who);
  request.only_own_agents = call.who.is_bound();
  call.ops->task_submit(std::move(request), fit_for(call.who, call.respond.reply<SubmitAnswer>()));
}

Operation task_submit() {
  return {
      .name = "task_submit",
      .title = "Submit a task",
      .summary = "Submit a task; once this is answered, no crash loses it",
      .help =
          "Adds a task to a swarm's queue and returns its id; from then on no crash loses the task. An agent that can "
          "run its type runs it; task_wait returns the result. Calling again with the same key returns the first task.",
      .params =
          {
              Param::text("type", "Type of the task; an agent with this capability runs it").required().at("TYPE"),
              Param::json("params", "Any JSON value, passed to the agent unchanged"),
              Param::text("swarm", "Swarm whose agents run the task").or_else(SubmitRequest{}.swarm).filled(),
              Param::word("priority", {"low", "normal", "high", "critical"}, "Priority of the task within its swarm")
                  .or_else(SubmitRequest{}.priority),
              Param::text("key", "Idempotency key: the same key again returns the first task").filled(),
              Param::texts("capabilities", "Capabilities that the agent needs, instead of the type")
                  .as_option("capability")
                  .filled(),
              Param::task_ids("dependencies", "Ids of tasks that must complete first").as_option("after"),
              Param::count("attempts", 1, k_attempts_most, "Maximum number of attempts")
                  .or_else(SubmitRequest{}.attempts),
              Param::milliseconds("timeout_ms", "Time limit of each attempt; 0: that of the type or executor")
                  .as_option("task-timeout"),
              Param::milliseconds("delay_ms", "Earliest start, counted from now"),
              Param::milliseconds("deadline_ms", "Time limit of all attempts together, from now; 0: none"),
              Param::text("trace", "W3C traceparent of the trace that the task belongs to")
                  .only_on({Way::socket, Way::rest, Way::cli}),
              Param::text("agent", "The only agent that may run the task, which waits for it").filled(),
              Param::word("agent_fallback", {"none", "any"}, "Whether others may run the task after agent_wait"),
              Param::milliseconds("agent_wait_ms", "How long to wait for that agent before others may run the task"),
              Param::text("route_key", "With consistent_hash, tasks with the same key go to the same agent").filled(),
          },
      .answer = "Submitted",
      .errors = {Code::invalid_json, Code::too_large, Code::key_reused, Code::swarm_not_found, Code::swarm_closed,
                 Code::agent_not_found, Code::dependency_not_found, Code::dependency_failed, Code::queue_full,
                 Code::ledger_full, Code::archive_behind, Code::child_limit},
      .rank = Rank::operate,
      .effect = Operation::Effect::adds,
      .is_tool = true,
      .rest = {"POST", "/tasks", net::http_status::k_created},
      .cli = {"submit", "skein submit echo --params '{\"a\":1}' --wait"},
      .needs_engine = true,
      .makes_work = true,
      .handler = submit_task,
  };
}

void wait_for_task(const Call& call) {
  WaitRequest request;
  request.id = call.in.task_id("id");
  request.timeout = call.in.milliseconds("timeout_ms");
  request.ticket = call.respond.ticket();
  ProgressFn progress;
  if (call.in.flag("progress")) {
    progress = [respond = call.respond](TaskId, const ledger::Body& mark) {
      respond.send(Answer::Kind::part,
                   [mark]() -> json::value { return {{"progress", json_or_text(ledger::view_of(mark))}}; });
    };
  }
  call.ops->task_wait(request, std::move(progress), fit_for(call.who, call.respond.reply<WaitAnswer>()));
}

Operation task_wait() {
  return {
      .name = "task_wait",
      .title = "Wait for a task",
      .summary = "Wait until a task has ended; 'finished' in the answer says whether it has",
      .help =
          "Waits until a task has ended, at most 50 seconds, and returns its result. If finished is false, the task "
          "has not ended: call again. state says how the task ended: completed (see result), failed (see message and "
          "failed_attempts) or cancelled.",
      .params = {the_task(),
                 Param::milliseconds("timeout_ms", "Longest wait, limited by [operations] wait_max")
                     .or_else(static_cast<std::uint64_t>(WaitRequest{}.timeout.count()))
                     .narrowed(Way::mcp, k_wait_mcp_ms, k_wait_mcp_ms)
                     .only_on({Way::socket, Way::mcp, Way::rest}),
                 Param::flag("progress", "Also send the last progress mark of the task, and each new one")
                     .only_on({Way::socket})},
      .answer = "Waited",
      .errors = {Code::task_not_found, Code::archive_unavailable},
      .is_tool = true,
      .rest = {"POST", "/tasks/{id}/wait"},
      .cli = {"task wait", "skein task wait 0197f0c2-0000-7000-8000-000000000000 --timeout 5min"},
      .needs_engine = true,
      .handler = wait_for_task,
  };
}

void look_at_task(const Call& call) {
  StatusRequest request;
  request.key = call.in.text("key");
  request.swarm = call.in.text("swarm");
  request.id = call.in.task_id("id");
  call.ops->task_status(request, fit_for(call.who, whole_task(call.respond)));
}

Operation task_status() {
  return {
      .name = "task_status",
      .title = "Show a task",
      .summary = "Show a task with its params, result and failed attempts",
      .help =
          "All details of one task at this moment: state, params, result, failed attempts. Does not wait. Over MCP a "
          "result larger than 48 KiB comes in pieces: result_part has one piece and the offset of the next.",
      .params =
          {Param::task_id("id", "The task's id").required_unless("key").at("ID"),
           Param::text("key", "Idempotency key of the task, instead of its id").only_on({Way::socket}),
           Param::text("swarm", "Swarm that the key belongs to").or_else(StatusRequest{}.swarm).only_on({Way::socket}),
           Param::count("result_offset", 0, UINT64_MAX / 2, "Offset of the piece of the result, in bytes")
               .only_on({Way::mcp}),
           Param::count("result_bytes", 1, k_result_piece, "Maximum length of the piece, in bytes")
               .only_on({Way::mcp})},
      .answer = "Task",
      .errors = {Code::task_not_found, Code::archive_unavailable},
      .is_tool = true,
      .rest = {"GET", "/tasks/{id}"},
      .cli = {"task show", "skein task show 0197f0c2-0000-7000-8000-000000000000"},
      .needs_engine = true,
      .handler = look_at_task,
  };
}

void list_tasks(const Call& call) {
  const Arguments& in = call.in;
  ListRequest request;
  request.state = state_named(in.text("state"));
  request.swarm = in.text("swarm");
  request.type = in.text("type");
  request.id_prefix = in.text("id_prefix");
  request.text = in.text("text");
  request.finished_from = in.count("finished_from");
  request.finished_before = in.count("finished_before");
  request.cursor = in.text("cursor");
  request.limit = in.count("limit");
  call.ops->task_list(std::move(request), fit_for(call.who, call.respond.reply<ListAnswer>()));
}

Operation task_list() {
  Param limit = page_limit(ListRequest{}.limit).narrowed(Way::cli, archive::k_page_max, k_tasks_listed_cli);
  limit.most = archive::k_page_max;
  return {
      .name = "task_list",
      .title = "List tasks",
      .summary = "List tasks: open tasks first, then finished tasks",
      .help =
          "Tasks that match all given filters: open tasks first, the newest at the top. To get the next page, pass "
          "the cursor of the answer; the last page has no cursor.",
      .params =
          {Param::word("state", state_names(), "Only tasks in this state"),
           Param::text("swarm", "Only tasks of this swarm").filled(),
           Param::text("type", "Only tasks of this type").filled(),
           Param::text("id_prefix", "Only tasks whose id begins with this text").only_on({Way::socket, Way::rest}),
           Param::text("text", "Only tasks with these words in params, result or message").filled(),
           Param::time("finished_from", "Only tasks that finished at this time or later"),
           Param::time("finished_before", "Only tasks that finished before this time"), limit, page_cursor()},
      .answer = "TaskPage",
      .errors = {Code::bad_cursor, Code::archive_unavailable},
      .is_tool = true,
      .rest = {"GET", "/tasks"},
      .cli = {"tasks", "skein tasks --state failed --all"},
      .needs_engine = true,
      .handler = list_tasks,
  };
}

void cancel_task(const Call& call) {
  call.ops->task_cancel({call.in.task_id("id"), call.in.text("reason")}, call.respond.reply<State>());
}

Operation task_cancel() {
  return {
      .name = "task_cancel",
      .title = "Cancel a task",
      .summary = "Cancel a task in any state; a running task is stopped",
      .help =
          "Cancels a task in any state. An OS process that runs the task is killed together with all its descendants.",
      .params = {the_task(), Param::text("reason", "Reason for the cancellation, stored with the task")},
      .answer = "TaskState",
      .errors = {Code::task_not_found, Code::already_finished},
      .rank = Rank::operate,
      .effect = Operation::Effect::destroys,
      .is_tool = true,
      .rest = {"POST", "/tasks/{id}/cancel"},
      .cli = {"task cancel", "skein task cancel 0197f0c2-0000-7000-8000-000000000000 --reason 'not needed'"},
      .needs_engine = true,
      .handler = cancel_task,
  };
}

void retry_task(const Call& call) { call.ops->task_retry(call.in.task_id("id"), call.respond.reply<RetryAnswer>()); }

Operation task_retry() {
  return {
      .name = "task_retry",
      .title = "Retry a task",
      .summary = "Retry a failed or cancelled task as a new task",
      .help =
          "Creates a new task from a failed or cancelled one and returns the new id. Retrying the same task again "
          "returns the same new task.",
      .params = {the_task()},
      .answer = "Retried",
      .errors = {Code::task_not_found, Code::wrong_state, Code::swarm_not_found, Code::swarm_closed, Code::queue_full,
                 Code::ledger_full, Code::archive_behind, Code::archive_unavailable},
      .rank = Rank::operate,
      .effect = Operation::Effect::sets,
      .is_tool = true,
      .rest = {"POST", "/tasks/{id}/retry", net::http_status::k_created},
      .cli = {"task retry", "skein task retry 0197f0c2-0000-7000-8000-000000000000"},
      .needs_engine = true,
      .handler = retry_task,
  };
}

std::string words_type(const std::vector<std::string_view>& words) {
  std::string type;
  for (const std::string_view each : words) type += (type.empty() ? "'" : " '") + std::string(each) + "'";
  return type;
}

std::vector<std::string_view> wait_causes() {
  std::vector<std::string_view> names;
  for (auto number = static_cast<int>(WaitCause::dependencies); number <= static_cast<int>(k_last_wait_cause);
       ++number) {
    names.push_back(name_of(static_cast<WaitCause>(number)));
  }
  return names;
}

std::vector<AnswerType> task_answers() {
  return {
      {.name = "TaskId", .type = "string", .pattern = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"},
      {.name = "StateName", .type = words_type(state_names())},
      {.name = "Time", .help = "Milliseconds since 1970", .type = "integer"},
      {.name = "TimeText", .help = "The same moment as RFC 3339, in UTC", .type = "string"},
      {.name = "TaskLine",
       .help = "A task as an item of a list",
       .members =
           {
               {"id", "TaskId"},
               {"state", "StateName"},
               {"type", "string"},
               {"swarm", "string"},
               {"priority", "integer"},
               {"priority_name?", "'low' 'normal' 'high' 'critical'", "The priority by name, as in a submit"},
               {"attempts", "integer",
                "Attempts made in its swarm, including the one that runs or has completed the task"},
               {"attempts_max", "integer"},
               {"agent?", "string"},
               {"submitted_at", "Time|null"},
               {"submitted_time?", "TimeText"},
               {"started_at?", "Time"},
               {"started_time?", "TimeText"},
               {"not_before?", "Time"},
               {"not_before_time?", "TimeText"},
               {"finished_at?", "Time"},
               {"finished_time?", "TimeText"},
               {"ending?",
                "'completed' 'permanent_error' 'attempts_spent' 'dependency_failed' 'deadline_passed' "
                "'cancelled'"},
               {"message?", "string"},
               {"retried_as?", "TaskId"},
               {"archived?", "true"},
               {"handed_on_from?", "string", "The swarm that the task came from"},
               {"for_agent?", "string", "The agent that the task was submitted for"},
               {"waits?", "string", "Why the task does not run yet"},
               {"waits_for?", words_type(wait_causes()), "The same as a fixed word, for programs"},
               {"able_swarms?", "[string]", "With no_able_agent: swarms whose agents can run the task"},
               {"parent?", "TaskId", "The task that submitted this task"},
               {"depth?", "integer", "With parent: levels below the topmost task"},
           }},
      {.name = "Task",
       .help = "A task with all its details",
       .members =
           {
               {"params", "any", "As it was submitted"},
               {"result?", "any"},
               {"progress?", "any", "The last progress mark"},
               {"capabilities", "[string]"},
               {"key?", "string"},
               {"trace?", "string"},
               {"timeout_ms?", "integer", "Of each attempt"},
               {"deadline_at?", "Time"},
               {"deadline_time?", "TimeText"},
               {"retry_of?", "TaskId"},
               {"dependencies?", "[TaskId]"},
               {"failed_attempts", "[Attempt]"},
               {"handed_on?", "[Hop]"},
               {"route_key?", "string"},
               {"agent_fallback?", "'none' 'any'"},
               {"agent_wait_ms?", "integer"},
               {"unpinned_at?", "Time"},
               {"unpinned_time?", "TimeText"},
               {"children?", "integer", "Number of tasks that this task has submitted"},
           },
       .base = "TaskLine"},
      {.name = "Attempt",
       .help = "An attempt that failed",
       .members = {{"agent", "string"},
                   {"error", "string"},
                   {"message", "string"},
                   {"started_at", "Time|null"},
                   {"started_time?", "TimeText"},
                   {"ended_at", "Time|null"},
                   {"ended_time?", "TimeText"}}},
      {.name = "Hop",
       .help = "A move of the task from a swarm to its fallback swarm",
       .members =
           {{"from", "string"}, {"to", "string"}, {"attempts", "integer"}, {"at", "Time|null"}, {"time?", "TimeText"}}},
      {.name = "TaskPage",
       .members = {{"tasks", "[TaskLine]"},
                   {"cursor?", "string", "Present if there are more items: pass it to the next request"}}},
      {.name = "Submitted",
       .members = {{"id", "TaskId"},
                   {"state", "StateName"},
                   {"existing?", "true", "A task with this key existed already; over REST the status is then 200"},
                   {"gone?", "true", "The result of that task is gone: lost, or removed by retention"},
                   {"waits?", "string", "Why no agent can run the task now"},
                   {"able_swarms?", "[string]", "Swarms whose agents can run the task"}}},
      {.name = "Waited",
       .members = {{"finished", "boolean"}, {"task", "Task"}, {"next?", "string", "The node is stopping: ask again"}}},
      {.name = "TaskState", .members = {{"state", "StateName"}}},
      {.name = "Retried",
       .members = {{"id", "TaskId"},
                   {"existing?", "true", "The task had been retried before; over REST the status is then 200"}}},
  };
}

}  // namespace

DeclaredGroup task_operations() {
  return {
      "tasks", {task_submit(), task_wait(), task_status(), task_list(), task_cancel(), task_retry()}, task_answers()};
}

}  // namespace skein::inline v0::operations
