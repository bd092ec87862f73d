// Operations on swarms: each declaration beside its handler.
#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "skein/dispatch/swarm_load.hpp"
#include "skein/ledger/fallback.hpp"
#include "skein/ledger/swarm_fields.hpp"
#include "skein/net/http_status.hpp"
#include "skein/operations/pages.hpp"
#include "skein/operations/swarm_settings.hpp"
#include "skein/operations/table.hpp"

namespace skein::inline v0::operations {
namespace {

using NothingDone = Operations::Nothing;

Param the_swarm() { return Param::text("name", "The swarm's name").required().at("NAME"); }

std::vector<Param> with_settings(Param name) {
  std::vector<Param> params = swarm_setting_params();
  params.insert(params.begin(), std::move(name));
  return params;
}

// What holds where nothing is said is shown, and not sent: the ledger keeps what somebody chose.
std::vector<Param> with_defaults(std::vector<Param> params) {
  const ledger::Fields otherwise = ledger::fields_of(ledger::SwarmFields{});
  for (Param& each : params) {
    const ledger::SwarmField* field = ledger::find_swarm_field(each.name);
    const auto text = field != nullptr ? otherwise.find(std::string(field->stored)) : otherwise.end();
    // Others come from the config's sections of limits and of the dispatcher.
    const bool is_known = text != otherwise.end() && !text->second.empty() && field->is_of_agents;
    if (is_known) each.otherwise = text->second;
  }
  return params;
}

void create_swarm(const Call& call) {
  auto fields = swarm_fields_in(call.in);
  if (!fields) return call.respond.fail(std::move(fields.error()));
  call.ops->swarm_create({call.in.text("name"), std::move(*fields)}, call.respond.reply<NothingDone>());
}

Operation swarm_create() {
  return {
      .name = "swarm_create",
      .title = "Create a swarm",
      .summary = "Create a swarm, which exists until it is removed",
      .help =
          "Creates a swarm: a queue of tasks with its own agents. executor must name one of the node's config; without "
          "it other agents of the node run the tasks.",
      .params = with_defaults(with_settings(
          Param::text("name", "Name of the swarm: letters, digits, '-', '_' and '.'").required().at("NAME"))),
      .errors = {Code::swarm_exists, Code::too_large, Code::ledger_full},
      .rank = Rank::operate,
      .effect = Operation::Effect::adds,
      .is_tool = true,
      .rest = {"POST", "/swarms", net::http_status::k_created},
      .cli = {"swarm create", "skein swarm create words --executor words --capability words --min 1 --max 4"},
      .needs_engine = true,
      .handler = create_swarm,
  };
}

// Settings that give a swarm's tasks to other programs or other swarms: with them a token would leave its bounds.
std::optional<Error> way_out(const Principal& who, const ledger::Fields& fields) {
  if (!who.is_bound()) return std::nullopt;
  for (const std::string_view each : {dispatch::k_field_executor, ledger::k_field_fallback}) {
    if (!fields.contains(std::string(each))) continue;
    return Error{Code::forbidden,
                 fmt::format("{} is restricted to swarm '{}', and {} would let its tasks run outside that swarm",
                             who.words(), who.bounds.swarm, each),
                 fmt::format("leave out {}, or use a token without that restriction", each),
                 {}};
  }
  return std::nullopt;
}

void override_swarm(const Call& call) {
  auto fields = swarm_fields_in(call.in);
  if (!fields) return call.respond.fail(std::move(fields.error()));
  if (auto no = way_out(call.who, *fields)) return call.respond.fail(std::move(*no));
  call.ops->swarm_override({call.in.text("name"), std::move(*fields)}, call.respond.reply<NothingDone>());
}

Operation swarm_override() {
  return {
      .name = "swarm_override",
      .title = "Change a swarm",
      .summary = "Change settings of a swarm until the next reload, which restores the settings of the config",
      .params = with_settings(the_swarm()),
      .errors = {Code::swarm_not_found, Code::too_large},
      .rank = Rank::operate,
      .effect = Operation::Effect::sets,
      .rest = {"PATCH", "/swarms/{name}"},
      .cli = {"swarm set", "skein swarm set words --idle-shrink 5min"},
      .needs_engine = true,
      .handler = override_swarm,
  };
}

void scale_swarm(const Call& call) {
  ScaleRequest request;
  request.name = call.in.text("name");
  if (call.in.has("min")) request.agents_min = static_cast<std::uint32_t>(call.in.count("min"));
  if (call.in.has("max")) request.agents_max = static_cast<std::uint32_t>(call.in.count("max"));
  call.ops->swarm_scale(request, call.respond.reply<ScaleAnswer>());
}

Operation swarm_scale() {
  return {
      .name = "swarm_scale",
      .title = "Scale a swarm",
      .summary = "Set the minimum and maximum number of agents of a swarm; a bound that is not given stays",
      .params =
          {the_swarm(),
           Param::count("min", 0, ledger::k_swarm_agents_limit, "Minimum number of agents").once_called("agents_min"),
           Param::count("max", 1, ledger::k_swarm_agents_limit, "Maximum number of agents").once_called("agents_max")},
      .answer = "Scaled",
      .errors = {Code::swarm_not_found},
      .rank = Rank::operate,
      .effect = Operation::Effect::sets,
      .is_tool = true,
      .rest = {"POST", "/swarms/{name}/scale"},
      .cli = {"swarm scale", "skein swarm scale words --max 8"},
      .needs_engine = true,
      .handler = scale_swarm,
  };
}

void list_swarms(const Call& call) {
  const PageOf page{"swarms", "name", call.in.count("limit"), call.in.text("cursor")};
  call.ops->swarm_list(
      Reply<std::vector<SwarmView>>([respond = call.respond, page](Result<std::vector<SwarmView>>&& result) {
        if (!result) return respond.fail(std::move(result.error()));
        respond.send(Answer::Kind::ok,
                     [all = std::make_shared<std::vector<SwarmView>>(std::move(*result)), page]() -> json::value {
                       std::vector<json::object> items;
                       for (const SwarmView& each : *all) items.push_back(to_json(each).as_object());
                       return page_of(std::move(items), page);
                     });
      }));
}

Operation swarm_list() {
  return {
      .name = "swarm_list",
      .title = "List swarms",
      .summary = "List swarms by name",
      .help =
          "Swarms by name, with state and number of open tasks. To get the next page, pass the cursor of the answer.",
      .params = {page_limit(0), page_cursor()},
      .answer = "SwarmPage",
      .is_tool = true,
      .rest = {"GET", "/swarms"},
      .cli = {"swarms", "skein swarms"},
      .needs_engine = true,
      .handler = list_swarms,
  };
}

void look_at_swarm(const Call& call) { call.ops->swarm_status(call.in.text("name"), call.respond.reply<SwarmView>()); }

Operation swarm_status() {
  return {
      .name = "swarm_status",
      .title = "Show a swarm",
      .summary = "Show a swarm with its settings, state, open tasks and problems",
      .params = {the_swarm()},
      .answer = "Swarm",
      .errors = {Code::swarm_not_found},
      .is_tool = true,
      .rest = {"GET", "/swarms/{name}"},
      .cli = {"swarm show", "skein swarm show default"},
      .needs_engine = true,
      .handler = look_at_swarm,
  };
}

template <void (Operations::*k_call)(std::string, Reply<NothingDone>)>
void steer_swarm(const Call& call) {
  (call.ops->*k_call)(call.in.text("name"), call.respond.reply<NothingDone>());
}

// An operation that names a swarm and answers nothing.
Operation steering(std::string_view name, std::string_view title, std::string_view summary, std::string_view help,
                   Operation::Route rest, Operation::Verb verb, OperationHandler handler) {
  return {
      .name = name,
      .title = title,
      .summary = summary,
      .help = help,
      .params = {the_swarm()},
      .errors = {Code::swarm_not_found},
      .rank = Rank::operate,
      .effect = Operation::Effect::sets,
      .is_tool = true,
      .rest = rest,
      .cli = verb,
      .needs_engine = true,
      .handler = handler,
  };
}

Operation swarm_pause() {
  return steering(
      "swarm_pause", "Pause a swarm", "Start no further tasks of a swarm",
      "No further task of the swarm starts. Running tasks continue, and new tasks are accepted. swarm_resume ends "
      "the pause.",
      {"POST", "/swarms/{name}/pause"}, {"swarm pause", "skein swarm pause words"},
      steer_swarm<&Operations::swarm_pause>);
}
Operation swarm_resume() {
  return steering("swarm_resume", "Resume a swarm", "Resume a swarm that was paused, drained or stopped", "",
                  {"POST", "/swarms/{name}/resume"}, {"swarm resume", "skein swarm resume words"},
                  steer_swarm<&Operations::swarm_resume>);
}
Operation swarm_drain() {
  Operation made = steering("swarm_drain", "Drain a swarm", "Accept no new tasks for a swarm and finish its open tasks",
                            "", {"POST", "/swarms/{name}/drain"}, {"swarm drain", "skein swarm drain words"},
                            steer_swarm<&Operations::swarm_drain>);
  made.is_tool = false;
  return made;
}
Operation swarm_stop() {
  Operation made = steering(
      "swarm_stop", "Stop a swarm", "Accept no new tasks for a swarm and stop its agents",
      "Stops a swarm: it accepts no new tasks, its agents are stopped, and its open tasks wait. swarm_resume starts "
      "it again.",
      {"POST", "/swarms/{name}/stop"}, {"swarm stop", "skein swarm stop words"}, steer_swarm<&Operations::swarm_stop>);
  made.effect = Operation::Effect::destroys;
  return made;
}
Operation swarm_remove() {
  Operation made = steering("swarm_remove", "Remove a swarm", "Remove a swarm that has no open tasks", "",
                            {"DELETE", "/swarms/{name}"}, {"swarm remove", "skein swarm remove words"},
                            steer_swarm<&Operations::swarm_remove>);
  made.effect = Operation::Effect::destroys;
  made.is_tool = false;
  made.errors.push_back(Code::swarm_busy);
  return made;
}

std::vector<AnswerMember> setting_members() {
  std::vector<AnswerMember> members;
  static const std::vector<std::string> k_names = [] {
    std::vector<std::string> names;
    for (const SwarmSetting& each : swarm_settings()) names.push_back(std::string(each.param.name) + "?");
    return names;
  }();
  for (std::size_t i = 0; i < k_names.size(); ++i) {
    const Param& param = swarm_settings()[i].param;
    const char* const type = param.is_number() ? "integer" : param.kind == Param::Kind::texts ? "[string]" : "string";
    members.push_back({k_names[i], type, param.help});
  }
  return members;
}

std::vector<AnswerType> swarm_answers() {
  return {
      {.name = "Done", .help = "The operation succeeded; the answer has no members"},
      {.name = "Fields", .type = "{string}"},
      {.name = "SwarmSettings",
       .help = "Settings in force, named as in the config; executor, strategy and fallback only where there is one",
       .members = setting_members()},
      {.name = "Swarm",
       .members =
           {
               {"name", "string"},
               {"state", "string"},
               {"origin", "'config' 'api'"},
               {"open_tasks", "integer"},
               {"open_bytes", "integer"},
               {"settings", "SwarmSettings"},
               {"definition", "Fields",
                "Settings that the swarm was defined with, as texts under the names of the ledger"},
               {"overrides?", "Fields", "Settings that were changed since, in the same form"},
               {"breaker", "'open' 'half_open' 'closed'", "The worst state of all its types of tasks; see passed_over"},
               {"passed_over", "[PassedOver]", "Types of tasks that are held back"},
               {"problems", "[string]",
                "Problems that keep the swarm from working, and what to do; empty if there are none"},
           }},
      {.name = "SwarmPage",
       .members = {{"swarms", "[Swarm]"},
                   {"total", "integer"},
                   {"cursor?", "string", "Present if there are more items: pass it to the next request"}}},
      {.name = "Scaled", .members = {{"name", "string"}, {"min", "integer"}, {"max", "integer"}}},
      {.name = "PassedOver",
       .help = "Why an agent or a type of task is held back",
       .members =
           {
               {"why",
                "'paused' 'paused_itself' 'silent' 'results_waiting' 'rate_limited' 'breaker_open' 'suspected' "
                "'breaker_half_open' 'poorly' 'executor_full' 'crashes' 'crashes_tried'"},
               {"type?", "string", "Type of the tasks, if tasks are held back"},
               {"until?", "Time", "Approximate time of the next try; absent if unknown"},
               {"until_time?", "TimeText"},
               {"detail", "string"},
           }},
  };
}

}  // namespace

DeclaredGroup swarm_operations() {
  return {"swarms",
          {swarm_create(), swarm_list(), swarm_status(), swarm_override(), swarm_scale(), swarm_pause(), swarm_resume(),
           swarm_drain(), swarm_stop(), swarm_remove()},
          swarm_answers()};
}

}  // namespace skein::inline v0::operations
