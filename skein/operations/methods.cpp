#include "skein/operations/methods.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

namespace skein::inline v0::operations {
namespace {

using Nothing = Operations::Nothing;
using OperationsPtr = std::shared_ptr<Operations>;

constexpr std::array<std::string_view, 5> k_connection_methods{"hello", "events", "tree_watch", "cancel", "mcp"};

using TaskCall = void (*)(Operations& ops, JsonReader& in, const Responder& respond);
using NodeCall = void (*)(NodeHooks& hooks, JsonReader& in, const Responder& respond);

// Answers for the caller when the request cannot be read.
bool is_bad(JsonReader& in, const Responder& respond) {
  auto error = in.error();
  if (error) respond.fail(std::move(*error));
  return error.has_value();
}

void task_submit(Operations& ops, JsonReader& in, const Responder& respond) {
  auto request = read_submit(in);
  if (is_bad(in, respond)) return;
  ops.task_submit(std::move(request), respond.reply<SubmitAnswer>());
}

void task_status(Operations& ops, JsonReader& in, const Responder& respond) {
  StatusRequest request;
  request.key = in.text("key");
  request.swarm = in.text("swarm", request.swarm);
  request.id = in.task_id("id", request.key.empty());
  if (is_bad(in, respond)) return;
  ops.task_status(request, Reply<TaskStatus>([respond](Result<TaskStatus>&& result) {
                    if (!result) return respond.fail(std::move(result.error()));
                    respond.send(Answer::Kind::ok,
                                 [status = std::make_shared<TaskStatus>(std::move(*result))]() -> json::value {
                                   return to_json(*status, Detail::whole);
                                 });
                  }));
}

void task_wait(Operations& ops, JsonReader& in, const Responder& respond) {
  WaitRequest request;
  request.id = in.task_id("id");
  request.timeout = in.milliseconds("timeout_ms", request.timeout);
  request.ticket = respond.ticket();
  const bool with_progress = in.flag("progress");
  if (is_bad(in, respond)) return;
  ProgressFn progress;
  if (with_progress) {
    progress = [respond](TaskId, const ledger::Body& mark) {
      respond.send(Answer::Kind::part,
                   [mark]() -> json::value { return {{"progress", json_or_text(ledger::view_of(mark))}}; });
    };
  }
  ops.task_wait(request, std::move(progress), respond.reply<WaitAnswer>());
}

void task_list(Operations& ops, JsonReader& in, const Responder& respond) {
  auto request = read_list(in);
  if (is_bad(in, respond)) return;
  ops.task_list(std::move(request), respond.reply<ListAnswer>());
}

void task_cancel(Operations& ops, JsonReader& in, const Responder& respond) {
  CancelRequest request;
  request.id = in.task_id("id");
  request.reason = in.text("reason");
  if (is_bad(in, respond)) return;
  ops.task_cancel(std::move(request), respond.reply<State>());
}

void task_retry(Operations& ops, JsonReader& in, const Responder& respond) {
  const TaskId id = in.task_id("id");
  if (is_bad(in, respond)) return;
  ops.task_retry(id, respond.reply<RetryAnswer>());
}

void swarm_create(Operations& ops, JsonReader& in, const Responder& respond) {
  SwarmRequest request{in.required_text("name"), in.fields("fields")};
  if (is_bad(in, respond)) return;
  ops.swarm_create(std::move(request), respond.reply<Nothing>());
}

void swarm_override(Operations& ops, JsonReader& in, const Responder& respond) {
  SwarmRequest request{in.required_text("name"), in.fields("fields")};
  if (is_bad(in, respond)) return;
  ops.swarm_override(std::move(request), respond.reply<Nothing>());
}

void swarm_scale(Operations& ops, JsonReader& in, const Responder& respond) {
  ScaleRequest request;
  request.name = in.required_text("name");
  request.agents_min = static_cast<std::uint32_t>(in.count("min", 0, UINT32_MAX));
  request.agents_max = static_cast<std::uint32_t>(in.count("max", 0, UINT32_MAX));
  if (is_bad(in, respond)) return;
  ops.swarm_scale(request, respond.reply<Nothing>());
}

void swarm_list(Operations& ops, JsonReader& in, const Responder& respond) {
  if (is_bad(in, respond)) return;
  ops.swarm_list(respond.reply<std::vector<SwarmView>>());
}

void swarm_status(Operations& ops, JsonReader& in, const Responder& respond) {
  auto name = in.required_text("name");
  if (is_bad(in, respond)) return;
  ops.swarm_status(std::move(name), respond.reply<SwarmView>());
}

template <void (Operations::*k_call)(std::string, Reply<Nothing>)>
void swarm_by_name(Operations& ops, JsonReader& in, const Responder& respond) {
  auto name = in.required_text("name");
  if (is_bad(in, respond)) return;
  (ops.*k_call)(std::move(name), respond.reply<Nothing>());
}

void event_list(Operations& ops, JsonReader& in, const Responder& respond) {
  const std::size_t limit = in.count("limit", 100, k_events_listed_max);
  if (is_bad(in, respond)) return;
  respond.send(Answer::Kind::ok, [all = ops.events().last(limit)]() -> json::value {
    json::array shown;
    for (const Event& each : all) shown.push_back(to_json(each));
    return {{"events", std::move(shown)}};
  });
}

void status(Operations& ops, JsonReader& in, const Responder& respond) {
  if (is_bad(in, respond)) return;
  ops.status(respond.reply<NodeStatus>());
}

void info(NodeHooks& hooks, JsonReader& in, const Responder& respond) {
  if (!is_bad(in, respond)) respond.answer<NodeInfo>(hooks.info());
}

void tree(NodeHooks& hooks, JsonReader& in, const Responder& respond) {
  if (is_bad(in, respond)) return;
  auto entry = hooks.tree();
  if (!entry) return respond.fail(std::move(entry.error()));
  respond.send(Answer::Kind::ok, [entry = std::move(*entry)]() -> json::value { return own_json(tree_json(entry)); });
}

void processes(NodeHooks& hooks, JsonReader& in, const Responder& respond) {
  const std::string sort = in.text("sort", "mailbox");
  const std::size_t limit = in.count("limit", 100, k_processes_listed_max);
  if (is_bad(in, respond)) return;
  auto all = hooks.processes();
  const auto by = [&](auto key) { std::ranges::sort(all, std::greater<>(), key); };
  if (sort == "mailbox") {
    by(&ProcessInfo::mailbox);
  } else if (sort == "time") {
    by(&ProcessInfo::handler_time);
  } else if (sort == "memory") {
    by(&ProcessInfo::memory);
  } else if (sort == "handled") {
    by(&ProcessInfo::handled);
  } else {
    return respond.fail(invalid("sort must be mailbox, time, memory or handled"));
  }
  const std::size_t count = all.size();
  if (all.size() > limit) all.resize(limit);
  respond.send(Answer::Kind::ok, [all = std::move(all), count]() -> json::value {
    json::array shown;
    for (const ProcessInfo& each : all) shown.push_back(to_json(each));
    return {{"count", count}, {"processes", std::move(shown)}};
  });
}

void describe(NodeHooks& hooks, JsonReader& in, const Responder& respond) {
  auto target = in.required_text("target");
  if (!is_bad(in, respond)) hooks.describe(std::move(target), respond.reply<std::string>());
}

void trace(NodeHooks& hooks, JsonReader& in, const Responder& respond) {
  TraceRequest request;
  request.target = in.required_text("target");
  request.messages = static_cast<std::uint32_t>(in.count("messages", request.messages, k_trace_limit));
  request.within = in.milliseconds("within_ms", request.within);
  if (!is_bad(in, respond)) hooks.trace(std::move(request), respond.reply<std::vector<TracedMessage>>());
}

void dump(NodeHooks& hooks, JsonReader& in, const Responder& respond) {
  if (!is_bad(in, respond)) hooks.dump(respond.reply<std::string>());
}

void log_level(NodeHooks& hooks, JsonReader& in, const Responder& respond) {
  const std::string level = in.text("level");
  if (is_bad(in, respond)) return;
  if (!level.empty()) {
    auto done = hooks.set_log_level(level);
    if (!done) return respond.fail(std::move(done.error()));
  }
  respond.answer<std::string>(hooks.log_level());
}

void agent_list(NodeHooks& hooks, JsonReader& in, const Responder& respond) {
  auto capabilities = in.texts("capabilities");
  if (!is_bad(in, respond)) hooks.agents(std::move(capabilities), respond.reply<std::vector<AgentDetail>>());
}

void agent_start(NodeHooks& hooks, JsonReader& in, const Responder& respond) {
  auto id = in.required_text("id");
  if (!is_bad(in, respond)) hooks.agent_start(std::move(id), respond.reply<Nothing>());
}

void agent_update(NodeHooks& hooks, JsonReader& in, const Responder& respond) {
  UpdateAgentRequest request;
  request.id = in.required_text("id");
  constexpr std::uint64_t k_as_it_is = UINT32_MAX;
  const std::uint64_t prefetch = in.count("prefetch", k_as_it_is, k_as_it_is);
  if (prefetch != k_as_it_is) request.prefetch = static_cast<std::uint32_t>(prefetch);
  request.capabilities = in.texts("capabilities");
  if (!is_bad(in, respond)) hooks.agent_update(std::move(request), respond.reply<Nothing>());
}

void agent_cancel(NodeHooks& hooks, JsonReader& in, const Responder& respond) {
  auto id = in.required_text("id");
  if (!is_bad(in, respond)) hooks.agent_cancel(std::move(id), respond.reply<CancelAgentAnswer>());
}

void tree_restart(NodeHooks& hooks, JsonReader& in, const Responder& respond) {
  auto path = in.required_text("path");
  if (!is_bad(in, respond)) hooks.tree_restart(std::move(path), respond.reply<std::string>());
}

void agent_status(NodeHooks& hooks, JsonReader& in, const Responder& respond) {
  auto id = in.required_text("id");
  if (!is_bad(in, respond)) hooks.agent_status(std::move(id), respond.reply<AgentStatusAnswer>());
}

template <bool k_paused>
void agent_pause(NodeHooks& hooks, JsonReader& in, const Responder& respond) {
  auto id = in.required_text("id");
  if (!is_bad(in, respond)) hooks.agent_set_paused(std::move(id), k_paused, respond.reply<Nothing>());
}

void agent_stop(NodeHooks& hooks, JsonReader& in, const Responder& respond) {
  auto id = in.required_text("id");
  if (!is_bad(in, respond)) hooks.agent_stop(std::move(id), respond.reply<Nothing>());
}

void agent_spawn(NodeHooks& hooks, JsonReader& in, const Responder& respond) {
  SpawnAgentRequest request;
  request.executor = in.required_text("executor");
  request.id = in.text("id");
  request.role = in.text("role", request.role);
  request.swarm = in.text("swarm", request.swarm);
  request.capabilities = in.texts("capabilities");
  request.prefetch = static_cast<std::uint32_t>(in.count("prefetch", request.prefetch, 100));
  if (!is_bad(in, respond)) hooks.agent_spawn(std::move(request), respond.reply<std::string>());
}

void chaos_kill(NodeHooks& hooks, JsonReader& in, const Responder& respond) {
  KillRequest request;
  request.target = in.required_text("target");
  request.signal = in.text("signal", request.signal);
  request.count = static_cast<std::uint32_t>(in.count("count", request.count, 100'000));
  if (!is_bad(in, respond)) respond.answer<KillAnswer>(hooks.chaos_kill(request));
}

void reload(NodeHooks& hooks, JsonReader& in, const Responder& respond) {
  if (!is_bad(in, respond)) hooks.reload(respond.reply<ReloadAnswer>());
}

void backup(NodeHooks& hooks, JsonReader& in, const Responder& respond) {
  auto dest = in.required_text("dest");
  if (!is_bad(in, respond)) hooks.backup(std::move(dest), respond.reply<std::string>());
}

void stop(NodeHooks& hooks, JsonReader& in, const Responder& respond) {
  if (is_bad(in, respond)) return;
  // In the connection's own handler, which writes the answer before anything can end it.
  respond.send(Answer::Kind::ok, [&hooks]() -> json::value {
    hooks.stop();
    return json::object();
  });
}

struct TaskMethod {
  std::string_view name;
  TaskCall call;
};
constexpr std::array<TaskMethod, 18> k_task_methods{{
    {"task_submit", task_submit},
    {"task_status", task_status},
    {"task_wait", task_wait},
    {"task_list", task_list},
    {"task_cancel", task_cancel},
    {"task_retry", task_retry},
    {"swarm_create", swarm_create},
    {"swarm_override", swarm_override},
    {"swarm_scale", swarm_scale},
    {"swarm_list", swarm_list},
    {"swarm_status", swarm_status},
    {"swarm_pause", swarm_by_name<&Operations::swarm_pause>},
    {"swarm_resume", swarm_by_name<&Operations::swarm_resume>},
    {"swarm_drain", swarm_by_name<&Operations::swarm_drain>},
    {"swarm_stop", swarm_by_name<&Operations::swarm_stop>},
    {"swarm_remove", swarm_by_name<&Operations::swarm_remove>},
    {"event_list", event_list},
    {"status", status},
}};

struct NodeMethod {
  std::string_view name;
  NodeCall call;
};
constexpr std::array<NodeMethod, 21> k_node_methods{{
    {"info", info},
    {"tree", tree},
    {"processes", processes},
    {"describe", describe},
    {"trace", trace},
    {"dump", dump},
    {"log_level", log_level},
    {"agent_list", agent_list},
    {"agent_status", agent_status},
    {"agent_pause", agent_pause<true>},
    {"agent_resume", agent_pause<false>},
    {"agent_stop", agent_stop},
    {"agent_start", agent_start},
    {"agent_update", agent_update},
    {"agent_cancel", agent_cancel},
    {"tree_restart", tree_restart},
    {"agent_spawn", agent_spawn},
    {"chaos_kill", chaos_kill},
    {"reload", reload},
    {"backup", backup},
    {"stop", stop},
}};

Error draining() {
  return {Code::stopped, "the node is going down and takes no new tasks", "submit again when it is back",
          std::chrono::milliseconds(1000)};
}

// What could not be read never got to the operations, which count all other errors.
void count_refused(const Request& request) {
  const auto& error = request.in.found_wrong();
  if (!error) return;
  if (const OperationsPtr ops = request.hooks.operations()) ops->count_refused(error->code);
}

}  // namespace

Error engine_is_away() {
  return {Code::stopped, "the node's engine is not there at the moment", "try again", std::chrono::milliseconds(100)};
}

bool is_for_connection(std::string_view name) {
  return std::ranges::find(k_connection_methods, name) != k_connection_methods.end();
}

std::vector<std::string_view> method_names() {
  std::vector<std::string_view> names(k_connection_methods.begin(), k_connection_methods.end());
  for (const TaskMethod& each : k_task_methods) names.push_back(each.name);
  for (const NodeMethod& each : k_node_methods) names.push_back(each.name);
  return names;
}

void carry_out(std::string_view name, const Request& request) {
  const auto task = std::ranges::find(k_task_methods, name, &TaskMethod::name);
  if (task != k_task_methods.end()) {
    const OperationsPtr ops = request.hooks.operations();
    if (ops == nullptr) return request.respond.fail(engine_is_away());
    if (name == "task_submit" && request.hooks.is_draining()) return request.respond.fail(draining());
    task->call(*ops, request.in, request.respond);
    return count_refused(request);
  }
  const auto node = std::ranges::find(k_node_methods, name, &NodeMethod::name);
  if (node != k_node_methods.end()) {
    node->call(request.hooks, request.in, request.respond);
    return count_refused(request);
  }
  if (const OperationsPtr ops = request.hooks.operations()) ops->count_refused(Code::invalid);
  request.respond.fail(invalid(fmt::format("unknown operation '{}'", name), "'skein --help' lists what there is"));
}

}  // namespace skein::inline v0::operations
