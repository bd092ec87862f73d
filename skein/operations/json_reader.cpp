#include <fmt/format.h>
#include <fmt/ranges.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>

#include "skein/base/json_text.hpp"
#include "skein/operations/json_exact.hpp"
#include "skein/operations/json_forms.hpp"

namespace skein::inline v0::operations {
namespace {

constexpr std::size_t k_shown_depth = 512;

void write(const json::value& value, std::string& out) {
  if (const auto* object = value.if_object()) {
    char before = '{';
    for (const auto& [key, member] : *object) {
      out += before;
      out += json::serialize(json::string_view(key));
      out += ':';
      write(member, out);
      before = ',';
    }
    out += before == '{' ? "{}" : "}";
  } else if (const auto* array = value.if_array()) {
    char before = '[';
    for (const auto& each : *array) {
      out += before;
      write(each, out);
      before = ',';
    }
    out += before == '[' ? "[]" : "]";
  } else if (const auto* number = value.if_double(); number != nullptr && std::isfinite(*number)) {
    const std::string text = fmt::format("{}", *number);
    out += text;
    if (text.find_first_of(".e") == std::string::npos) out += ".0";
  } else if (const auto written = written_number(value)) {
    out += *written;
  } else {
    out += json::serialize(value);
  }
}

}  // namespace

std::string json_text(const json::value& value) {
  std::string out;
  write(value, out);
  return out;
}

json::value json_or_text(std::string_view text) {
  if (text.empty()) return nullptr;
  if (auto value = exact_json(text, k_shown_depth)) return std::move(*value);
  // Some functions answer with text; what is not UTF-8 in it cannot be shown.
  return json::parse(quoted_json(text));
}

json::value own_json(std::string_view text) {
  json::parse_options options;
  options.max_depth = k_shown_depth;
  return json::parse(text, {}, options);
}

const json::value* JsonReader::get(std::string_view key) {
  seen_.emplace(key);
  const json::value* found = object_.if_contains(key);
  return found != nullptr && !found->is_null() ? found : nullptr;
}

void JsonReader::wrong(std::string_view key, std::string_view should_be) {
  if (!error_) error_ = invalid(fmt::format("{} must be {}", key, should_be));
}

std::string JsonReader::text(std::string_view key, std::string otherwise) {
  const json::value* value = get(key);
  if (value == nullptr) return otherwise;
  if (const auto* string = value->if_string()) return std::string(*string);
  wrong(key, "a string");
  return otherwise;
}

std::string JsonReader::required_text(std::string_view key) {
  std::string value = text(key);
  if (value.empty() && !error_) error_ = invalid(fmt::format("{} is missing", key));
  return value;
}

std::uint64_t JsonReader::count(std::string_view key, std::uint64_t otherwise, std::uint64_t max) {
  const json::value* value = get(key);
  if (value == nullptr) return otherwise;
  json::error_code error;
  const auto number = value->to_number<std::uint64_t>(error);
  if (!error && number <= max) return number;
  wrong(key, fmt::format("a whole number up to {}", max));
  return otherwise;
}

bool JsonReader::flag(std::string_view key, bool otherwise) {
  const json::value* value = get(key);
  if (value == nullptr) return otherwise;
  if (const bool* given = value->if_bool()) return *given;
  wrong(key, "true or false");
  return otherwise;
}

std::vector<std::string> JsonReader::texts(std::string_view key) {
  std::vector<std::string> all;
  const json::value* value = get(key);
  if (value == nullptr) return all;
  const auto* array = value->if_array();
  if (array == nullptr) {
    wrong(key, "an array of strings");
    return all;
  }
  for (const auto& each : *array) {
    if (const auto* string = each.if_string()) {
      all.emplace_back(*string);
    } else {
      wrong(key, "an array of strings");
    }
  }
  return all;
}

ledger::TaskId JsonReader::task_id(std::string_view key, bool is_required) {
  const std::string given = text(key);
  if (given.empty()) {
    if (is_required && !error_) error_ = invalid(fmt::format("{} is missing", key));
    return {};
  }
  const auto id = ledger::TaskId::parse(given);
  if (!id && !error_) {
    error_ = invalid(fmt::format("'{}' is no task id", given), "ids look like 0197f0c2-0000-7000-8000-000000000000");
  }
  return id.value_or(ledger::TaskId{});
}

std::vector<ledger::TaskId> JsonReader::task_ids(std::string_view key) {
  std::vector<ledger::TaskId> ids;
  for (const std::string& each : texts(key)) {
    const auto id = ledger::TaskId::parse(each);
    if (id) {
      ids.push_back(*id);
    } else {
      wrong(key, "an array of task ids");
    }
  }
  return ids;
}

ledger::Fields JsonReader::fields(std::string_view key) {
  ledger::Fields fields;
  const json::value* value = get(key);
  if (value == nullptr) return fields;
  const auto* object = value->if_object();
  if (object == nullptr) {
    wrong(key, "an object of strings");
    return fields;
  }
  for (const auto& [name, each] : *object) {
    if (const auto* string = each.if_string()) {
      fields.emplace(std::string(name), std::string(*string));
    } else {
      wrong(key, "an object of strings");
    }
  }
  return fields;
}

std::chrono::milliseconds JsonReader::milliseconds(std::string_view key, std::chrono::milliseconds otherwise) {
  constexpr std::uint64_t k_max = 365ULL * 24 * 3600 * 1000;
  const auto count_ms = count(key, static_cast<std::uint64_t>(otherwise.count()), k_max);
  return std::chrono::milliseconds(static_cast<std::int64_t>(count_ms));
}

std::optional<State> JsonReader::state(std::string_view key) {
  const std::string given = text(key);
  if (given.empty()) return std::nullopt;
  for (int number = static_cast<int>(State::queued); number <= static_cast<int>(State::awaiting_approval); ++number) {
    const auto state = static_cast<State>(number);
    if (ledger::name_of(state) == given) return state;
  }
  wrong(key, "queued, assigned, executing, completed, failed, cancelled, blocked or awaiting_approval");
  return std::nullopt;
}

std::optional<Error> JsonReader::error() {
  if (error_) return error_;
  for (const auto& [key, value] : object_) {
    if (seen_.contains(std::string_view(key))) continue;
    error_ = invalid(fmt::format("unknown member '{}'", std::string_view(key)),
                     fmt::format("known here: {}", fmt::join(seen_, ", ")));
    break;
  }
  return error_;
}

SubmitRequest read_submit(JsonReader& in) {
  SubmitRequest request;
  request.type = in.required_text("type");
  request.swarm = in.text("swarm", request.swarm);
  request.params = in.text("params");
  request.priority = in.text("priority", request.priority);
  request.key = in.text("key");
  request.capabilities = in.texts("capabilities");
  request.dependencies = in.task_ids("dependencies");
  request.attempts = static_cast<std::uint32_t>(in.count("attempts", request.attempts, UINT32_MAX));
  request.timeout = in.milliseconds("timeout_ms", request.timeout);
  request.delay = in.milliseconds("delay_ms", request.delay);
  request.deadline = in.milliseconds("deadline_ms", request.deadline);
  request.trace = in.text("trace");
  request.agent = in.text("agent");
  request.agent_fallback = in.text("agent_fallback");
  request.agent_wait = in.milliseconds("agent_wait_ms", request.agent_wait);
  request.route_key = in.text("route_key");
  return request;
}

ListRequest read_list(JsonReader& in) {
  ListRequest request;
  request.state = in.state("state");
  request.swarm = in.text("swarm");
  request.type = in.text("type");
  request.id_prefix = in.text("id_prefix");
  request.text = in.text("text");
  request.finished_from = in.count("finished_from", 0, UINT64_MAX);
  request.finished_before = in.count("finished_before", 0, UINT64_MAX);
  request.cursor = in.text("cursor");
  request.limit = in.count("limit", request.limit, archive::k_page_max);
  return request;
}

}  // namespace skein::inline v0::operations
