#include "skein/operations/swarm_settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <charconv>
#include <string>
#include <utility>
#include <variant>

#include "skein/base/comma_list.hpp"
#include "skein/base/time_text.hpp"
#include "skein/ledger/swarm_fields.hpp"

namespace skein::inline v0::operations {
namespace {

using ParamKind = Param::Kind;

// A field of a swarm as a parameter of requests.
Param param_of(const ledger::SwarmField& field) {
  ledger::SwarmFields scratch;
  const auto place = field.place(scratch);
  Param param = Param::text(field.name, field.help);
  if (!field.words.empty()) {
    param = Param::word(field.name, {field.words.begin(), field.words.end()}, field.help);
  } else if (std::holds_alternative<Duration*>(place)) {
    param = Param::duration(field.name, field.min, field.max, field.help);
  } else if (std::holds_alternative<std::vector<std::string>*>(place)) {
    param = Param::texts(field.name, field.help).as_option("capability");
  } else if (field.max > 0) {
    param = Param::count(field.name, field.min, field.max, field.help);
  }
  if (field.stored != field.name) param.older.push_back(field.stored);
  return param;
}

std::vector<Param> params_of_settings() {
  std::vector<Param> params;
  for (const SwarmSetting& each : swarm_settings()) params.push_back(each.param);
  return params;
}

const SwarmSetting* setting_named(std::string_view name) {
  for (const SwarmSetting& each : swarm_settings()) {
    if (each.param.name == name || each.field == name) return &each;
  }
  return nullptr;
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

json::array parts_of(std::string_view text) {
  json::array parts;
  for (const std::string_view each : comma_list(text)) parts.emplace_back(each);
  return parts;
}

// A setting as the ledger keeps it, as a value that its parameter would take.
json::value value_of(const Param& param, std::string_view text) {
  if (param.kind == ParamKind::texts) return parts_of(text);
  const bool is_number = param.is_number() || param.kind == ParamKind::duration;
  if (const auto number = number_in(text); is_number && number) return *number;
  return json::value(text);
}

std::string field_text(const Param& param, const Arguments& in) {
  if (param.kind == ParamKind::texts) return fmt::format("{}", fmt::join(in.texts(param.name), ","));
  if (param.is_number() || param.kind == ParamKind::duration) return std::to_string(in.count(param.name));
  return in.text(param.name);
}

ledger::Fields fields_given(const Arguments& in) {
  ledger::Fields fields;
  for (const SwarmSetting& each : swarm_settings()) {
    if (in.has(each.param.name)) fields.emplace(each.field, field_text(each.param, in));
  }
  return fields;
}

ledger::Fields fields_in_force(const ledger::Swarm& swarm, const ledger::Limits& limits) {
  auto in_force = ledger::read_swarm_fields(swarm);
  if (!in_force) {
    ledger::Fields given = swarm.overrides;
    given.insert(swarm.definition.begin(), swarm.definition.end());
    return given;
  }
  if (!swarm.field(ledger::k_field_open_tasks)) in_force->open_tasks = limits.swarm_tasks;
  if (!swarm.field(ledger::k_field_open_bytes)) in_force->open_bytes = limits.swarm_bytes;
  return ledger::all_fields_of(*in_force);
}

}  // namespace

const std::vector<SwarmSetting>& swarm_settings() {
  static const std::vector<SwarmSetting> k_all = [] {
    std::vector<SwarmSetting> all;
    for (const ledger::SwarmField& each : ledger::swarm_fields()) {
      if (!each.stored.empty()) all.push_back({param_of(each), each.stored});
    }
    return all;
  }();
  return k_all;
}

std::vector<Param> swarm_setting_params() {
  // Models get those that they need to make a swarm; each further one costs every model that reads the list.
  const std::vector<std::string_view> for_models{"executor", "role", "capabilities", "min", "max", "fallback"};
  std::vector<Param> params = params_of_settings();
  for (Param& each : params) {
    const bool is_for_models = std::ranges::find(for_models, each.name) != for_models.end();
    if (!is_for_models) each.ways = {Way::socket, Way::rest, Way::cli};
  }
  params.push_back(Param::fields("fields", "Settings as texts by name, as before version 0.2; also the older names")
                       .only_on({Way::socket, Way::rest}));
  return params;
}

Result<ledger::Fields> swarm_fields_in(const Arguments& in) {
  ledger::Fields fields = fields_given(in);
  const ledger::Fields as_texts = in.fields("fields");
  if (as_texts.empty()) return fields;
  static const std::vector<Param> k_params = params_of_settings();
  json::object typed;
  for (const auto& [name, text] : as_texts) {
    const SwarmSetting* setting = setting_named(name);
    if (setting == nullptr) return std::unexpected(unknown_member(name, k_params));
    typed[setting->param.name] = value_of(setting->param, text);
  }
  const auto read = read_arguments(k_params, typed);
  if (!read) return std::unexpected(read.error());
  fields.merge(fields_given(*read));
  return fields;
}

json::object settings_json(const ledger::Swarm& swarm, const ledger::Limits& limits) {
  const ledger::Fields fields = fields_in_force(swarm, limits);
  json::object out;
  for (const SwarmSetting& each : swarm_settings()) {
    const auto found = fields.find(each.field);
    if (found == fields.end() || (found->second.empty() && each.param.kind != ParamKind::texts)) continue;
    json::value value = value_of(each.param, found->second);
    if (each.param.kind == ParamKind::duration && value.is_number()) {
      value = time_text(std::chrono::milliseconds(value.to_number<std::int64_t>()));
    }
    out[each.param.name] = std::move(value);
  }
  return out;
}

}  // namespace skein::inline v0::operations
