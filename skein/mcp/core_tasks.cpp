// The tasks extension: a call that became a task, what has become of it, input for it, its cancellation, and those who
// are told when it changes. See task_support.hpp for handles and states.
#include <boost/json/array.hpp>
#include <utility>

#include "skein/mcp/core.hpp"
#include "skein/mcp/tool_parts.hpp"

namespace skein::inline v0::mcp {
namespace {

RpcError no_such_task() { return {k_invalid_params, "there is no such task", nullptr}; }

// What the node said instead of a task.
RpcError task_error(const json::value& error) {
  const json::object* object = error.if_object();
  const std::string code = object != nullptr ? text_in(*object, "code") : "";
  if (code == "task_not_found" || code == "invalid") return no_such_task();
  return {k_internal_error, error_text(error), nullptr};
}

}  // namespace

void McpCore::missing_tasks(Exchange& exchange) {
  if (exchange.caller_.era == Era::legacy) {
    return exchange.finish_error("this needs a client that speaks 2026-07-28 with the tasks extension");
  }
  exchange.fail({k_missing_capability, "this needs a client with the tasks extension",
                 json::object{{"requiredCapabilities", {{"extensions", {{k_tasks_extension, json::object()}}}}}}});
}

const TaskSupport* McpCore::support_of(const TaskHandle& task) const {
  const Catalog::ListedTool* tool = setup_.catalog->tool(task.tool);
  return tool != nullptr && tool->tool.task.mode != TaskSupport::Mode::none ? &tool->tool.task : nullptr;
}

std::optional<TaskHandle> McpCore::task_named(Exchange& exchange, const json::object& params) {
  if (!exchange.can_task()) {
    missing_tasks(exchange);
    return std::nullopt;
  }
  const json::string* handle = string_in(params, "taskId");
  auto task = handle != nullptr ? open_task(*setup_.sealer, *handle, *setup_.who) : std::nullopt;
  if (!task || support_of(*task) == nullptr) {
    exchange.fail(no_such_task());
    return std::nullopt;
  }
  exchange.name_ = *handle;
  return task;
}

void McpCore::look(Exchange& exchange, const TaskHandle& task, Exchange::OnAnswer then) {
  const TaskSupport& support = *support_of(task);
  if (support.look) return support.look(exchange, task.id, std::move(then));
  exchange.ask_node("task_status", {{"id", task.id}}, std::move(then));
}

void McpCore::become_task(Exchange& exchange, std::string id) {
  TaskHandle task{std::move(id), exchange.name_};
  const Exchange::OnAnswer then = [this, task](Exchange& asked, const NodeAnswer& answer) {
    if (answer.kind == NodeAnswer::Kind::error) return asked.fail(task_error(answer.value));
    const std::string handle = seal_task(*setup_.sealer, task, *setup_.who);
    asked.finish(
        task_created(detailed_task(handle, answer.value.as_object(), *support_of(task), setup_.catalog->task_ttl)));
  };
  look(exchange, task, then);
}

void McpCore::get_task(Exchange& exchange, const json::object& params) {
  const auto task = task_named(exchange, params);
  if (!task) return;
  look(exchange, *task, [this, task = *task](Exchange& asked, const NodeAnswer& answer) {
    if (answer.kind == NodeAnswer::Kind::error) return asked.fail(task_error(answer.value));
    asked.finish(detailed_task(asked.name_, answer.value.as_object(), *support_of(task), setup_.catalog->task_ttl));
  });
}

void McpCore::update_task(Exchange& exchange, const json::object& params) {
  const auto task = task_named(exchange, params);
  if (!task) return;
  const json::object* given = object_in(params, "inputResponses");
  if (given == nullptr)
    return exchange.fail({k_invalid_params, "tasks/update needs inputResponses, an object", nullptr});
  for (const auto& each : *given) {
    if (each.value().is_object()) continue;
    return exchange.fail({k_invalid_params, "each of inputResponses must be an object", nullptr});
  }
  const Exchange::OnAnswer then = [](Exchange& asked, const NodeAnswer& answer) {
    if (answer.kind == NodeAnswer::Kind::error) return asked.fail(task_error(answer.value));
    asked.finish({});
  };
  const TaskSupport& support = *support_of(*task);
  if (support.give) return support.give(exchange, task->id, *given, then);
  look(exchange, *task, then);  // for a task that is not there is an error
}

void McpCore::cancel_task(Exchange& exchange, const json::object& params) {
  const auto task = task_named(exchange, params);
  if (!task) return;
  exchange.ask_node("task_cancel", {{"id", task->id}, {"reason", "cancelled by its MCP client"}},
                    [](Exchange& asked, const NodeAnswer& answer) {
                      const json::object* error =
                          answer.kind == NodeAnswer::Kind::error ? answer.value.if_object() : nullptr;
                      // To cancel what has ended asks for nothing that is not so.
                      const bool has_failed = error != nullptr && text_in(*error, "code") != "already_finished";
                      if (has_failed) return asked.fail(task_error(answer.value));
                      asked.finish({});
                    });
}

// ---- who is told ----

json::array McpCore::watch_tasks(Exchange& exchange, const json::array& handles) {
  json::array taken;
  for (const json::value& each : handles) {
    const json::string* handle = each.if_string();
    const auto task = handle != nullptr ? open_task(*setup_.sealer, *handle, *setup_.who) : std::nullopt;
    if (!task || support_of(*task) == nullptr) continue;
    exchange.watched_[task->id] = {std::string(*handle), task->tool, {}, false, false};
    taken.push_back(each);
  }
  return taken;
}

void McpCore::tell_tasks(Exchange& exchange) {
  for (auto& each : exchange.watched_) tell_task(exchange, each.first);
}

void McpCore::tell_task(Exchange& exchange, const std::string& id) {
  const auto found = exchange.watched_.find(id);
  if (found == exchange.watched_.end() || exchange.is_over_) return;
  if (std::exchange(found->second.is_asked, true)) {
    found->second.is_stale = true;
    return;
  }
  const TaskHandle task{id, found->second.tool};
  look(exchange, task, [this, task](Exchange& asked, const NodeAnswer& answer) { told_task(asked, task, answer); });
}

void McpCore::told_task(Exchange& exchange, const TaskHandle& task, const NodeAnswer& answer) {
  const auto found = exchange.watched_.find(task.id);
  if (found == exchange.watched_.end()) return;
  Exchange::WatchedTask& watched = found->second;
  watched.is_asked = false;
  bool is_over = false;
  if (answer.kind == NodeAnswer::Kind::ok) {
    json::object now =
        detailed_task(watched.handle, answer.value.as_object(), *support_of(task), setup_.catalog->task_ttl);
    std::string said = text_in(now, "status") + text_in(now, "statusMessage");
    is_over = has_ended(now);
    if (said != watched.said) {
      watched.said = std::move(said);
      now["_meta"] = json::object{{k_meta_subscription, exchange.id_}};
      send(exchange, make_notification("notifications/tasks", std::move(now)));
    }
  }
  if (is_over) {
    exchange.watched_.erase(found);
  } else if (std::exchange(watched.is_stale, false)) {
    tell_task(exchange, task.id);
  }
}

void McpCore::task_changed(const std::string& id) {
  for (const auto& each : exchanges_) tell_task(*each.second, id);
}

void McpCore::look_at_tasks() {
  for (const auto& each : exchanges_) tell_tasks(*each.second);
}

}  // namespace skein::inline v0::mcp
