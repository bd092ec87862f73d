// Carries out what is asked of a node, by the table of operations. Every way in calls it. Any thread.
#pragma once

#include <boost/json/object.hpp>
#include <string_view>

#include "skein/operations/table.hpp"

namespace skein::inline v0::operations {

struct Request {
  NodeHooks& hooks;
  const json::object& params;
  Responder respond;
  PrincipalPtr who;  // null: nobody, who may do nothing
};

// Every request is answered exactly once, perhaps much later, also one for a name that is unknown, and one that who
// asks may not ask for (may()). The hooks must outlive the answer. An operation that the connection carries out itself
// is as unknown here as any other, see Operation::handler.
void carry_out(std::string_view name, const Request& request);

// Whether what was shown still works: of the token of an attempt, which may have ended long before, the ledger is
// asked, about the attempt alone. Answers the swarm that it submits to, or why not. For opening a connection that
// outlives a request, and before each request of MCP. The hooks must outlive the call only.
void check_standing(NodeHooks& hooks, const Principal& who, Reply<std::string> reply);

[[nodiscard]] Error engine_is_away();
// Of what would make work for a node that is stopping: nothing of it was done.
[[nodiscard]] Error not_taken_while_draining();

}  // namespace skein::inline v0::operations
