#include "skein/operations/reference.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <vector>

#include "skein/operations/command_line.hpp"
#include "skein/operations/table.hpp"

namespace skein::inline v0::operations {
namespace {

constexpr std::size_t k_columns = 120;

// Words put into lines, the second and further ones indented.
std::string wrapped(std::string_view text, std::string_view first, std::string_view indent) {
  std::string out(first);
  std::size_t column = first.size();
  bool is_begin = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!is_begin && column + 1 + word.size() > k_columns) {
      out += '\n';
      out += indent;
      column = indent.size();
      is_begin = true;
    }
    if (!is_begin) out += ' ';
    column += word.size() + (is_begin ? 0 : 1);
    out += word;
    is_begin = false;
  }
  return out + "\n";
}

std::string_view kind_text(Param::Kind kind) {
  using enum Param::Kind;
  switch (kind) {
    case text:
      return "text";
    case word:
      return "one of";
    case count:
      return "whole number";
    case milliseconds:
      return "milliseconds";
    case duration:
      return "time such as \"5s\", or milliseconds";
    case time:
      return "milliseconds since 1970, or RFC 3339";
    case flag:
      return "true or false";
    case texts:
      return "array of texts";
    case task_id:
      return "task id";
    case task_ids:
      return "array of task ids";
    case json:
      return "any JSON value; on the socket, its text";
    case fields:
      return "object of texts";
  }
  return "";
}

std::string_view name_of_way(Way way) {
  switch (way) {
    case Way::mcp:
      return "MCP";
    case Way::rest:
      return "REST";
    case Way::cli:
      return "the CLI";
    case Way::socket:
      break;
  }
  return "the socket";
}

std::string range_text(const Param& param) {
  if (param.kind == Param::Kind::word) return fmt::format(" {}", fmt::join(param.words, ", "));
  const bool has_range = param.is_number() || param.kind == Param::Kind::duration;
  if (!has_range || (param.least == 0 && param.most == UINT64_MAX)) return "";
  if (param.most == UINT64_MAX) return fmt::format(" from {}", param.least);
  return fmt::format(" from {} to {}", param.least, param.most);
}

std::string param_text(const Operation& operation, const Param& param) {
  std::string text = fmt::format("`{}` ({}{}", param.name, kind_text(param.kind), range_text(param));
  if (param.is_required)
    text += param.unless.empty() ? ", required" : fmt::format(", required unless {}", param.unless);
  if (!param.otherwise.empty()) text += fmt::format(", default {}", param.otherwise);
  for (const Param::Narrower& each : param.narrower) {
    text += fmt::format(", over {} at most {}, default {}", name_of_way(each.way), each.most, each.otherwise);
  }
  text += fmt::format("): {}.", param.help);
  for (const std::string_view each : param.older) text += fmt::format(" Older name: `{}`.", each);
  if (operation.is_on(Way::cli) && param.is_on(Way::cli)) {
    text +=
        param.place.empty() ? fmt::format(" CLI: `--{}`.", option_of(param)) : fmt::format(" CLI: {}.", param.place);
  }
  std::vector<std::string_view> missing;
  for (const Way way : {Way::mcp, Way::rest}) {
    if (operation.is_on(way) && !param.is_on(way)) missing.push_back(name_of_way(way));
  }
  if (!missing.empty()) text += fmt::format(" Not over {}.", fmt::join(missing, " and "));
  return text;
}

std::string ways_text(const Operation& operation) {
  std::vector<std::string> ways;
  if (operation.is_on(Way::cli)) ways.push_back(fmt::format("CLI `skein {}`", operation.cli.path));
  if (operation.is_on(Way::rest))
    ways.push_back(fmt::format("REST `{} {}`", operation.rest.method, operation.rest.path));
  if (operation.is_on(Way::mcp)) ways.push_back("MCP tool");
  if (operation.is_on(Way::socket)) ways.emplace_back("socket");
  return fmt::format("{}", fmt::join(ways, ", "));
}

std::string operation_text(const Operation& operation) {
  std::string out = fmt::format("### {}\n\n", operation.name);
  out += wrapped(fmt::format("{}. {}", operation.summary, operation.help), "", "");
  out += "\n";
  out += wrapped(fmt::format("Ways in: {}. Rank: {}. Answers `{}`.", ways_text(operation),
                             ledger::name_of(operation.rank), operation.answer),
                 "", "");
  if (!operation.params.empty()) out += "\n";
  for (const Param& each : operation.params) out += wrapped(param_text(operation, each), "- ", "  ");
  if (!operation.errors.empty()) {
    std::vector<std::string_view> codes;
    codes.reserve(operation.errors.size());
    for (const Code each : operation.errors) codes.push_back(name_of(each));
    out += "\n" + wrapped(fmt::format("Errors: `{}`.", fmt::join(codes, "`, `")), "", "");
  }
  return out + "\n";
}

std::string type_text(const AnswerType& type) {
  std::string text = fmt::format("**{}**", type.name);
  if (!type.help.empty()) text += fmt::format(": {}", type.help);
  if (!type.base.empty()) text += fmt::format(", with the members of {}", type.base);
  if (!type.type.empty()) text += fmt::format(" (`{}`)", type.type);
  text += ".";
  for (const AnswerMember& each : type.members) {
    text +=
        fmt::format(" `{}`: `{}`{};", each.name, each.type, each.help.empty() ? "" : fmt::format(" ({})", each.help));
  }
  if (text.ends_with(';')) text.back() = '.';
  return wrapped(text, "", "") + "\n";
}

}  // namespace

std::string reference_page() {
  std::string out =
      "# Operations\n\n"
      "Everything that can be asked of a node. This page is made from the table of operations in the program:\n"
      "`skein operations --markdown` prints it.\n\n";
  std::vector<std::string_view> codes;
  for (const Code each : common_errors()) codes.push_back(name_of(each));
  out += wrapped(
      fmt::format("Ranks: `read` looks, `operate` works with tasks, swarms and agents, `administer` steers the "
                  "node itself; each may do what those before it may. Any operation can also give the errors "
                  "`{}`. In an answer, `name?` is a member that is not always there, `[T]` an array, `{{T}}` an "
                  "object with any names, and a moment is there twice: `submitted_at` in milliseconds since "
                  "1970, `submitted_time` as RFC 3339.",
                  fmt::join(codes, "`, `")),
      "", "");
  for (const OperationGroup& group : operation_groups()) {
    out += fmt::format("\n## {}{}\n\n", static_cast<char>(group.name.front() - 'a' + 'A'), group.name.substr(1));
    for (const Operation& each : group.operations) out += operation_text(each);
    out.pop_back();
  }
  out += "\n## Answers\n\n";
  for (const AnswerType& each : answer_types()) out += type_text(each);
  out.pop_back();
  return out;
}

}  // namespace skein::inline v0::operations
