#include "skein/operations/node_answers.hpp"

#include <string>

#include "skein/supervision/supervisor_flags.hpp"

namespace skein::inline v0::operations {
namespace {

std::string strategy_words() {
  std::string type;
  for (const StrategyRow& row : k_strategies) {
    type += (type.empty() ? "'" : " '") + std::string(row.name) + "'";
  }
  return type;
}

std::vector<AnswerType> work_answers() {
  return {
      {.name = "Gate",
       .members = {{"ops", "integer"},
                   {"commands", "integer"},
                   {"refused", "integer"},
                   {"repeated", "integer"},
                   {"queued_ops", "integer"},
                   {"queued_bytes", "integer"}}},
      {.name = "JournalStatus",
       .members = {{"applied", "integer"},
                   {"snapshot", "integer"},
                   {"in_flight_bytes", "integer"},
                   {"disk_low", "boolean"},
                   {"stopped", "boolean"}}},
      {.name = "ArchiveLoss",
       .help = "Results that were accepted as lost",
       .members = {{"at", "Time"},
                   {"time?", "TimeText"},
                   {"from", "integer"},
                   {"to", "integer"},
                   {"count", "integer"},
                   {"why", "string"}}},
      {.name = "ArchiveStatus",
       .help = "How the archive does",
       .members =
           {
               {"tasks?", "integer"},
               {"last_finished?", "integer"},
               {"removed?", "integer"},
               {"lost?", "integer", "Results that were accepted as lost"},
               {"losses?", "[ArchiveLoss]"},
               {"failing?", "string", "Why it fails"},
               {"archived_up_to?", "integer"},
               {"failures?", "integer"},
               {"removed_since_start?", "integer"},
               {"clock_agreed?", "boolean"},
               {"upgrading?", "boolean"},
               {"checked?", "integer"},
               {"damaged?", "integer"},
               {"verified?", "integer"},
               {"verified_at?", "Time"},
               {"verified_time?", "TimeText"},
           }},
      {.name = "Status",
       .members =
           {
               {"open_tasks", "integer"},
               {"open_bytes", "integer"},
               {"finished_tasks", "integer"},
               {"tasks_ever", "integer"},
               {"finished_ever", "integer"},
               {"swarms", "integer"},
               {"epoch", "integer"},
               {"submitted", "integer", "New tasks since the start"},
               {"repeated", "integer", "Submits and retries answered with a task that was there"},
               {"completed", "integer"},
               {"failed", "integer"},
               {"cancelled", "integer"},
               {"handed_on", "integer", "To a fallback swarm"},
               {"waiters", "integer"},
               {"events", "integer"},
               {"subscribers", "integer"},
               {"errors", "{integer}", "Requests that were refused, by code"},
               {"submits", "Gate"},
               {"controls", "Gate"},
               {"journal", "JournalStatus"},
               {"archived?", "integer", "Tasks in the archive"},
               {"archive?", "ArchiveStatus"},
           }},
  };
}

std::vector<AnswerType> node_itself() {
  return {
      {.name = "SupervisionFigures",
       .help = "What supervisors had to do since the start",
       .members = {{"restarts", "integer"},
                   {"failed_starts", "integer"},
                   {"parkings", "integer"},
                   {"intensity_warnings", "integer"},
                   {"gave_up", "integer"}}},
      {.name = "Descriptors",
       .members = {{"total", "integer"},
                   {"used", "integer"},
                   {"unauthenticated", "integer"},
                   {"unauthenticated_max", "integer"},
                   {"sent_away", "integer"},
                   {"refused", "integer"},
                   {"spare", "integer"}}},
      {.name = "Node",
       .members =
           {
               {"name", "string"},
               {"version", "string"},
               {"data", "string"},
               {"config", "string"},
               {"log", "string", "Where its log can be read"},
               {"state", "'starting' 'running' 'draining' 'stopping'"},
               {"pid", "integer"},
               {"uptime_ms", "integer"},
               {"processes", "integer"},
               {"memory_bytes", "integer"},
               {"cpu_ms", "integer"},
               {"disk_low_water_bytes", "integer"},
               {"supervision", "SupervisionFigures"},
               {"time_lost_ms", "integer", "In which the whole program stood still"},
               {"mcp_clients", "integer"},
               {"descriptors", "Descriptors"},
               {"launcher_problem?", "string"},
               {"exposed?", "[string]"},
           }},
      {.name = "Metrics", .members = {{"node", "Node"}, {"work", "Status"}}},
      {.name = "Hello", .members = {{"protocol", "integer"}}, .base = "Node"},
      {.name = "LogLevel", .members = {{"level", "'debug' 'info' 'warning' 'error'"}}},
      {.name = "Dumped", .members = {{"path", "string"}}},
      {.name = "BackedUp",
       .members = {{"copied", "string", "What the copy holds, for people"},
                   {"folder", "string"},
                   {"last", "integer", "The position up to which the journal's copy goes"},
                   {"archived", "integer|null", "Tasks in the archive's copy; null: there is no archive"}}},
      {.name = "Reloaded",
       .members = {{"changed", "[string]"}, {"needs_restart", "[string]", "Keys that differ and were not taken over"}}},
      {.name = "Text", .type = "string"},
      {.name = "OpenApi", .is_open = true},
  };
}

std::vector<AnswerType> tree_answers() {
  return {
      {.name = "Failure", .members = {{"at_ns", "integer"}, {"reason", "string"}, {"at_start", "boolean"}}},
      {.name = "Restarted", .members = {{"restarted", "string", "Its path and its new process"}}},
      {.name = "Tree",
       .members =
           {
               {"id", "string"},
               {"type", "'worker' 'supervisor'"},
               {"state", "string"},
               {"restart", "string"},
               {"restarts", "integer"},
               {"mailbox", "integer"},
               {"failures", "[Failure]"},
               {"pid?", "string"},
               {"what?", "string"},
               {"label?", "string"},
               {"isolated?", "true"},
               {"significant?", "true"},
               {"strategy?", strategy_words()},
               {"used?", "integer"},
               {"intensity?", "integer"},
               {"period_ns?", "integer"},
               {"child_count?", "integer"},
               {"active?", "integer"},
               {"leftovers?", "integer"},
               {"children?", "[Tree]"},
               {"children_not_shown?", "integer", "How many more there are"},
           }},
      {.name = "Process",
       .members =
           {
               {"pid", "string"},
               {"name", "string"},
               {"type", "string"},
               {"state", "string"},
               {"mailbox", "integer"},
               {"high_water", "integer"},
               {"handled", "integer"},
               {"time_us", "integer"},
               {"memory", "integer"},
               {"parent?", "string"},
               {"handling?", "string"},
           }},
      {.name = "Processes", .members = {{"count", "integer"}, {"processes", "[Process]"}}},
      {.name = "TracedMessage",
       .members = {{"after_us", "integer"}, {"from", "string"}, {"kind", "string"}, {"type", "string"}}},
      {.name = "Trace", .members = {{"messages", "[TracedMessage]"}}},
      {.name = "Killed", .members = {{"killed", "[string]"}}},
      {.name = "Event",
       .help = "Over REST, the data of an event; that of the event 'missed' is {missed}: a slow reader missed so many",
       .members =
           {
               {"sequence", "integer"},
               {"event", "string"},
               {"position", "integer"},
               {"at?", "Time"},
               {"time?", "TimeText"},
               {"task?", "TaskId"},
               {"type?", "string"},
               {"name?", "string"},
               {"message?", "string"},
               {"number?", "integer"},
           }},
      {.name = "Events", .members = {{"events", "[Event]"}}},
      {.name = "ErrorDetail",
       .members =
           {
               {"code", "string", "For programs; it stays as it is"},
               {"message", "string", "What happened, to what"},
               {"advice?", "string", "What to do"},
               {"retry_after_ms?", "integer", "When it is worth trying again; Retry-After says so too"},
           }},
      {.name = "Error", .members = {{"error", "ErrorDetail"}}},
  };
}

}  // namespace

std::vector<AnswerType> node_answers() {
  std::vector<AnswerType> all = work_answers();
  for (auto part : {node_itself(), tree_answers()}) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace skein::inline v0::operations
