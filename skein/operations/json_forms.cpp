#include "skein/operations/json_forms.hpp"

#include <algorithm>
#include <boost/json/array.hpp>

#include "skein/base/time_text.hpp"
#include "skein/base/utf8.hpp"
#include "skein/dispatch/agent_protocol.hpp"
#include "skein/operations/swarm_settings.hpp"

namespace skein::inline v0::operations {
namespace {

// Both forms of a moment, when there is one.
void put_time(json::object& out, std::string_view key, std::string_view text_key, WallMs at) {
  if (at == 0) return;
  out[key] = at;
  out[text_key] = moment_text(at);
}
// Likewise; without one the number is null.
void put_time_or_null(json::object& out, std::string_view key, std::string_view text_key, WallMs at) {
  if (at == 0) out[key] = nullptr;
  put_time(out, key, text_key, at);
}

// Journals may hold messages from before they were made fit to be shown.
std::string people_text(const std::string& message) { return shown_text(message, dispatch::k_message_bytes_max); }

json::array texts(const std::vector<std::string>& all) {
  json::array array;
  for (const std::string& each : all) array.emplace_back(each);
  return array;
}

json::object fields(const ledger::Fields& all) {
  json::object object;
  for (const auto& [name, value] : all) object[name] = value;
  return object;
}

json::value gate(const GateStatus& status) {
  return {{"ops", status.ops},           {"commands", status.commands},     {"refused", status.refused},
          {"repeated", status.repeated}, {"queued_ops", status.queued_ops}, {"queued_bytes", status.queued_bytes}};
}

// Each time the task went from one swarm to the next.
json::array fallbacks_of(const ledger::Task& task) {
  json::array all;
  const auto& fallbacks = task.more().fallbacks;
  for (std::size_t i = 0; i < fallbacks.size(); ++i) {
    const bool is_last = i + 1 == fallbacks.size();
    const std::string to = !is_last ? fallbacks[i + 1].swarm : task.shape ? task.shape->swarm : "";
    json::object step{{"from", fallbacks[i].swarm}, {"to", to}, {"attempts", fallbacks[i].attempts}};
    put_time_or_null(step, "at", "time", fallbacks[i].at);
    all.push_back(std::move(step));
  }
  return all;
}

void add_placement(const ledger::Placement& where, json::object& out) {
  if (!where.route_key.empty()) out["route_key"] = where.route_key;
  if (where.agent.empty()) return;
  if (where.fallback != ledger::AgentFallback::by_config) out["agent_fallback"] = ledger::name_of(where.fallback);
  if (where.wait_ms != 0) out["agent_wait_ms"] = where.wait_ms;
  put_time(out, "unpinned_at", "unpinned_time", where.unpinned_at);
}

void add_details(const TaskStatus& status, json::object& out) {
  const ledger::Task& task = status.task;
  const ledger::Extras& more = task.more();
  out["params"] = json_or_text(ledger::view_of(task.params));
  if (status.finished) out["result"] = json_or_text(ledger::view_of(status.finished->result));
  if (task.mark) out["progress"] = json_or_text(ledger::view_of(task.mark));
  out["capabilities"] = texts(task.shape ? task.shape->required() : std::vector<std::string>{});
  if (!more.key.empty()) out["key"] = more.key;
  if (!more.trace.empty()) out["trace"] = more.trace;
  if (task.timeout_ms != 0) out["timeout_ms"] = task.timeout_ms;
  put_time(out, "deadline_at", "deadline_time", task.deadline_at);
  add_placement(more.where(), out);
  if (!more.retry_of.none()) out["retry_of"] = more.retry_of.text();
  if (task.children != 0) out["children"] = task.children;
  json::array dependencies;
  for (const TaskId& each : more.dependencies) dependencies.emplace_back(each.text());
  if (!dependencies.empty()) out["dependencies"] = std::move(dependencies);
  json::array history;
  if (task.history) {
    for (const ledger::Attempt& each : *task.history) {
      json::object attempt{
          {"agent", each.agent}, {"error", ledger::name_of(each.error)}, {"message", people_text(each.message)}};
      put_time_or_null(attempt, "started_at", "started_time", each.started_at);
      put_time_or_null(attempt, "ended_at", "ended_time", each.ended_at);
      history.push_back(std::move(attempt));
    }
  }
  out["failed_attempts"] = std::move(history);
  if (!more.fallbacks.empty()) out["handed_on"] = fallbacks_of(task);
}

// As a submit names it; nothing for a number between the classes.
std::string_view priority_name(std::uint16_t priority) {
  if (priority == ledger::k_low) return "low";
  if (priority == ledger::k_normal) return "normal";
  if (priority == ledger::k_high) return "high";
  return priority == ledger::k_critical ? "critical" : "";
}

}  // namespace

std::uint32_t attempts_made(const ledger::Task& task) {
  const bool is_one_more = task.state == State::completed || task.state == State::executing;
  return task.attempts + (is_one_more ? 1 : 0);
}

json::object to_json(const TaskStatus& status, Detail detail) {
  const ledger::Task& task = status.task;
  json::object out;
  out["id"] = task.id.text();
  out["state"] = ledger::name_of(task.state);
  out["type"] = task.shape ? task.shape->type : "";
  out["swarm"] = task.shape ? task.shape->swarm : "";
  if (const auto& fallbacks = task.more().fallbacks; !fallbacks.empty()) out["handed_on_from"] = fallbacks.back().swarm;
  out["priority"] = task.priority;
  if (const std::string_view name = priority_name(task.priority); !name.empty()) out["priority_name"] = name;
  out["attempts"] = attempts_made(task);
  out["attempts_max"] = task.attempts_max;
  if (task.agent) out["agent"] = ledger::view_of(task.agent);
  if (const auto& wanted = task.more().where().agent; !wanted.empty()) out["for_agent"] = wanted;
  if (!status.waits.empty()) out["waits"] = status.waits;
  if (const auto& more = task.more(); !more.parent.none()) {
    out["parent"] = more.parent.text();
    out["depth"] = more.depth;
  }
  if (status.waits_for != WaitCause::none) out["waits_for"] = name_of(status.waits_for);
  if (!status.able_swarms.empty()) out["able_swarms"] = texts(status.able_swarms);
  put_time_or_null(out, "submitted_at", "submitted_time", task.submitted_at);
  put_time(out, "started_at", "started_time", task.started_at);
  put_time(out, "not_before", "not_before_time", task.not_before);
  if (status.finished) {
    out["finished_at"] = status.finished->finished_at;
    out["finished_time"] = moment_text(status.finished->finished_at);
    out["ending"] = ledger::name_of(status.finished->ending);
    if (!status.finished->message.empty()) out["message"] = people_text(status.finished->message);
    if (!status.finished->retried_as.none()) out["retried_as"] = status.finished->retried_as.text();
  }
  if (status.archived) out["archived"] = true;
  if (detail == Detail::whole) add_details(status, out);
  return out;
}

json::value to_json(const Error& error) {
  json::object out{{"code", name_of(error.code)}, {"message", error.message}};
  if (!error.advice.empty()) out["advice"] = error.advice;
  if (error.retry_after.count() > 0) out["retry_after_ms"] = error.retry_after.count();
  return out;
}

json::value to_json(const SubmitAnswer& answer) {
  json::object out{{"id", answer.id.text()}, {"state", ledger::name_of(answer.state)}};
  if (answer.existing) out["existing"] = true;
  if (answer.is_gone) out["gone"] = true;
  if (answer.waits) out["waits"] = answer.waits->text;
  if (answer.waits && !answer.waits->able_swarms.empty()) out["able_swarms"] = texts(answer.waits->able_swarms);
  return out;
}

json::value to_json(const ListAnswer& answer) {
  json::array tasks;
  for (const TaskStatus& each : answer.tasks) tasks.push_back(to_json(each, Detail::line));
  json::object out{{"tasks", std::move(tasks)}};
  if (!answer.cursor.empty()) out["cursor"] = answer.cursor;
  return out;
}

json::value to_json(const WaitAnswer& answer) {
  json::object out{{"finished", answer.finished}, {"task", to_json(answer.status, Detail::whole)}};
  if (answer.is_stopping) out["next"] = "the node is stopping, ask again";
  return out;
}

json::value to_json(const RetryAnswer& answer) {
  json::object out{{"id", answer.id.text()}};
  if (answer.existing) out["existing"] = true;
  return out;
}

// Agents and types that are passed over, why, and until when.
json::array passed_over(const std::vector<dispatch::PassedOver>& all) {
  json::array out;
  for (const dispatch::PassedOver& each : all) {
    json::object one{{"why", name_of(each.why)}, {"detail", each.detail}};
    if (!each.type.empty()) one["type"] = each.type;
    put_time(one, "until", "until_time", each.until);
    out.push_back(std::move(one));
  }
  return out;
}

// The worst that is so: of the swarm as a whole, or of one of its types.
std::string_view breaker_of(const SwarmView& swarm) {
  const auto has = [&](dispatch::PassedOver::Why why) {
    return std::ranges::find(swarm.passed_over, why, &dispatch::PassedOver::why) != swarm.passed_over.end();
  };
  if (swarm.breaker == ledger::Breaker::open || has(dispatch::PassedOver::Why::crashes)) return "open";
  const bool is_tried = swarm.breaker == ledger::Breaker::half_open || has(dispatch::PassedOver::Why::crashes_tried);
  return is_tried ? "half_open" : "closed";
}

json::value to_json(const SwarmView& swarm) {
  json::object out{{"name", swarm.name},
                   {"state", ledger::name_of(swarm.state)},
                   {"origin", swarm.origin == ledger::Origin::config ? "config" : "api"},
                   {"open_tasks", swarm.open_tasks},
                   {"open_bytes", swarm.open_bytes},
                   {"settings", settings_json(swarm, swarm.limits)},
                   {"definition", fields(swarm.definition)}};
  out["breaker"] = breaker_of(swarm);
  out["passed_over"] = passed_over(swarm.passed_over);
  if (!swarm.overrides.empty()) out["overrides"] = fields(swarm.overrides);
  json::array problems;
  for (const std::string& each : swarm.problems) problems.emplace_back(each);
  out["problems"] = std::move(problems);
  return out;
}

json::value to_json(const ScaleAnswer& answer) {
  return {{"name", answer.name}, {"min", answer.agents_min}, {"max", answer.agents_max}};
}

namespace {

json::object archive_json(const NodeStatus& status) {
  json::object out;
  if (status.archive_marks) {
    out = {{"tasks", status.archive_marks->rows},
           {"last_finished", status.archive_marks->last},
           {"removed", status.archive_marks->removed},
           {"lost", status.archive_marks->lost}};
  }
  json::array losses;
  for (const archive::Loss& each : status.losses) {
    if (each.count == 0) continue;
    json::object loss{{"from", each.from}, {"to", each.to}, {"count", each.count}, {"why", each.why}};
    loss["at"] = each.at;
    loss["time"] = moment_text(each.at);
    losses.push_back(std::move(loss));
  }
  if (!losses.empty()) out["losses"] = std::move(losses);
  if (!status.archive_error.empty()) out["failing"] = people_text(status.archive_error);
  if (!status.archiver) return out;
  const archive::ArchiverStatus& archiver = *status.archiver;
  if (!archiver.failing.empty()) out["failing"] = people_text(archiver.failing);
  out["archived_up_to"] = archiver.archived_up_to;
  out["failures"] = archiver.failures;
  out["removed_since_start"] = archiver.removed;
  out["clock_agreed"] = archiver.is_clock_agreed;
  out["upgrading"] = archiver.is_upgrading;
  out["checked"] = archiver.checked;
  out["damaged"] = archiver.damaged;
  if (archiver.verified_at != 0) {
    out["verified"] = archiver.verified;
    put_time(out, "verified_at", "verified_time", archiver.verified_at);
  }
  return out;
}

}  // namespace

json::value to_json(const NodeStatus& status) {
  json::object errors;
  for (const auto& [code, count] : status.errors) errors[name_of(code)] = count;
  json::object out{{"open_tasks", status.ledger.open_tasks},
                   {"open_bytes", status.ledger.open_bytes},
                   {"finished_tasks", status.ledger.finished_tasks},
                   {"tasks_ever", status.ledger.last_number},
                   {"finished_ever", status.ledger.last_finished},
                   {"swarms", status.ledger.swarms},
                   {"epoch", status.epoch},
                   {"submitted", status.submitted},
                   {"repeated", status.repeated},
                   {"completed", status.completed},
                   {"failed", status.failed},
                   {"cancelled", status.cancelled},
                   {"handed_on", status.fell_back},
                   {"waiters", status.waiters},
                   {"events", status.events},
                   {"subscribers", status.subscribers},
                   {"errors", std::move(errors)},
                   {"submits", gate(status.submits)},
                   {"controls", gate(status.controls)}};
  out["journal"] = {{"applied", status.journal.applied},
                    {"snapshot", status.journal.snapshot},
                    {"in_flight_bytes", status.journal.in_flight_bytes},
                    {"disk_low", status.journal.disk_low},
                    {"stopped", status.journal.stopped}};
  if (status.archived) out["archived"] = *status.archived;
  if (status.archiver || status.archive_marks) out["archive"] = archive_json(status);
  return out;
}

json::value to_json(const NodeInfo& info) {
  json::object out{{"name", info.name},           {"version", info.version},     {"data", info.data},
                   {"config", info.config},       {"state", info.state},         {"pid", info.os_pid},
                   {"uptime_ms", info.uptime_ms}, {"processes", info.processes}, {"memory_bytes", info.memory_bytes},
                   {"cpu_ms", info.cpu_ms}};
  out["log"] = info.log;
  out["disk_low_water_bytes"] = info.disk_low_water_bytes;
  const SupervisionFigures& figures = info.supervision;
  out["supervision"] = {{"restarts", figures.restarts},
                        {"failed_starts", figures.failed_starts},
                        {"parkings", figures.parkings},
                        {"intensity_warnings", figures.intensity_warnings},
                        {"gave_up", figures.gave_up}};
  out["time_lost_ms"] = info.time_lost_ms;
  out["mcp_clients"] = info.mcp_clients;
  const DescriptorInfo& descriptors = info.descriptors;
  out["descriptors"] = {{"total", descriptors.total},
                        {"used", descriptors.used},
                        {"unauthenticated", descriptors.unauthenticated},
                        {"unauthenticated_max", descriptors.unauthenticated_max},
                        {"sent_away", descriptors.sent_away},
                        {"refused", descriptors.refused},
                        {"spare", descriptors.spare}};
  if (!info.launcher_problem.empty()) out["launcher_problem"] = info.launcher_problem;
  if (!info.exposed.empty()) {
    json::array& exposed = out["exposed"].emplace_array();
    for (const std::string& each : info.exposed) exposed.emplace_back(each);
  }
  return out;
}

json::value to_json(const Event& event) {
  json::object out{{"sequence", event.sequence}, {"event", name_of(event.kind)}, {"position", event.position}};
  put_time(out, "at", "time", event.at);
  if (!event.task.none()) out["task"] = event.task.text();
  if (!event.type.empty()) out["type"] = event.type;
  if (!event.name.empty()) out["name"] = event.name;
  if (!event.message.empty()) out["message"] = people_text(event.message);
  if (event.number != 0) out["number"] = event.number;
  return out;
}

json::value to_json(const AgentDetail& agent) {
  json::object out{{"id", agent.id},
                   {"role", agent.role},
                   {"status", agent.status},
                   {"swarm", agent.swarm},
                   {"executor", agent.executor},
                   {"capabilities", texts(agent.capabilities)},
                   {"load", agent.load},
                   {"slots", agent.slots},
                   {"queue_length", agent.queue_length},
                   {"heartbeat_age_ms", agent.heartbeat_age_ms},
                   {"completed", agent.completed},
                   {"failed", agent.failed},
                   {"handed_back", agent.returned},
                   {"named", agent.is_named},
                   {"pid", agent.pid.text()},
                   {"passed_over", passed_over(agent.passed_over)}};
  if (agent.os_pid != 0) out["os_pid"] = agent.os_pid;
  if (agent.executing_task) {
    out["executing_task"] = agent.executing_task->text();
    out["executing_type"] = agent.executing_type;
    out["executing_ms"] = agent.executing_ms;
  }
  return out;
}

json::value to_json(const CancelAgentAnswer& answer) {
  return {{"task", answer.task ? json::value(answer.task->text()) : json::value()}};
}

json::value to_json(const AgentStatusAnswer& answer) {
  json::object out = to_json(answer.agent).as_object();
  out["success_rate"] = answer.success_rate ? json::value(*answer.success_rate) : json::value();
  out["avg_latency_ms"] = answer.avg_latency_ms;
  json::array past;
  for (const PastTaskInfo& each : answer.past) {
    past.push_back({{"id", each.id.text()},
                    {"type", each.type},
                    {"end", each.end},
                    {"attempt", each.attempt},
                    {"took_ms", each.took_ms}});
  }
  out["past"] = std::move(past);
  return out;
}

json::value to_json(const ProcessInfo& process) {
  json::object out{{"pid", process.pid.text()},
                   {"name", process.name},
                   {"type", process.type},
                   {"state", state_name(process.state)},
                   {"mailbox", process.mailbox},
                   {"high_water", process.high_water},
                   {"handled", process.handled},
                   {"time_us", std::chrono::duration_cast<std::chrono::microseconds>(process.handler_time).count()},
                   {"memory", process.memory}};
  if (process.parent) out["parent"] = process.parent.text();
  if (!process.handling.empty()) out["handling"] = process.handling;
  return out;
}

json::value to_json(const std::vector<TracedMessage>& trace) {
  json::array messages;
  for (const TracedMessage& each : trace) {
    messages.push_back(
        {{"after_us",
          std::chrono::duration_cast<std::chrono::microseconds>(between(trace.front().at, each.at)).count()},
         {"from", each.from ? each.from.text() : ""},
         {"kind", each.kind},
         {"type", each.type}});
  }
  return {{"messages", std::move(messages)}};
}

json::value to_json(const KillAnswer& answer) { return {{"killed", texts(answer.killed)}}; }

json::value to_json(const ReloadAnswer& answer) {
  return {{"changed", texts(answer.changed)}, {"needs_restart", texts(answer.needs_restart)}};
}

// Never its digests.
static json::object token_json(const ledger::Token& token) {
  json::object out{{"name", token.name}, {"rank", ledger::name_of(token.rank)}};
  put_time(out, "made_at", "made_time", token.made_at);
  put_time(out, "expires_at", "expires_time", token.expires_at);
  put_time(out, "previous_until", "previous_until_time", token.previous_until);
  if (!token.bounds.task.none()) out["task"] = token.bounds.task.text();
  if (!token.bounds.swarm.empty()) out["swarm"] = token.bounds.swarm;
  if (token.bounds.depth != 0) out["depth"] = token.bounds.depth;
  if (token.bounds.children != 0) out["children"] = token.bounds.children;
  return out;
}

json::value to_json(const MadeToken& made) {
  json::object out = token_json(made.token);
  out["token"] = made.secret;
  return out;
}

json::value to_json(const TokensAnswer& answer) {
  json::array all;
  for (const ledger::Token& each : answer.tokens) {
    json::object line = token_json(each);
    line["state"] = each.expires_at != 0 && each.expires_at <= answer.now ? "expired" : "valid";
    if (each.previous_until <= answer.now) {
      line.erase("previous_until");
      line.erase("previous_until_time");
    }
    all.push_back(std::move(line));
  }
  return {{"tokens", std::move(all)}};
}

json::value to_json(const BackupAnswer& answer) {
  json::object out{{"folder", answer.folder}, {"last", answer.last}, {"copied", answer.text}};
  out["archived"] = answer.archived ? json::value(*answer.archived) : json::value();
  return out;
}

json::value to_json(State state) { return {{"state", ledger::name_of(state)}}; }
json::value to_json(const std::string& text) { return json::string(text); }
json::value to_json(std::monostate) { return json::object(); }

}  // namespace skein::inline v0::operations
