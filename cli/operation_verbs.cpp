#include "cli/operation_verbs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "cli/task_ids.hpp"
#include "cli/terminal.hpp"
#include "skein/base/utf8.hpp"
#include "skein/operations/command_line.hpp"
#include "skein/operations/json_forms.hpp"
#include "skein/operations/reference.hpp"
#include "skein/operations/schemas.hpp"

namespace skein::cli {
namespace {

using operations::Operation;
using operations::Param;
using operations::Way;

// What was given for one parameter.
struct Given {
  const Param* param = nullptr;
  std::vector<std::string> words{};
  std::vector<std::string> older{};  // with an option of before
  bool flag = false;
};

struct OperationVerb {
  const Operation* operation = nullptr;
  VerbParts parts;
  Invocation invocation;
  std::vector<std::unique_ptr<Given>> given{};
};

// An option and its older name, both on the command line. Of several older names the first stands for all.
std::string given_twice(const Given& given) {
  const std::string name = "--" + operations::option_of(*given.param);
  return fmt::format("{} and --{} are the same option; give one of them", name,
                     operations::older_options_of(*given.param).front());
}

void declare(Verb& verb, Given& given) {
  const Param& param = *given.param;
  const std::string help = operations::option_help(param);
  if (param.kind == Param::Kind::flag) {
    verb.flag("--" + operations::option_of(param), given.flag, help);
    return;
  }
  const bool is_list = param.kind == Param::Kind::texts || param.kind == Param::Kind::task_ids;
  if (!param.place.empty()) {
    verb.words(std::string(param.place), given.words, help,
               {.is_required = param.is_required, .is_list = is_list, .type = operations::option_type(param)});
    return;
  }
  verb.words("--" + operations::option_of(param), given.words, help,
             {.is_required = param.is_required, .is_list = is_list, .type = operations::option_type(param)});
  for (const std::string& each : operations::older_options_of(param)) {
    verb.words("--" + each, given.older, help, {.is_list = is_list, .is_hidden = true});
  }
}

// False: something makes no sense, and that was said.
bool read_given(OperationVerb& verb) {
  for (const auto& each : verb.given) {
    if (each->flag) verb.invocation.params[each->param->name] = true;
    if (each->words.empty() && each->older.empty()) continue;
    const bool is_older = each->words.empty();
    if (!each->words.empty() && !each->older.empty()) {
      complain(k_exit_usage, given_twice(*each));
      return false;
    }
    const auto value = operations::value_of_words(*each->param, is_older ? each->older : each->words, is_older);
    if (!value) {
      complain(k_exit_usage, value.error().message);
      return false;
    }
    verb.invocation.params[each->param->name] = *value;
  }
  for (const auto& each : verb.given) {
    if (verb.invocation.params.contains(each->param->name) || each->param->narrower.empty()) continue;
    json::value otherwise = operations::default_of(*each->param, Way::cli);
    if (!otherwise.is_null()) verb.invocation.params[each->param->name] = std::move(otherwise);
  }
  return true;
}

std::string text_of_value(const json::value& value) {
  if (value.is_string()) return shown_text(std::string_view(value.get_string()), value.get_string().size());
  if (value.is_null()) return "";
  if (const auto* list = value.if_array(); list != nullptr) {
    std::string all;
    for (const json::value& each : *list) all += (all.empty() ? "" : " ") + text_of_value(each);
    return all;
  }
  return operations::json_text(value);
}

bool is_list_of_objects(const json::value& value) {
  const json::array* list = value.if_array();
  return list != nullptr && !list->empty() && list->front().is_object();
}

void show_list(const json::array& list) {
  std::vector<std::string> keys;
  for (const auto& member : list.front().as_object()) keys.emplace_back(member.key());
  std::vector<std::string> head = keys;
  for (std::string& each : head) std::ranges::transform(each, each.begin(), [](char c) { return c == '_' ? ' ' : c; });
  Table table(head);
  for (const json::value& each : list) {
    std::vector<std::string> cells;
    cells.reserve(keys.size());
    for (const std::string& key : keys) cells.push_back(text_of_value(part_of(each, key)));
    table.row(std::move(cells));
  }
  table.print();
}

bool is_whole_id(const json::value& id) { return ledger::TaskId::parse(std::string_view(id.as_string())).has_value(); }

// Ids of tasks may be given by their beginning. False: one is of no task or of several, and that was said.
bool complete_ids(OperationVerb& verb, int& code) {
  std::vector<json::value*> short_ids;
  for (const auto& each : verb.given) {
    json::value* found = verb.invocation.params.if_contains(each->param->name);
    if (found == nullptr) continue;
    if (each->param->kind == Param::Kind::task_id && !is_whole_id(*found)) short_ids.push_back(found);
    if (each->param->kind != Param::Kind::task_ids) continue;
    for (json::value& id : found->as_array()) {
      if (!is_whole_id(id)) short_ids.push_back(&id);
    }
  }
  if (short_ids.empty()) return true;
  auto client = connect(verb.invocation.session);
  if (!client) {
    code = complain(client.error());
    return false;
  }
  for (json::value* each : short_ids) {
    auto id = whole_id(*client, verb.invocation.session, std::string(each->as_string()));
    if (!id) {
      code = complain(id.error());
      return false;
    }
    *each = *id;
  }
  return true;
}

int ask_once(const OperationVerb& verb) {
  return ask_and_show(verb.invocation.session, verb.operation->name, verb.invocation.params,
                      verb.parts.show ? verb.parts.show : show_plainly);
}

std::vector<std::string_view>& added() {
  static std::vector<std::string_view> k_names;
  return k_names;
}

}  // namespace

void show_plainly(const json::value& answer) {
  const json::object* members = answer.if_object();
  if (members == nullptr) {
    fmt::print("{}\n", text_of_value(answer));
    return;
  }
  std::size_t width = 0;
  for (const auto& each : *members) width = std::max(width, each.key().size());
  for (const auto& each : *members) {
    if (!is_list_of_objects(each.value())) {
      fmt::print("{:<{}}  {}\n", std::string_view(each.key()), width, text_of_value(each.value()));
    }
  }
  for (const auto& each : *members) {
    if (is_list_of_objects(each.value())) show_list(each.value().get_array());
  }
}

void add_operation(Verb& root, std::string_view name, VerbParts parts) {
  const auto made = std::make_shared<OperationVerb>();
  made->operation = operations::find_operation(name);
  made->parts = std::move(parts);
  const Operation& operation = *made->operation;
  added().push_back(operation.name);
  const std::size_t space = operation.cli.path.find(' ');
  const bool is_below = space != std::string_view::npos;
  Verb parent = is_below ? root.family(std::string(operation.cli.path.substr(0, space))) : root;
  Verb verb = parent.verb(std::string(is_below ? operation.cli.path.substr(space + 1) : operation.cli.path),
                          std::string(operation.summary));
  for (const Param& each : operation.params) {
    if (!each.is_on(Way::cli)) continue;
    made->given.push_back(std::make_unique<Given>());
    made->given.back()->param = &each;
    declare(verb, *made->given.back());
  }
  if (made->parts.more) made->parts.more(verb);
  if (!made->parts.timeout_help.empty()) made->invocation.session.timeout_help = made->parts.timeout_help;
  made->invocation.session.add_to(verb);
  verb.example(std::string(operation.cli.example));
  verb.run([made] {
    int code = k_exit_usage;
    if (!read_given(*made) || !complete_ids(*made, code)) return code;
    return made->parts.run ? made->parts.run(made->invocation) : ask_once(*made);
  });
}

void add_other_operations(Verb& root) {
  for (const Operation& each : operations::operations()) {
    const bool is_added = std::ranges::find(added(), each.name) != added().end();
    if (each.is_on(Way::cli) && !is_added) add_operation(root, each.name);
  }
}

void add_operations_verb(Verb& root) {
  struct Options {
    bool json = false;
    bool markdown = false;
  };
  const auto options = std::make_shared<Options>();
  Verb verb = root.verb("operations", "List the operations of a node, with their transports and ranks");
  verb.flag("--json", options->json, "Print JSON, one object per line");
  verb.flag("--markdown", options->markdown, "Print docs/reference/operations.md");
  verb.run([options] {
    if (options->markdown) {
      fmt::print("{}", operations::reference_page());
      return static_cast<int>(k_exit_ok);
    }
    Table table({"OPERATION", "RANK", "VERB", "REST", "MCP", "WHAT"});
    for (const Operation& each : operations::operations()) {
      const std::string route = each.is_on(Way::rest) ? fmt::format("{} {}", each.rest.method, each.rest.path) : "";
      if (options->json) {
        print_json(json::object{{"name", each.name},
                                {"rank", ledger::name_of(each.rank)},
                                {"verb", each.cli.path},
                                {"rest", route},
                                {"mcp", each.is_tool},
                                {"answer", each.answer},
                                {"summary", each.summary}});
      }
      table.row({std::string(each.name), std::string(ledger::name_of(each.rank)), std::string(each.cli.path), route,
                 each.is_tool ? "tool" : "", std::string(each.summary)});
    }
    if (!options->json) table.print();
    return static_cast<int>(k_exit_ok);
  });
}

}  // namespace skein::cli
