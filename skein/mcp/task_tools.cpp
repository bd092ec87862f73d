// Tools that do more than ask once: a submit may become a task of MCP, a wait tells of progress, a task may be too long
// to be shown.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <memory>
#include <utility>

#include "skein/mcp/node_catalog.hpp"
#include "skein/mcp/task_progress.hpp"
#include "skein/mcp/task_view.hpp"
#include "skein/mcp/tool_parts.hpp"
#include "skein/operations/why_waits.hpp"

namespace skein::inline v0::mcp {
namespace {

using namespace std::chrono_literals;
using operations::find_operation;

constexpr auto k_progress_every = 5s;

// What to do about a task that is not finished.
std::string advice_for(const json::object& task) {
  const std::string why = text_in(task, "waits");
  if (why.empty()) return "not finished yet; call task_wait again with the same id";
  const bool is_stuck = operations::needs_help(text_in(task, "waits_for"));
  return fmt::format("not finished yet: {}; {}", why,
                     is_stuck ? "waiting alone does not help" : "call task_wait again with the same id");
}

void submit(Exchange& exchange) {
  exchange.ask_node("task_submit", request_of(*find_operation("task_submit"), exchange.arguments()),
                    [](Exchange& then, const NodeAnswer& answer) {
                      if (answer.kind == NodeAnswer::Kind::error) return then.finish_error(error_text(answer.value));
                      json::object shown = answer.value.as_object();
                      if (then.can_task()) return then.become_task(text_in(shown, "id"));
                      const std::string why = text_in(shown, "waits");
                      shown["next"] =
                          why.empty() ? "task_wait with this id gives the result"
                                      : fmt::format("it waits: {}; task_wait gives the result once it has run", why);
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
  json::object request = request_of(*find_operation("task_wait"), exchange.arguments());
  request["progress"] = true;
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
  json::object arguments = exchange.arguments();
  const ResultPage page = take_result_page(arguments);
  exchange.ask_node("task_status", request_of(*find_operation("task_status"), arguments),
                    [page](Exchange& then, const NodeAnswer& answer) {
                      if (answer.kind == NodeAnswer::Kind::error) return then.finish_error(error_text(answer.value));
                      const json::object task = shown_task(answer.value.as_object(), page);
                      json::object result = structured(task);
                      add_link(task, then.caller().version, result);
                      then.finish(std::move(result));
                    });
}

}  // namespace

std::map<std::string_view, Handler> task_tool_handlers() {
  return {{"task_submit", submit}, {"task_wait", wait}, {"task_status", status}};
}

}  // namespace skein::inline v0::mcp
