#include "skein/operations/methods.hpp"

#include <fmt/format.h>

#include <memory>
#include <vector>

#include "skein/base/suggestion.hpp"

namespace skein::inline v0::operations {
namespace {

using OperationsPtr = std::shared_ptr<Operations>;

Error unknown_operation(std::string_view name) {
  std::vector<std::string_view> known;
  for (const Operation& each : operations()) known.push_back(each.name);
  const std::string meant = suggestion(name, known);
  return invalid(
      fmt::format("unknown operation '{}'{}", name, meant.find("did you mean") != std::string::npos ? meant : ""),
      "docs/reference/operations.md lists all operations");
}

// What could not be read never gets to the operations, which count all other errors.
void refuse(const Request& request, Error error) {
  if (const OperationsPtr ops = request.hooks.operations()) ops->count_refused(error.code);
  request.respond.fail(std::move(error));
}

void perform(std::string_view name, const Request& request) {
  const Operation* operation = find_operation(name);
  if (operation == nullptr || operation->handler == nullptr) return refuse(request, unknown_operation(name));
  OperationsPtr ops;
  if (operation->needs_engine) {
    ops = request.hooks.operations();
    if (ops == nullptr) return request.respond.fail(engine_is_away());
    if (operation->makes_work && request.hooks.is_draining()) return request.respond.fail(not_taken_while_draining());
  }
  const auto read = read_arguments(operation->params, request.params);
  if (!read) return refuse(request, read.error());
  operation->handler(Call{request.hooks, ops.get(), *read, request.respond, *request.who});
}

// Of a bound token: the ledger says first whether the tasks it is about are within its bounds. Its arguments are read
// before anything is made of them: a member of the wrong type, or by an older name, names a swarm or a task all the
// same.
void perform_bound(const Operation& operation, const Request& request) {
  const Principal& who = *request.who;
  const std::string name(operation.name);
  const auto read = read_arguments(operation.params, request.params);
  if (!read) return refuse(request, read.error());
  const json::object given = read->as_given();
  if (auto no = may(who, name, given)) return refuse(request, std::move(*no));
  const OperationsPtr ops = request.hooks.operations();
  if (ops == nullptr) return request.respond.fail(engine_is_away());
  auto params = std::make_shared<json::object>(narrowed(who, name, given));
  auto tasks = tasks_named(name, *params);
  Reply<std::string> then([&hooks = request.hooks, respond = request.respond, asker = request.who, name,
                           params](Result<std::string> swarm) {
    if (!swarm) return respond.fail(std::move(swarm.error()));
    if (auto no = wrong_swarm(*asker, name, *swarm, *params)) return respond.fail(std::move(*no));
    perform(name, {hooks, *params, respond, asker});
  });
  ops->check_scope({who.bounds.task, who.fence, who.bounds.swarm}, std::move(tasks), std::move(then));
}

}  // namespace

Error not_taken_while_draining() {
  return {Code::stopped, "the node is stopping and accepts no new tasks", "submit again when the node is running again",
          std::chrono::milliseconds(1000)};
}

Error engine_is_away() {
  return {Code::stopped, "the node's engine is restarting", "try again", std::chrono::milliseconds(100)};
}

void check_standing(NodeHooks& hooks, const Principal& who, Reply<std::string> reply) {
  if (!who.holds()) return reply.fail(no_longer_valid(who));
  if (who.kind != Principal::Kind::task) return reply(who.bounds.swarm);
  const OperationsPtr ops = hooks.operations();
  if (ops == nullptr) return reply.fail(engine_is_away());
  ops->check_scope({who.bounds.task, who.fence, {}}, {}, std::move(reply));
}

void carry_out(std::string_view name, const Request& request) {
  static const Principal k_nobody{.kind = Principal::Kind::anyone, .rank = Rank{}};
  const Principal& who = request.who ? *request.who : k_nobody;
  if (auto no = never(who, name)) return refuse(request, std::move(*no));
  const Operation* operation = who.is_bound() ? find_operation(name) : nullptr;
  if (operation != nullptr) return perform_bound(*operation, request);
  perform(name, request);
}

}  // namespace skein::inline v0::operations
