// Operations on agents: each declaration beside its handler.
#include <utility>

#include "skein/ledger/swarm_fields.hpp"
#include "skein/net/http_status.hpp"
#include "skein/operations/pages.hpp"
#include "skein/operations/table.hpp"

namespace skein::inline v0::operations {
namespace {

Param the_agent() { return Param::text("id", "The agent's name").required().at("NAME"); }

void spawn_agent(const Call& call) {
  const Arguments& in = call.in;
  SpawnAgentRequest request;
  request.executor = in.text("executor");
  request.id = in.text("id");
  request.role = in.text("role");
  request.swarm = in.text("swarm");
  request.capabilities = in.texts("capabilities");
  request.prefetch = static_cast<std::uint32_t>(in.count("prefetch"));
  call.hooks.agent_spawn(std::move(request), Reply<std::string>([respond = call.respond](Result<std::string>&& id) {
                           if (!id) return respond.fail(std::move(id.error()));
                           respond.send(Answer::Kind::ok,
                                        [id = std::move(*id)]() -> json::value { return {{"id", id}}; });
                         }));
}

Operation agent_spawn() {
  const SpawnAgentRequest otherwise;
  return {
      .name = "agent_spawn",
      .title = "Start an agent",
      .summary = "Start one more agent with an executor of the config",
      .help =
          "Starts one more agent and returns its id. executor must name an executor of the node's config; a command "
          "line cannot be given here.",
      .params =
          {Param::text("executor", "Name of the executor in the config, or 'function'").or_else("function").filled(),
           Param::text("id", "Name of the agent; generated if none is given").as_option("name").filled(),
           Param::word("role", {"worker", "specialist", "coordinator"}, "Role of the agent").or_else(otherwise.role),
           Param::text("swarm", "Swarm whose tasks the agent runs").or_else(otherwise.swarm).filled(),
           Param::texts("capabilities", "Capabilities of the agent, in addition to those of its executor")
               .as_option("capability")
               .filled(),
           Param::count("prefetch", 0, ledger::k_swarm_prefetch_max, "Tasks held in addition to the running one")
               .or_else(otherwise.prefetch)},
      .answer = "Spawned",
      .errors = {Code::swarm_not_found},
      .rank = Rank::operate,
      .effect = Operation::Effect::adds,
      .is_tool = true,
      .rest = {"POST", "/agents", net::http_status::k_created},
      .cli = {"agent spawn", "skein agent spawn --executor words --swarm words"},
      .handler = spawn_agent,
  };
}

void list_agents(const Call& call) {
  const PageOf page{"agents", "id", call.in.count("limit"), call.in.text("cursor")};
  Reply<std::vector<AgentDetail>> reply([respond = call.respond, page,
                                         swarm = call.in.text("swarm")](Result<std::vector<AgentDetail>>&& result) {
    if (!result) return respond.fail(std::move(result.error()));
    respond.send(Answer::Kind::ok,
                 [all = std::make_shared<std::vector<AgentDetail>>(std::move(*result)), page, swarm]() -> json::value {
                   std::vector<json::object> items;
                   for (const AgentDetail& each : *all) {
                     if (swarm.empty() || each.swarm == swarm) items.push_back(to_json(each).as_object());
                   }
                   return page_of(std::move(items), page);
                 });
  });
  call.hooks.agents(call.in.texts("capabilities"), std::move(reply));
}

Operation agent_list() {
  return {
      .name = "agent_list",
      .title = "List agents",
      .summary = "List agents by id: status, load, heartbeat, tasks done",
      .help = "Agents by id. To get the next page, pass the cursor of the answer.",
      .params = {Param::text("swarm", "Only agents of this swarm").filled(),
                 Param::texts("capabilities", "Only agents that have all of these capabilities")
                     .as_option("capability")
                     .filled(),
                 page_limit(0), page_cursor()},
      .answer = "AgentPage",
      .is_tool = true,
      .rest = {"GET", "/agents"},
      .cli = {"agents", "skein agents --swarm default"},
      .handler = list_agents,
  };
}

void look_at_agent(const Call& call) {
  call.hooks.agent_status(call.in.text("id"), call.respond.reply<AgentStatusAnswer>());
}

Operation agent_status() {
  return {
      .name = "agent_status",
      .title = "Show an agent",
      .summary = "Show an agent: its current task, its statistics and its last tasks",
      .params = {the_agent()},
      .answer = "AgentStatus",
      .errors = {Code::agent_not_found},
      .is_tool = true,
      .rest = {"GET", "/agents/{id}"},
      .cli = {"agent show", "skein agent show default-1"},
      .handler = look_at_agent,
  };
}

template <bool k_paused>
void pause_agent(const Call& call) {
  call.hooks.agent_set_paused(call.in.text("id"), k_paused, call.respond.reply<Operations::Nothing>());
}
void stop_agent(const Call& call) {
  call.hooks.agent_stop(call.in.text("id"), call.respond.reply<Operations::Nothing>());
}

Operation agent_pause() {
  return {
      .name = "agent_pause",
      .title = "Pause an agent",
      .summary = "Assign no further tasks to an agent",
      .help = "The agent finishes its task and gets no others until agent_resume.",
      .params = {the_agent()},
      .errors = {Code::agent_not_found},
      .rank = Rank::operate,
      .effect = Operation::Effect::sets,
      .is_tool = true,
      .rest = {"POST", "/agents/{id}/pause"},
      .cli = {"agent pause", "skein agent pause default-1"},
      .handler = pause_agent<true>,
  };
}

Operation agent_resume() {
  return {
      .name = "agent_resume",
      .title = "Resume an agent",
      .summary = "Assign tasks to a paused agent again",
      .params = {the_agent()},
      .errors = {Code::agent_not_found},
      .rank = Rank::operate,
      .effect = Operation::Effect::sets,
      .is_tool = true,
      .rest = {"POST", "/agents/{id}/resume"},
      .cli = {"agent resume", "skein agent resume default-1"},
      .handler = pause_agent<false>,
  };
}

Operation agent_stop() {
  return {
      .name = "agent_stop",
      .title = "Stop an agent",
      .summary = "Stop an agent; its task is given to another agent",
      .params = {the_agent()},
      .errors = {Code::agent_not_found},
      .rank = Rank::operate,
      .effect = Operation::Effect::destroys,
      .is_tool = true,
      .rest = {"POST", "/agents/{id}/stop"},
      .cli = {"agent stop", "skein agent stop default-1"},
      .handler = stop_agent,
  };
}

void start_agent(const Call& call) {
  call.hooks.agent_start(call.in.text("id"), call.respond.reply<Operations::Nothing>());
}

Operation agent_start() {
  return {
      .name = "agent_start",
      .title = "Start a stopped agent",
      .summary = "Start an agent of [[agents]] that was stopped, or that is parked after crashes",
      .params = {the_agent()},
      .errors = {Code::agent_not_found, Code::wrong_state},
      .rank = Rank::operate,
      .effect = Operation::Effect::sets,
      .is_tool = true,
      .rest = {"POST", "/agents/{id}/start"},
      .cli = {"agent start", "skein agent start ada"},
      .handler = start_agent,
  };
}

void update_agent(const Call& call) {
  UpdateAgentRequest request;
  request.id = call.in.text("id");
  if (call.in.has("prefetch")) request.prefetch = static_cast<std::uint32_t>(call.in.count("prefetch"));
  request.capabilities = call.in.texts("capabilities");
  call.hooks.agent_update(std::move(request), call.respond.reply<Operations::Nothing>());
}

Operation agent_update() {
  return {
      .name = "agent_update",
      .title = "Change an agent",
      .summary = "Change prefetch or capabilities of an agent until it is restarted",
      .params = {the_agent(),
                 Param::count("prefetch", 0, ledger::k_swarm_prefetch_max, "Tasks held in addition to the running one"),
                 Param::texts("capabilities", "New capabilities of the agent").as_option("capability").filled()},
      .errors = {Code::agent_not_found},
      .rank = Rank::operate,
      .effect = Operation::Effect::sets,
      .is_tool = true,
      .rest = {"PATCH", "/agents/{id}"},
      .cli = {"agent update", "skein agent update default-1 --prefetch 0"},
      .handler = update_agent,
  };
}

void cancel_agent(const Call& call) {
  call.hooks.agent_cancel(call.in.text("id"), call.respond.reply<CancelAgentAnswer>());
}

Operation agent_cancel() {
  return {
      .name = "agent_cancel",
      .title = "Cancel the current attempt of an agent",
      .summary = "Cancel the attempt that an agent runs; the task fails and is not retried",
      .params = {the_agent()},
      .answer = "AgentCancelled",
      .errors = {Code::agent_not_found},
      .rank = Rank::operate,
      .effect = Operation::Effect::destroys,
      .is_tool = true,
      .rest = {"POST", "/agents/{id}/cancel"},
      .cli = {"agent cancel", "skein agent cancel default-1"},
      .handler = cancel_agent,
  };
}

std::vector<AnswerType> agent_answers() {
  return {
      {.name = "Agent",
       .members =
           {
               {"id", "string"},
               {"role", "string"},
               {"status", "string",
                "idle, assigned, executing, done, paused, failed, stuck or unreachable; without a process, stopped, "
                "parked or "
                "restarting"},
               {"swarm", "string"},
               {"executor", "string"},
               {"capabilities", "[string]"},
               {"load", "integer", "Tasks assigned to it"},
               {"slots", "integer"},
               {"queue_length", "integer"},
               {"heartbeat_age_ms", "integer"},
               {"completed", "integer"},
               {"failed", "integer"},
               {"handed_back", "integer"},
               {"named", "boolean", "The config names it"},
               {"pid", "string", "Its process in the node, not one of the operating system"},
               {"os_pid?", "integer", "The program that it runs, as the operating system numbers it; absent: none"},
               {"passed_over", "[PassedOver]", "Why it gets nothing, or comes after others; empty: it gets its share"},
               {"executing_task?", "TaskId"},
               {"executing_type?", "string"},
               {"executing_ms?", "integer", "Duration in seconds"},
           }},
      {.name = "AgentPage",
       .members = {{"agents", "[Agent]"},
                   {"total", "integer"},
                   {"cursor?", "string", "Present if there are more items: pass it to the next request"}}},
      {.name = "PastTask",
       .members =
           {{"id", "TaskId"}, {"type", "string"}, {"end", "string"}, {"attempt", "integer"}, {"took_ms", "number"}}},
      {.name = "AgentStatus",
       .members = {{"success_rate", "number|null"}, {"avg_latency_ms", "number"}, {"past", "[PastTask]"}},
       .base = "Agent"},
      {.name = "Spawned", .members = {{"id", "string"}}},
      {.name = "AgentCancelled",
       .members = {{"task", "TaskId|null", "Whose attempt was cut short; null: it ran none"}}},
  };
}

}  // namespace

DeclaredGroup agent_operations() {
  return {"agents",
          {agent_spawn(), agent_list(), agent_status(), agent_pause(), agent_resume(), agent_stop(), agent_start(),
           agent_update(), agent_cancel()},
          agent_answers()};
}

}  // namespace skein::inline v0::operations
