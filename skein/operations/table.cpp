#include "skein/operations/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <unordered_map>

namespace skein::inline v0::operations {
namespace {

void check(const Operation& operation, const std::vector<AnswerType>& answers) {
  const auto wrong = [&](const std::string& what) {
    throw std::logic_error(fmt::format("operation '{}': {}", operation.name, what));
  };
  std::set<std::string_view> names;
  for (const Param& each : operation.params) {
    if (!names.insert(each.name).second) wrong(fmt::format("parameter '{}' is defined twice", each.name));
    for (const std::string_view older : each.older) {
      if (!names.insert(older).second) wrong(fmt::format("parameter '{}' is defined twice", older));
    }
    if (each.help.empty()) wrong(fmt::format("parameter '{}' has no help", each.name));
    if (!each.unless.empty() && operation.param(each.unless) == nullptr) wrong("an alternative is not there");
  }
  std::string_view path = operation.rest.path;
  for (std::size_t open = path.find('{'); open != std::string_view::npos; open = path.find('{')) {
    const std::size_t close = path.find('}');
    if (operation.param(path.substr(open + 1, close - open - 1)) == nullptr) wrong("its path has an unknown part");
    path.remove_prefix(close + 1);
  }
  if (find_type(operation.answer, answers) == nullptr) wrong(fmt::format("no answer '{}'", operation.answer));
  if (operation.title.empty() || operation.summary.empty()) wrong("it has no title or no summary");
}

void check(const AnswerType& answer, const std::vector<AnswerType>& answers) {
  for (const AnswerMember& each : members_of(answer, answers)) {
    for (const std::string_view type : types_in(each.type)) {
      if (find_type(type, answers) != nullptr) continue;
      throw std::logic_error(fmt::format("answer '{}': '{}' is of no type '{}'", answer.name, each.name, type));
    }
  }
}

struct Table {
  std::vector<OperationGroup> groups;
  std::vector<Operation> operations;
  std::vector<AnswerType> answers;
};

Table make_table() {
  Table table;
  std::array all{task_operations(), swarm_operations(), agent_operations(), token_operations(), node_operations()};
  for (DeclaredGroup& group : all) {
    std::ranges::move(group.operations, std::back_inserter(table.operations));
    std::ranges::move(group.answers, std::back_inserter(table.answers));
  }
  std::span<const Operation> left = table.operations;
  for (const DeclaredGroup& group : all) {
    table.groups.push_back({group.name, left.first(group.operations.size())});
    left = left.subspan(group.operations.size());
  }
  std::set<std::string_view> names;
  for (const AnswerType& each : table.answers) check(each, table.answers);
  for (const Operation& each : table.operations) {
    if (!names.insert(each.name).second) throw std::logic_error(fmt::format("two operations '{}'", each.name));
    check(each, table.answers);
  }
  return table;
}

const Table& table() {
  static const Table k_table = make_table();
  return k_table;
}

}  // namespace

bool Operation::is_on(Way way) const {
  switch (way) {
    case Way::mcp:
      return is_tool;
    case Way::rest:
      return !rest.path.empty();
    case Way::cli:
      return !cli.path.empty();
    case Way::socket:
      break;
  }
  return is_on_socket;
}

const Param* Operation::param(std::string_view param_name) const {
  const auto found = std::ranges::find(params, param_name, &Param::name);
  return found != params.end() ? &*found : nullptr;
}

const std::vector<OperationGroup>& operation_groups() { return table().groups; }
const std::vector<Operation>& operations() { return table().operations; }
const std::vector<AnswerType>& answer_types() { return table().answers; }

const Operation* find_operation(std::string_view name) {
  static const auto k_by_name = [] {
    std::unordered_map<std::string_view, const Operation*> all;
    for (const Operation& each : operations()) all.emplace(each.name, &each);
    return all;
  }();
  const auto found = k_by_name.find(name);
  return found != k_by_name.end() ? found->second : nullptr;
}

const std::vector<Code>& common_errors() {
  static const std::vector<Code> k_all{Code::invalid, Code::overloaded, Code::not_leader, Code::unknown,
                                       Code::stopped, Code::forbidden,  Code::internal};
  return k_all;
}

}  // namespace skein::inline v0::operations
