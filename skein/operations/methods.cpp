#include "skein/operations/methods.hpp"

#include <fmt/format.h>

#include <memory>
#include <vector>

#include "skein/base/suggestion.hpp"

namespace skein::inline v0::operations {
namespace {

using OperationsPtr = std::shared_ptr<Operations>;

Error draining() {
  return {Code::stopped, "the node is going down and takes no new tasks", "submit again when it is back",
          std::chrono::milliseconds(1000)};
}

Error unknown_operation(std::string_view name) {
  std::vector<std::string_view> known;
  for (const Operation& each : operations()) known.push_back(each.name);
  const std::string meant = suggestion(name, known);
  return invalid(
      fmt::format("unknown operation '{}'{}", name, meant.find("did you mean") != std::string::npos ? meant : ""),
      "docs/reference/operations.md lists what there is");
}

// What could not be read never gets to the operations, which count all other errors.
void refuse(const Request& request, Error error) {
  if (const OperationsPtr ops = request.hooks.operations()) ops->count_refused(error.code);
  request.respond.fail(std::move(error));
}

}  // namespace

Error engine_is_away() {
  return {Code::stopped, "the node's engine is not there at the moment", "try again", std::chrono::milliseconds(100)};
}

void carry_out(std::string_view name, const Request& request) {
  const Operation* operation = find_operation(name);
  if (operation == nullptr || operation->handler == nullptr) return refuse(request, unknown_operation(name));
  OperationsPtr ops;
  if (operation->needs_engine) {
    ops = request.hooks.operations();
    if (ops == nullptr) return request.respond.fail(engine_is_away());
    if (operation->makes_work && request.hooks.is_draining()) return request.respond.fail(draining());
  }
  const auto read = read_arguments(operation->params, request.params);
  if (!read) return refuse(request, read.error());
  operation->handler(Call{request.hooks, ops.get(), *read, request.respond});
}

}  // namespace skein::inline v0::operations
