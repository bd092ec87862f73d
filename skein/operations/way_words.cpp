#include "skein/operations/way_words.hpp"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

#include "skein/operations/table.hpp"

namespace skein::inline v0::operations {
namespace {

constexpr std::string_view k_command_begin = "'skein ";
constexpr std::string_view k_rest_root = "/api/v1";

std::vector<std::string> words_in(std::string_view text) {
  std::istringstream stream{std::string(text)};
  std::vector<std::string> all;
  for (std::string each; stream >> each;) all.push_back(std::move(each));
  return all;
}

// The operation that a command stands for, and the words behind its verb: the longer verb wins ('agent show', 'tree
// restart' before 'tree').
struct Command {
  const Operation* operation = nullptr;
  std::vector<std::string> arguments{};
};

Command command_in(std::string_view text) {
  std::vector<std::string> words = words_in(text);
  for (const std::size_t length : {std::size_t{2}, std::size_t{1}}) {
    if (words.size() < length) continue;
    const std::string verb = length == 2 ? words[0] + " " + words[1] : words[0];
    for (const Operation& each : operations()) {
      if (each.cli.path != verb) continue;
      return {&each, {words.begin() + static_cast<std::ptrdiff_t>(length), words.end()}};
    }
  }
  return {};
}

// "/agents/{id}/resume" with the command's arguments where the path has parameters; a parameter that the command does
// not name stays in braces.
std::string route_of(const Command& command) {
  std::string path;
  std::string_view rest = command.operation->rest.path;
  auto argument = command.arguments.begin();
  while (!rest.empty()) {
    const std::size_t open = rest.find('{');
    const std::size_t close = rest.find('}');
    if (open == std::string_view::npos || close == std::string_view::npos) break;
    path += rest.substr(0, open);
    const bool is_named = argument != command.arguments.end() && !argument->starts_with("-");
    path += is_named ? *argument++ : std::string(rest.substr(open, close + 1 - open));
    rest.remove_prefix(close + 1);
  }
  return fmt::format("{} {}{}{}", command.operation->rest.method, k_rest_root, path, rest);
}

std::optional<std::string> counterpart(Way way, const Principal& who, std::string_view text) {
  const Command command = command_in(text);
  const Operation* operation = command.operation;
  if (operation == nullptr || !operation->is_on(way) || !may_ever(who, operation->name)) return std::nullopt;
  if (way == Way::mcp) return fmt::format("the tool {}", operation->name);
  return route_of(command);
}

void replace_text(Way way, const Principal& who, json::object& object, std::string_view member) {
  json::value* found = object.if_contains(member);
  if (found == nullptr || !found->is_string()) return;
  const std::string_view text = found->get_string();
  if (text.find(k_command_begin) == std::string_view::npos) return;
  *found = words_for(way, who, std::string(text));
}

}  // namespace

std::string words_for(Way way, const Principal& who, std::string text) {
  if (way != Way::rest && way != Way::mcp) return text;
  for (std::size_t at = text.find(k_command_begin); at != std::string::npos; at = text.find(k_command_begin, at)) {
    const std::size_t from = at + k_command_begin.size();
    const std::size_t end = text.find('\'', from);
    if (end == std::string::npos) break;
    const auto other = counterpart(way, who, std::string_view(text).substr(from, end - from));
    if (other) text.replace(at, end + 1 - at, *other);
    at += other ? other->size() : end + 1 - at;
  }
  return text;
}

void put_error_in_words_for(Way way, const Principal& who, json::value& error) {
  json::object* object = error.if_object();
  if (object == nullptr) return;
  replace_text(way, who, *object, "message");
  replace_text(way, who, *object, "advice");
}

void put_waits_in_words_for(Way way, const Principal& who, json::value& answer) {
  json::object* object = answer.if_object();
  if (object == nullptr) return;
  replace_text(way, who, *object, "waits");
  json::value* task = object->if_contains("task");
  if (task != nullptr && task->is_object()) replace_text(way, who, task->get_object(), "waits");
  json::value* tasks = object->if_contains("tasks");
  if (tasks == nullptr || !tasks->is_array()) return;
  for (json::value& each : tasks->get_array()) {
    if (each.is_object()) replace_text(way, who, each.get_object(), "waits");
  }
}

}  // namespace skein::inline v0::operations
