#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <memory>
#include <utility>

#include "skein/mcp/node_catalog.hpp"
#include "skein/mcp/task_progress.hpp"
#include "skein/mcp/task_view.hpp"
#include "skein/mcp/tool_parts.hpp"
#include "skein/operations/json_forms.hpp"

namespace skein::inline v0::mcp {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t k_wait_ms_max = 50'000;  // many clients abort a call after a minute
constexpr auto k_progress_every = 5s;
constexpr int k_list_default = 20;

constexpr const char* k_task_line = R"({"type":"object","properties":{
  "id":{"type":"string"},
  "state":{"type":"string","enum":["queued","assigned","executing","completed","failed","cancelled","blocked",
    "awaiting_approval"]},
  "type":{"type":"string"},"swarm":{"type":"string"},"priority":{"type":"integer"},
  "attempts":{"type":"integer"},"attempts_max":{"type":"integer"},
  "handed_on_from":{"type":"string"},"for_agent":{"type":"string"},"waits":{"type":"string"}},
  "required":["id","state","type","swarm"]})";

json::value with_task(std::string_view before, std::string_view after) {
  return schema_of(std::string(before) + k_task_line + std::string(after));
}

json::object id_only(const char* what) {
  return {{"type", "object"},
          {"properties", {{"id", {{"type", "string"}, {"minLength", 1}, {"description", what}}}}},
          {"required", json::array{"id"}},
          {"additionalProperties", false}};
}

// What to do about a task that is not finished.
std::string advice_for(const json::object& task) {
  const std::string why = text_in(task, "waits");
  if (why.empty()) return "not finished yet; call task_wait again with the same id";
  const bool is_stuck = text_in(task, "waits_for") == "no_able_agent";
  return fmt::format("not finished yet: {}; {}", why,
                     is_stuck ? "waiting alone does not help" : "call task_wait again with the same id");
}

// The node takes params as a text.
void submit(Exchange& exchange) {
  json::object request = exchange.arguments();
  if (const json::value* params = request.if_contains("params")) request["params"] = operations::json_text(*params);
  exchange.ask_node("task_submit", std::move(request), [](Exchange& then, const NodeAnswer& answer) {
    if (answer.kind == NodeAnswer::Kind::error) return then.finish_error(error_text(answer.value));
    json::object shown = answer.value.as_object();
    if (then.can_task()) return then.become_task(text_in(shown, "id"));
    const std::string why = text_in(shown, "waits");
    shown["next"] = "task_wait with this id gives the result";
    if (!why.empty()) shown["next"] = fmt::format("it waits: {}; task_wait gives the result once it has run", why);
    then.finish(structured(std::move(shown)));
  });
}

using ProgressPtr = std::shared_ptr<TaskProgress>;

void tell_progress(Exchange& exchange, const TaskProgress::Word& word) {
  exchange.progress(word.progress, word.total, word.message);
}

void keep_awake(Exchange& exchange, const ProgressPtr& progress) {
  exchange.after(k_progress_every, [progress](Exchange& then) {
    tell_progress(then, progress->on_time());
    keep_awake(then, progress);
  });
}

void finish_wait(Exchange& exchange, const json::value& answer) {
  json::object task = shown_task(answer.at("task").as_object());
  json::object shown = answer.as_object();
  shown["task"] = task;
  // A node that answers before the time is up says why itself.
  if (shown.at("finished") == false) shown.emplace("next", advice_for(task));
  json::object result = structured(std::move(shown));
  add_link(task, exchange.caller().version, result);
  exchange.finish(std::move(result));
}

void wait(Exchange& exchange) {
  json::object request{{"id", exchange.arguments().at("id")}, {"progress", true}};
  std::int64_t time_ms = k_wait_ms_max;
  if (const json::value* given = exchange.arguments().if_contains("timeout_ms")) {
    time_ms = std::min(k_wait_ms_max, given->to_number<std::int64_t>());
  }
  request["timeout_ms"] = time_ms;
  const auto progress = std::make_shared<TaskProgress>();
  if (exchange.wants_progress()) keep_awake(exchange, progress);
  exchange.ask_node("task_wait", std::move(request), [progress](Exchange& then, const NodeAnswer& answer) {
    if (answer.kind == NodeAnswer::Kind::error) return then.finish_error(error_text(answer.value));
    if (answer.kind == NodeAnswer::Kind::ok) return finish_wait(then, answer.value);
    const json::value& mark = answer.value.is_object() ? answer.value.at("progress") : answer.value;
    tell_progress(then, progress->on_mark(mark));
    then.log("info", "task", mark);
  });
}

void status(Exchange& exchange) {
  json::object request = exchange.arguments();
  const ResultPage page = take_result_page(request);
  exchange.ask_node("task_status", std::move(request), [page](Exchange& then, const NodeAnswer& answer) {
    if (answer.kind == NodeAnswer::Kind::error) return then.finish_error(error_text(answer.value));
    const json::object task = shown_task(answer.value.as_object(), page);
    json::object result = structured(task);
    add_link(task, then.caller().version, result);
    then.finish(std::move(result));
  });
}

void list(Exchange& exchange) {
  json::object request = exchange.arguments();
  if (!request.contains("limit")) request["limit"] = k_list_default;
  exchange.ask_node("task_list", std::move(request), [](Exchange& then, const NodeAnswer& answer) {
    if (answer.kind == NodeAnswer::Kind::error) return then.finish_error(error_text(answer.value));
    then.finish(structured(answer.value.as_object()));
  });
}

}  // namespace

void add_task_tools(Catalog& catalog) {
  catalog.add(Tool{
      "task_submit", "Submit a task",
      "Gives a task to the swarm. Answers with the task's id as soon as it is durable: from then on no crash loses it. "
      "The task runs on an agent that can do its type; get its result with task_wait. To be safe when repeating a "
      "call, give the same key: the first task is then found instead of a second one made.",
      schema_of(R"({"type":"object","properties":{
        "type":{"type":"string","minLength":1,"description":"What is to be done; an agent that can do it runs it"},
        "params":{"type":["object","array","string","number","boolean","null"],
                  "description":"Any JSON value, handed to the agent as it is"},
        "swarm":{"type":"string","description":"default: default"},
        "priority":{"type":"string","enum":["low","normal","high","critical"],"description":"default: normal"},
        "key":{"type":"string","description":"Idempotency key: the same key again finds the first task"},
        "capabilities":{"type":"array","items":{"type":"string"},"description":"The agent must have, instead of type"},
        "dependencies":{"type":"array","items":{"type":"string"},"description":"Ids of tasks that must complete first"},
        "attempts":{"type":"integer","minimum":1,"maximum":100,"description":"At most so many, default 4"},
        "timeout_ms":{"type":"integer","minimum":0,"description":"Of each attempt"},
        "delay_ms":{"type":"integer","minimum":0,"description":"Not before this has passed"},
        "deadline_ms":{"type":"integer","minimum":0,"description":"From now, all attempts together"},
        "agent":{"type":"string","description":"The only agent that may do it; it waits for this one"},
        "agent_fallback":{"type":"string","enum":["none","any"],
                          "description":"any: other agents may, after agent_wait_ms"},
        "agent_wait_ms":{"type":"integer","minimum":0,"description":"How long it waits for its agent first"},
        "route_key":{"type":"string","description":"With consistent_hash: the same key, the same agent"}},
        "required":["type"],"additionalProperties":false})"),
      schema_of(R"({"type":"object","properties":{"id":{"type":"string"},"state":{"type":"string"},
        "existing":{"type":"boolean"},"gone":{"type":"boolean"},"next":{"type":"string"}},
        "required":["id","state"]})"),
      annotations({}), submit, "",
      TaskSupport{TaskSupport::Mode::offered, [](const json::object& task) { return ended_task(task); }}, "params"});
  catalog.add(Tool{
      "task_wait", "Wait for a task",
      "Waits until a task has ended, at most 50 seconds, and gives its result. If finished is false the task still "
      "runs: call again. state tells how it ended: completed (see result), failed (see message and failed_attempts) "
      "or cancelled.",
      schema_of(R"({"type":"object","properties":{
        "id":{"type":"string","minLength":1,"description":"The task's id, from task_submit"},
        "timeout_ms":{"type":"integer","minimum":0,"maximum":50000,"description":"default: 50000"}},
        "required":["id"],"additionalProperties":false})"),
      with_task(R"({"type":"object","properties":{"finished":{"type":"boolean"},"next":{"type":"string"},"task":)",
                R"(},"required":["finished","task"]})"),
      annotations({.is_read_only = true}), wait});
  catalog.add(Tool{"task_status", "Look at a task",
                   "Everything about one task as it stands now: state, params, result, failed attempts. Does not wait. "
                   "A result over "
                   "48 KiB comes in pieces: result_part has one, and the offset of the next.",
                   schema_of(R"({"type":"object","properties":{
        "id":{"type":"string","minLength":1,"description":"The task's id"},
        "result_offset":{"type":"integer","minimum":0,"description":"Where the piece of the result begins"},
        "result_bytes":{"type":"integer","minimum":1,"maximum":49152,"description":"How long it may be"}},
        "required":["id"],"additionalProperties":false})"),
                   with_task("", ""), annotations({.is_read_only = true}), status});
  catalog.add(
      Tool{"task_list", "List tasks",
           "Tasks that match all that is given, open ones first, newest at the top. A page has 20 unless limit says "
           "otherwise; pass the cursor of the answer to get the next page, no cursor in the answer means that was all.",
           schema_of(R"({"type":"object","properties":{
        "state":{"type":"string","enum":["queued","assigned","executing","completed","failed","cancelled","blocked",
                         "awaiting_approval"]},
        "swarm":{"type":"string"},"type":{"type":"string"},
        "text":{"type":"string","description":"Words in params, result or message"},
        "limit":{"type":"integer","minimum":1,"maximum":100},
        "cursor":{"type":"string","description":"Of the answer before"}},"additionalProperties":false})"),
           with_task(R"({"type":"object","properties":{"cursor":{"type":"string"},"tasks":{"type":"array","items":)",
                     R"(}},"required":["tasks"]})"),
           annotations({.is_read_only = true}), list});
  catalog.add(Tool{"task_cancel", "Cancel a task",
                   "Cancels a task in whatever state it is; an OS process that runs it is killed with all it started.",
                   schema_of(R"({"type":"object","properties":{
                     "id":{"type":"string","minLength":1},
                     "reason":{"type":"string","description":"Kept with the task"}},
                     "required":["id"],"additionalProperties":false})"),
                   schema_of(R"({"type":"object","properties":{"state":{"type":"string"}},"required":["state"]})"),
                   annotations({.is_destructive = true, .is_idempotent = true}), one_operation("task_cancel")});
  catalog.add(Tool{"task_retry", "Retry a task",
                   "Makes a new task from one that failed or was cancelled and answers the new id. Retrying it again "
                   "finds the same new task.",
                   id_only("Id of the task that failed or was cancelled"),
                   schema_of(R"({"type":"object","properties":{"id":{"type":"string"},"existing":{"type":"boolean"}},
                     "required":["id"]})"),
                   annotations({.is_idempotent = true}), one_operation("task_retry")});
}

}  // namespace skein::inline v0::mcp
