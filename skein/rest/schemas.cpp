// What answers look like, as operations/json_forms.cpp writes them.
#include <boost/json/parse.hpp>

#include "skein/rest/openapi.hpp"

namespace skein::inline v0::rest {
namespace {

namespace json = boost::json;

// The members of a task in a list, and those that it has besides when it is asked for by its id.
constexpr const char* k_task_schemas = R"({
"TaskId":{"type":"string","pattern":"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"},
"StateName":{"enum":["queued","assigned","executing","completed","failed","cancelled","blocked","awaiting_approval"]},
"Time":{"type":"integer","minimum":0,"description":"Milliseconds since 1970"},
"TaskLine":{"type":"object","properties":{
  "id":{"$ref":"#/components/schemas/TaskId"},"state":{"$ref":"#/components/schemas/StateName"},
  "type":{"type":"string"},"swarm":{"type":"string"},"priority":{"type":"integer"},
  "attempts":{"type":"integer"},"attempts_max":{"type":"integer"},"agent":{"type":"string"},
  "submitted_at":{"anyOf":[{"$ref":"#/components/schemas/Time"},{"type":"null"}]},
  "started_at":{"$ref":"#/components/schemas/Time"},"not_before":{"$ref":"#/components/schemas/Time"},
  "finished_at":{"$ref":"#/components/schemas/Time"},
  "ending":{"enum":["completed","permanent_error","attempts_spent","dependency_failed","deadline_passed","cancelled"]},
  "message":{"type":"string"},"retried_as":{"$ref":"#/components/schemas/TaskId"},"archived":{"const":true},
  "handed_on_from":{"type":"string","description":"The swarm that had it before"},
  "for_agent":{"type":"string","description":"The agent it was submitted for"},
  "waits":{"type":"string","description":"Why it does not run yet"},
  "waits_for":{"enum":["dependencies","swarm_stopped","swarm_paused","not_before","swarm_breaker","type_held_back",
    "its_agent","no_able_agent","no_agent","busy","soon"],"description":"The same for programs"},
  "able_swarms":{"type":"array","items":{"type":"string"},
    "description":"Of no_able_agent: swarms whose agents could do it"}},
  "required":["id","state","type","swarm","priority","attempts","attempts_max","submitted_at"],
  "additionalProperties":false},
"Attempt":{"type":"object","properties":{
  "agent":{"type":"string"},"error":{"type":"string"},"message":{"type":"string"},
  "started_at":{"anyOf":[{"$ref":"#/components/schemas/Time"},{"type":"null"}]},
  "ended_at":{"anyOf":[{"$ref":"#/components/schemas/Time"},{"type":"null"}]}},
  "required":["agent","error","message","started_at","ended_at"],"additionalProperties":false},
"Hop":{"type":"object","properties":{
  "from":{"type":"string"},"to":{"type":"string"},"attempts":{"type":"integer"},
  "at":{"anyOf":[{"$ref":"#/components/schemas/Time"},{"type":"null"}]}},
  "required":["from","to","attempts","at"],"additionalProperties":false},
"TaskPage":{"type":"object","properties":{
  "tasks":{"type":"array","items":{"$ref":"#/components/schemas/TaskLine"}},
  "cursor":{"type":"string","description":"There is more: give it to the next request"}},
  "required":["tasks"],"additionalProperties":false},
"Submitted":{"type":"object","properties":{
  "id":{"$ref":"#/components/schemas/TaskId"},"state":{"$ref":"#/components/schemas/StateName"},
  "existing":{"const":true,"description":"The key had this task already; the status is 200 then"},
  "gone":{"const":true,"description":"That task's result is kept no more: lost, or removed by retention"},
  "waits":{"type":"string","description":"No agent can do it now: why"},
  "able_swarms":{"type":"array","items":{"type":"string"},"description":"Swarms whose agents could do it"}},
  "required":["id","state"],"additionalProperties":false},
"Waited":{"type":"object","properties":{
  "finished":{"type":"boolean"},"task":{"$ref":"#/components/schemas/Task"},
  "next":{"type":"string","description":"The node is stopping: ask again"}},
  "required":["finished","task"],"additionalProperties":false},
"TaskState":{"type":"object","properties":{"state":{"$ref":"#/components/schemas/StateName"}},
  "required":["state"],"additionalProperties":false},
"Retried":{"type":"object","properties":{"id":{"$ref":"#/components/schemas/TaskId"},
  "existing":{"const":true,"description":"It had been retried before; the status is 200 then"}},
  "required":["id"],"additionalProperties":false}
})";

constexpr const char* k_task_details = R"({
"params":{"description":"Any JSON value, as it was submitted"},"result":{"description":"Any JSON value"},
"progress":{"description":"Any JSON value: the last mark"},
"capabilities":{"type":"array","items":{"type":"string"}},
"key":{"type":"string"},"trace":{"type":"string"},
"timeout_ms":{"type":"integer","description":"Of each attempt"},
"deadline_at":{"$ref":"#/components/schemas/Time"},"retry_of":{"$ref":"#/components/schemas/TaskId"},
"dependencies":{"type":"array","items":{"$ref":"#/components/schemas/TaskId"}},
"failed_attempts":{"type":"array","items":{"$ref":"#/components/schemas/Attempt"}},
"handed_on":{"type":"array","items":{"$ref":"#/components/schemas/Hop"}},
"route_key":{"type":"string"},"agent_fallback":{"enum":["none","any"]},"agent_wait_ms":{"type":"integer"},
"unpinned_at":{"$ref":"#/components/schemas/Time"}
})";

constexpr const char* k_other_schemas = R"({
"Done":{"type":"object","additionalProperties":false,"description":"It is done; there is nothing to say"},
"Fields":{"type":"object","additionalProperties":{"type":"string"}},
"Swarm":{"type":"object","properties":{
  "name":{"type":"string"},"state":{"type":"string"},"origin":{"enum":["config","api"]},
  "open_tasks":{"type":"integer"},"open_bytes":{"type":"integer"},
  "definition":{"$ref":"#/components/schemas/Fields"},"overrides":{"$ref":"#/components/schemas/Fields"},
  "breaker":{"enum":["open","half_open","closed"],"description":"The worst of its types of tasks; see passed_over"},
  "passed_over":{"type":"array","items":{"$ref":"#/components/schemas/PassedOver"},
    "description":"Types of its tasks that are held back"},
  "problems":{"type":"array","items":{"type":"string"},"description":"What is wrong with it; empty: nothing"}},
  "required":["name","state","origin","open_tasks","open_bytes","definition","breaker","passed_over","problems"],
  "additionalProperties":false},
"SwarmPage":{"type":"object","properties":{
  "swarms":{"type":"array","items":{"$ref":"#/components/schemas/Swarm"}},
  "total":{"type":"integer"},"cursor":{"type":"string"}},
  "required":["swarms","total"],"additionalProperties":false},
"PassedOver":{"type":"object","properties":{
  "why":{"enum":["paused","paused_itself","silent","results_waiting","rate_limited","breaker_open","suspected",
    "breaker_half_open","poorly","executor_full","crashes","crashes_tried"]},
  "type":{"type":"string","description":"Of tasks, when they are what is held back"},
  "until":{"type":"integer","description":"About when it is tried again, in milliseconds since 1970; absent: unknown"},
  "detail":{"type":"string"}},
  "required":["why","detail"],"additionalProperties":false},
"Agent":{"type":"object","properties":{
  "id":{"type":"string"},"role":{"type":"string"},
  "status":{"type":"string","description":"idle, assigned, executing, done, paused, failed, stuck or unreachable"},
  "swarm":{"type":"string"},"executor":{"type":"string"},
  "capabilities":{"type":"array","items":{"type":"string"}},
  "load":{"type":"integer"},"slots":{"type":"integer"},"queue_length":{"type":"integer"},
  "heartbeat_age_ms":{"type":"integer"},"completed":{"type":"integer"},"failed":{"type":"integer"},
  "handed_back":{"type":"integer"},"named":{"type":"boolean"},"pid":{"type":"string"},
  "passed_over":{"type":"array","items":{"$ref":"#/components/schemas/PassedOver"},
    "description":"Why it gets nothing, or comes after others; empty: it gets its share"},
  "executing_task":{"$ref":"#/components/schemas/TaskId"},
  "executing_type":{"type":"string"},"executing_ms":{"type":"integer","description":"For so long"}},
  "required":["id","role","status","swarm","executor","capabilities","load","slots","queue_length",
    "heartbeat_age_ms","completed","failed","handed_back","named","pid","passed_over"],
  "additionalProperties":false},
"AgentPage":{"type":"object","properties":{
  "agents":{"type":"array","items":{"$ref":"#/components/schemas/Agent"}},
  "total":{"type":"integer"},"cursor":{"type":"string"}},
  "required":["agents","total"],"additionalProperties":false},
"PastTask":{"type":"object","properties":{
  "id":{"$ref":"#/components/schemas/TaskId"},"type":{"type":"string"},"end":{"type":"string"},
  "attempt":{"type":"integer"},"took_ms":{"type":"number"}},
  "required":["id","type","end","attempt","took_ms"],"additionalProperties":false},
"Spawned":{"type":"object","properties":{"id":{"type":"string"}},"required":["id"],"additionalProperties":false},
"Tree":{"type":"object","properties":{
  "id":{"type":"string"},"type":{"enum":["worker","supervisor"]},"state":{"type":"string"},
  "restart":{"type":"string"},"restarts":{"type":"integer"},"mailbox":{"type":"integer"},"pid":{"type":"string"},
  "what":{"type":"string"},"label":{"type":"string"},"isolated":{"const":true},"significant":{"const":true},
  "failures":{"type":"array","items":{"type":"object","properties":{"at_ns":{"type":"integer"},
    "reason":{"type":"string"},"at_start":{"type":"boolean"}},"required":["at_ns","reason","at_start"],
    "additionalProperties":false}},
  "strategy":{"enum":["one_for_one","one_for_all","rest_for_one","simple_one_for_one"]},
  "used":{"type":"integer"},"intensity":{"type":"integer"},"period_ns":{"type":"integer"},
  "child_count":{"type":"integer"},"active":{"type":"integer"},"leftovers":{"type":"integer"},
  "children":{"type":"array","items":{"$ref":"#/components/schemas/Tree"}},
  "children_not_shown":{"type":"integer","description":"So many more there are"}},
  "required":["id","type","state","restart","restarts","mailbox","failures"],"additionalProperties":false},
"Process":{"type":"object","properties":{
  "pid":{"type":"string"},"name":{"type":"string"},"type":{"type":"string"},"state":{"type":"string"},
  "mailbox":{"type":"integer"},"high_water":{"type":"integer"},"handled":{"type":"integer"},
  "time_us":{"type":"integer"},"memory":{"type":"integer"},"parent":{"type":"string"},"handling":{"type":"string"}},
  "required":["pid","name","type","state","mailbox","high_water","handled","time_us","memory"],
  "additionalProperties":false},
"Processes":{"type":"object","properties":{
  "count":{"type":"integer"},"processes":{"type":"array","items":{"$ref":"#/components/schemas/Process"}}},
  "required":["count","processes"],"additionalProperties":false},
"Gate":{"type":"object","properties":{
  "ops":{"type":"integer"},"commands":{"type":"integer"},"refused":{"type":"integer"},"repeated":{"type":"integer"},
  "queued_ops":{"type":"integer"},"queued_bytes":{"type":"integer"}},
  "required":["ops","commands","refused","repeated","queued_ops","queued_bytes"],"additionalProperties":false},
"Status":{"type":"object","properties":{
  "open_tasks":{"type":"integer"},"open_bytes":{"type":"integer"},"finished_tasks":{"type":"integer"},
  "tasks_ever":{"type":"integer"},"finished_ever":{"type":"integer"},"swarms":{"type":"integer"},
  "epoch":{"type":"integer"},"submitted":{"type":"integer","description":"New tasks since the start"},
  "repeated":{"type":"integer","description":"Submits and retries answered with a task that was there"},
  "completed":{"type":"integer"},
  "failed":{"type":"integer"},"cancelled":{"type":"integer"},"waiters":{"type":"integer"},
  "handed_on":{"type":"integer","description":"To a fallback swarm"},
  "events":{"type":"integer"},"subscribers":{"type":"integer"},"archived":{"type":"integer"},
  "archive":{"type":"object","description":"How the archive is; failing says why it fails","properties":{
    "tasks":{"type":"integer"},"last_finished":{"type":"integer"},"removed":{"type":"integer"},
    "lost":{"type":"integer","description":"Results that were accepted as lost"},
    "losses":{"type":"array","items":{"type":"object"}},"failing":{"type":"string"},
    "archived_up_to":{"type":"integer"},"failures":{"type":"integer"},"removed_since_start":{"type":"integer"},
    "clock_agreed":{"type":"boolean"},"upgrading":{"type":"boolean"},"checked":{"type":"integer"},
    "damaged":{"type":"integer"},"verified":{"type":"integer"},"verified_at":{"type":"integer"}}},
  "errors":{"type":"object","additionalProperties":{"type":"integer"}},
  "submits":{"$ref":"#/components/schemas/Gate"},"controls":{"$ref":"#/components/schemas/Gate"},
  "journal":{"type":"object","properties":{"applied":{"type":"integer"},"snapshot":{"type":"integer"},
    "in_flight_bytes":{"type":"integer"},"disk_low":{"type":"boolean"},"stopped":{"type":"boolean"}},
    "required":["applied","snapshot","in_flight_bytes","disk_low","stopped"],"additionalProperties":false}},
  "required":["open_tasks","open_bytes","finished_tasks","tasks_ever","finished_ever","swarms","epoch","submitted",
    "repeated","completed","failed","cancelled","handed_on","waiters","events","subscribers","errors","submits",
    "controls","journal"],
  "additionalProperties":false},
"Node":{"type":"object","properties":{
  "name":{"type":"string"},"version":{"type":"string"},"data":{"type":"string"},"config":{"type":"string"},
  "state":{"enum":["starting","running","draining","stopping"]},"pid":{"type":"integer"},
  "uptime_ms":{"type":"integer"},"processes":{"type":"integer"},"memory_bytes":{"type":"integer"},
  "cpu_ms":{"type":"integer"},"log":{"type":"string","description":"Where its log can be read"},
  "launcher_problem":{"type":"string"},"disk_low_water_bytes":{"type":"integer"},
  "supervision":{"type":"object","description":"What supervisors had to do since the start","properties":{
    "restarts":{"type":"integer"},"failed_starts":{"type":"integer"},"parkings":{"type":"integer"},
    "intensity_warnings":{"type":"integer"},"gave_up":{"type":"integer"}},
    "required":["restarts","failed_starts","parkings","intensity_warnings","gave_up"],"additionalProperties":false},
  "exposed":{"type":"array","items":{"type":"string"}},"time_lost_ms":{"type":"integer"},
  "mcp_clients":{"type":"integer"},
  "descriptors":{"type":"object","properties":{"total":{"type":"integer"},"used":{"type":"integer"},
    "unauthenticated":{"type":"integer"},"unauthenticated_max":{"type":"integer"},"sent_away":{"type":"integer"},
    "refused":{"type":"integer"},"spare":{"type":"integer"}},
    "required":["total","used","unauthenticated","unauthenticated_max","sent_away","refused","spare"],
    "additionalProperties":false}},
  "required":["name","version","data","config","state","pid","uptime_ms","processes","memory_bytes","cpu_ms","log",
    "disk_low_water_bytes","supervision","time_lost_ms","mcp_clients","descriptors"],
  "additionalProperties":false},
"Metrics":{"type":"object","properties":{
  "node":{"$ref":"#/components/schemas/Node"},"work":{"$ref":"#/components/schemas/Status"}},
  "required":["node","work"],"additionalProperties":false},
"Event":{"type":"object",
  "description":"The data of an event. That of the event 'missed' is {missed}: a slow reader missed so many",
  "properties":{
  "sequence":{"type":"integer"},"event":{"type":"string"},"position":{"type":"integer"},
  "at":{"$ref":"#/components/schemas/Time"},"task":{"$ref":"#/components/schemas/TaskId"},
  "type":{"type":"string"},"name":{"type":"string"},"message":{"type":"string"},"number":{"type":"integer"}},
  "required":["sequence","event","position"],"additionalProperties":false},
"Events":{"type":"object","properties":{
  "events":{"type":"array","items":{"$ref":"#/components/schemas/Event"}}},
  "required":["events"],"additionalProperties":false},
"OpenApi":{"type":"object"},
"Error":{"type":"object","properties":{"error":{"type":"object","properties":{
  "code":{"type":"string","description":"For programs; it stays as it is"},
  "message":{"type":"string","description":"What happened, to what"},
  "advice":{"type":"string","description":"What to do"},
  "retry_after_ms":{"type":"integer","description":"When it is worth trying again; Retry-After says so too"}},
  "required":["code","message"],"additionalProperties":false}},
  "required":["error"],"additionalProperties":false}
})";

// One schema with more members than another.
json::object with_more(const json::object& base, const json::object& more, const json::array& required) {
  json::object out = base;
  for (const auto& each : more) out["properties"].as_object()[each.key()] = each.value();
  for (const auto& each : required) out["required"].as_array().push_back(each);
  return out;
}

json::object make_schemas() {
  json::object all = json::parse(k_task_schemas).as_object();
  const json::value others = json::parse(k_other_schemas);
  for (const auto& each : others.as_object()) all[each.key()] = each.value();
  all["Task"] = with_more(all.at("TaskLine").as_object(), json::parse(k_task_details).as_object(),
                          {"params", "capabilities", "failed_attempts"});
  all["AgentStatus"] =
      with_more(all.at("Agent").as_object(),
                json::parse(R"({"success_rate":{"type":["number","null"]},"avg_latency_ms":{"type":"number"},
                  "past":{"type":"array","items":{"$ref":"#/components/schemas/PastTask"}}})")
                    .as_object(),
                {"success_rate", "avg_latency_ms", "past"});
  return all;
}

}  // namespace

const json::object& schemas() {
  static const json::object k_all = make_schemas();
  return k_all;
}

}  // namespace skein::inline v0::rest
