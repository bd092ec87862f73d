// The table of operations: everything that can be asked of a node, declared once.
//
// An operation is declared beside its handler, in table_<group>.cpp. From the declaration come the reader of its
// requests (arguments.hpp), its tool over MCP, its route over REST and openapi.json, its verb on the command line with
// options and help, and its place in docs/reference/operations.md. docs/internals/adding.md shows how to add one.
//
// Made once, then immutable; any thread. The first use throws std::logic_error for a table that contradicts itself: a
// name given twice, an answer without a type, a path with a part that no parameter fills.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "skein/net/http_status.hpp"
#include "skein/operations/answer_types.hpp"
#include "skein/operations/arguments.hpp"
#include "skein/operations/error.hpp"
#include "skein/operations/node_hooks.hpp"
#include "skein/operations/param.hpp"
#include "skein/operations/principal.hpp"
#include "skein/operations/responder.hpp"

namespace skein::inline v0::operations {

// The rank that an operation needs, least trusted first; each may do what those before it may. See principal.hpp.
using ledger::Rank;

// What a handler is given. It answers exactly once, now or later; the arguments live until it returns.
struct Call {
  NodeHooks& hooks;
  Operations* ops;  // there when the operation needs the engine
  const Arguments& in;
  const Responder& respond;
  const Principal& who;
};
using OperationHandler = void (*)(const Call& call);

struct Operation {
  // For programs and models that decide whether to ask first.
  enum class Effect : std::uint8_t {
    looks,     // changes nothing
    adds,      // asked twice, it is done twice
    sets,      // asked twice, it is done once
    destroys,  // likewise, and something is gone
  };
  struct Route {
    std::string_view method{};
    std::string_view path{};  // below /api/v1; {name} is a parameter
    int status = net::http_status::k_ok;
  };
  struct Verb {
    std::string_view path{};  // "task wait"
    std::string_view example{};
  };

  std::string_view name;
  std::string_view title;
  std::string_view summary;  // one line
  std::string_view help{};   // what else a model or a reader needs; empty: the summary says it all
  std::vector<Param> params{};
  std::string_view answer = "Done";  // the name of its type
  std::vector<Code> errors{};        // besides those that every operation can give, see common_errors()
  Rank rank = Rank::read;
  Effect effect = Effect::looks;
  bool is_on_socket = true;
  bool is_tool = false;                // offered over MCP
  Route rest{};                        // no path: not offered over REST
  Verb cli{};                          // no path: no verb of its own
  bool needs_engine = false;           // its handler uses Call::ops
  bool makes_work = false;             // a node that goes down refuses it
  OperationHandler handler = nullptr;  // null: the connection, or REST, carries it out itself

  [[nodiscard]] bool is_on(Way way) const;
  [[nodiscard]] const Param* param(std::string_view param_name) const;
};

// In the order of the groups: tasks, swarms, agents, tokens, node.
[[nodiscard]] const std::vector<Operation>& operations();
// Null when there is none.
[[nodiscard]] const Operation* find_operation(std::string_view name);
// The types of all answers, by name.
[[nodiscard]] const std::vector<AnswerType>& answer_types();
// Errors that any request may end with.
[[nodiscard]] const std::vector<Code>& common_errors();

// What a file of declarations gives to the table.
struct DeclaredGroup {
  std::string_view name;
  std::vector<Operation> operations;
  std::vector<AnswerType> answers;
};
[[nodiscard]] DeclaredGroup task_operations();
[[nodiscard]] DeclaredGroup swarm_operations();
[[nodiscard]] DeclaredGroup agent_operations();
[[nodiscard]] DeclaredGroup token_operations();
[[nodiscard]] DeclaredGroup node_operations();

// The groups, in the order of operations().
struct OperationGroup {
  std::string_view name;
  std::span<const Operation> operations;
};
[[nodiscard]] const std::vector<OperationGroup>& operation_groups();

}  // namespace skein::inline v0::operations
