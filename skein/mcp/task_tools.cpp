// Tools that do more than ask once: a submit may become a task of MCP, a wait tells of progress, a task may be too long
// to be shown.
#include <algorithm>
#include <boost/json/array.hpp>
#include <utility>

#include "skein/mcp/node_catalog.hpp"
#include "skein/mcp/tool_parts.hpp"

namespace skein::inline v0::mcp {
namespace {

using namespace std::chrono_literals;
using operations::find_operation;

constexpr auto k_progress_every = 5s;

void submit(Exchange& exchange) {
  exchange.ask_node("task_submit", request_of(*find_operation("task_submit"), exchange.arguments()),
                    [](Exchange& then, const NodeAnswer& answer) {
                      if (answer.kind == NodeAnswer::Kind::error) return then.finish_error(error_text(answer.value));
                      json::object shown = answer.value.as_object();
                      if (then.can_task()) return then.become_task(text_in(shown, "id"));
                      shown["next"] = "task_wait with this id gives the result";
                      then.finish(structured(std::move(shown)));
                    });
}

// A client that counts idle time hears something before it gives up.
void keep_awake(Exchange& exchange, double seconds) {
  exchange.after(k_progress_every, [seconds](Exchange& then) {
    const double now = seconds + std::chrono::duration<double>(k_progress_every).count();
    then.progress(now, std::nullopt, "the task is not finished yet");
    keep_awake(then, now);
  });
}

void wait(Exchange& exchange) {
  json::object request = request_of(*find_operation("task_wait"), exchange.arguments());
  request["progress"] = true;
  if (exchange.wants_progress()) keep_awake(exchange, 0);
  exchange.ask_node("task_wait", std::move(request), [](Exchange& then, const NodeAnswer& answer) {
    if (answer.kind == NodeAnswer::Kind::part) {
      return then.log("info", "task", answer.value.is_object() ? answer.value.at("progress") : answer.value);
    }
    if (answer.kind == NodeAnswer::Kind::error) return then.finish_error(error_text(answer.value));
    json::object shown{{"finished", answer.value.at("finished")},
                       {"task", shown_task(answer.value.at("task").as_object())}};
    if (shown.at("finished") == false) shown["next"] = "not finished yet; call task_wait again with the same id";
    then.finish(structured(std::move(shown)));
  });
}

}  // namespace

std::map<std::string_view, Handler> task_tool_handlers() {
  return {{"task_submit", submit},
          {"task_wait", wait},
          {"task_status",
           one_operation("task_status", [](const json::value& answer) { return shown_task(answer.as_object()); })}};
}

}  // namespace skein::inline v0::mcp
