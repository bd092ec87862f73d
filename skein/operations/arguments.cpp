#include "skein/operations/arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <utility>

#include "skein/base/suggestion.hpp"
#include "skein/base/time_text.hpp"

namespace skein::inline v0::operations {
namespace {

using ParamKind = Param::Kind;

std::optional<std::uint64_t> whole_number(const json::value& value) {
  json::error_code error;
  const auto number = value.to_number<std::uint64_t>(error);
  if (error) return std::nullopt;
  return number;
}

// A span or a moment: a number, or a text with units.
std::optional<std::uint64_t> milliseconds_of(const Param& param, const json::value& value) {
  const auto* text = value.if_string();
  if (text == nullptr) return whole_number(value);
  if (param.kind == ParamKind::time) return parse_moment(*text);
  const auto time = parse_time(*text);
  if (!time) return std::nullopt;
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(*time).count());
}

template <class Check>
bool is_array_of(const json::value& value, Check is_good) {
  const auto* array = value.if_array();
  return array != nullptr && std::ranges::all_of(*array, is_good);
}

bool is_string(const json::value& value) { return value.is_string(); }
bool is_task_id(const json::value& value) {
  const auto* text = value.if_string();
  return text != nullptr && ledger::TaskId::parse(std::string_view(*text));
}

bool fits(const Param& param, const json::value& value) {
  const auto in_range = [&](std::optional<std::uint64_t> number) {
    return number && *number >= param.least && *number <= param.most;
  };
  switch (param.kind) {
    case ParamKind::text:
    case ParamKind::json:
      return value.is_string();
    case ParamKind::word: {
      const auto* text = value.if_string();
      return text != nullptr && std::ranges::find(param.words, std::string_view(*text)) != param.words.end();
    }
    case ParamKind::count:
    case ParamKind::milliseconds:
      return in_range(whole_number(value));
    case ParamKind::duration:
    case ParamKind::time:
      return in_range(milliseconds_of(param, value));
    case ParamKind::flag:
      return value.is_bool();
    case ParamKind::texts:
      return is_array_of(value, is_string);
    case ParamKind::task_id:
      return is_task_id(value);
    case ParamKind::task_ids:
      return is_array_of(value, is_task_id);
    case ParamKind::fields: {
      const auto* object = value.if_object();
      return object != nullptr &&
             std::ranges::all_of(*object, [](const auto& each) { return each.value().is_string(); });
    }
  }
  return false;
}

// What does not fit, in words that name the value where it is a text or a number.
Error misfit(const Param& param, const json::value& value) {
  const auto* text = value.if_string();
  if (param.kind == ParamKind::task_id && text != nullptr) {
    return invalid(fmt::format("'{}' is not a task id", std::string_view(*text)),
                   "ids look like 0197f0c2-0000-7000-8000-000000000000");
  }
  std::string given;
  constexpr std::size_t k_shown = 64;
  if (const auto* list = value.if_array(); list != nullptr && param.kind == ParamKind::task_ids) {
    const auto culprit = std::ranges::find_if_not(*list, is_task_id);
    if (culprit != list->end() && culprit->is_string()) {
      const auto shown = std::string_view(culprit->get_string()).substr(0, k_shown);
      return invalid(fmt::format("{} must be an array of task ids, and '{}' is not a task id", param.name, shown),
                     "ids look like 0197f0c2-0000-7000-8000-000000000000");
    }
  }
  if (text != nullptr && param.kind != ParamKind::text) {
    given = fmt::format(", not '{}'", std::string_view(*text).substr(0, k_shown));
  } else if (const auto number = whole_number(value)) {
    given = fmt::format(", not {}", *number);
  }
  return invalid(fmt::format("{} must be {}{}", param.name, param.should_be(), given));
}

bool is_empty_text(const json::value* value) {
  const auto* text = value != nullptr ? value->if_string() : nullptr;
  return text != nullptr && text->empty();
}

bool has_empty_text(const json::value& value) {
  const auto* list = value.if_array();
  if (list == nullptr) return is_empty_text(&value);
  return std::ranges::any_of(*list, [](const json::value& each) { return is_empty_text(&each); });
}

// An empty text is as good as none where a name is optional: programs send what they have.
bool counts_as_absent(const Param& param, const json::value& value) {
  if (value.is_null()) return true;
  const bool is_named = param.kind == ParamKind::word || param.kind == ParamKind::task_id;
  return is_named && !param.is_required && is_empty_text(&value);
}

const Param* named(const std::vector<Param>& params, std::string_view name) {
  for (const Param& each : params) {
    if (each.name == name || std::ranges::find(each.older, name) != each.older.end()) return &each;
  }
  return nullptr;
}

}  // namespace

Error unknown_member(std::string_view name, const std::vector<Param>& params) {
  std::vector<std::string_view> known;
  known.reserve(params.size());
  for (const Param& each : params) known.push_back(each.name);
  if (known.empty()) return invalid(fmt::format("unknown member '{}'", name), "this operation takes no parameters");
  std::string meant = suggestion(name, known);
  constexpr std::string_view k_before = " (did you mean";
  if (meant.starts_with(k_before)) {
    meant = fmt::format("did you mean{}; ", meant.substr(k_before.size(), meant.size() - k_before.size() - 1));
  } else {
    meant.clear();
  }
  return invalid(fmt::format("unknown member '{}'", name),
                 fmt::format("{}known here: {}", meant, fmt::join(known, ", ")));
}

Result<Arguments> read_arguments(const std::vector<Param>& params, const json::object& given) {
  Arguments read(params);
  for (const auto& member : given) {
    const Param* param = named(params, member.key());
    if (param == nullptr) return std::unexpected(unknown_member(member.key(), params));
    if (counts_as_absent(*param, member.value())) continue;
    const json::value*& place = read.given_[static_cast<std::size_t>(param - params.data())];
    if (place != nullptr) {
      return std::unexpected(invalid(
          fmt::format("{} is given twice: '{}' is its older name", param->name, fmt::join(param->older, "', '"))));
    }
    if (!fits(*param, member.value())) return std::unexpected(misfit(*param, member.value()));
    if (param->must_be_filled && has_empty_text(member.value())) {
      return std::unexpected(
          invalid(fmt::format("{} must not be empty", param->name), "give a value, or leave it out"));
    }
    place = &member.value();
  }
  for (std::size_t i = 0; i < params.size(); ++i) {
    const Param& param = params[i];
    if (!param.is_required || (read.given_[i] != nullptr && !is_empty_text(read.given_[i]))) continue;
    if (!param.unless.empty() && read.has(param.unless)) continue;
    return std::unexpected(invalid(fmt::format("{} is missing", param.name)));
  }
  return read;
}

std::size_t Arguments::index_of(std::string_view name) const {
  for (std::size_t i = 0; i < params_->size(); ++i) {
    if ((*params_)[i].name == name) return i;
  }
  throw std::logic_error(fmt::format("the operation declares no parameter '{}'", name));
}

bool Arguments::has(std::string_view name) const { return given_[index_of(name)] != nullptr; }

std::string Arguments::text(std::string_view name) const {
  const std::size_t at = index_of(name);
  if (given_[at] == nullptr) return (*params_)[at].otherwise;
  return std::string(given_[at]->as_string());
}

std::uint64_t Arguments::count(std::string_view name) const {
  const std::size_t at = index_of(name);
  const Param& param = (*params_)[at];
  if (given_[at] != nullptr) return milliseconds_of(param, *given_[at]).value_or(0);
  if (const auto time = parse_time(param.otherwise)) {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(*time).count());
  }
  std::uint64_t number = 0;
  std::from_chars(param.otherwise.data(), param.otherwise.data() + param.otherwise.size(), number);
  return number;
}

std::chrono::milliseconds Arguments::milliseconds(std::string_view name) const {
  return std::chrono::milliseconds(static_cast<std::int64_t>(count(name)));
}

bool Arguments::flag(std::string_view name) const {
  const std::size_t at = index_of(name);
  return given_[at] != nullptr ? given_[at]->as_bool() : (*params_)[at].otherwise == "true";
}

std::vector<std::string> Arguments::texts(std::string_view name) const {
  std::vector<std::string> all;
  const json::value* value = given_[index_of(name)];
  if (value == nullptr) return all;
  for (const json::value& each : value->as_array()) all.emplace_back(each.as_string());
  return all;
}

json::object Arguments::as_given() const {
  json::object all;
  for (std::size_t i = 0; i < given_.size(); ++i) {
    if (given_[i] != nullptr) all[(*params_)[i].name] = *given_[i];
  }
  return all;
}

ledger::TaskId Arguments::task_id(std::string_view name) const {
  return ledger::TaskId::parse(text(name)).value_or(ledger::TaskId{});
}

std::vector<ledger::TaskId> Arguments::task_ids(std::string_view name) const {
  std::vector<ledger::TaskId> ids;
  for (const std::string& each : texts(name)) ids.push_back(ledger::TaskId::parse(each).value_or(ledger::TaskId{}));
  return ids;
}

ledger::Fields Arguments::fields(std::string_view name) const {
  ledger::Fields all;
  const json::value* value = given_[index_of(name)];
  if (value == nullptr) return all;
  for (const auto& each : value->as_object())
    all.emplace(std::string(each.key()), std::string(each.value().as_string()));
  return all;
}

}  // namespace skein::inline v0::operations
