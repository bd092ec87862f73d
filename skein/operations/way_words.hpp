// Advice in the terms of the transport that a client uses. Errors and the reasons why a task waits are written for the
// command line, with the command in quotes: 'skein agent resume ada'. A client of REST or MCP has no command line, so
// each command is replaced by the route or the tool that does the same. A command without such a counterpart, or one
// whose counterpart the client may not use, is left unchanged: it tells whom to ask. Pure; any thread.
#pragma once

#include <boost/json/value.hpp>
#include <string>

#include "skein/operations/param.hpp"
#include "skein/operations/principal.hpp"

namespace skein::inline v0::operations {

// "'skein agents' lists them" is "the tool agent_list lists them" for MCP, "GET /api/v1/agents lists them" for REST.
[[nodiscard]] std::string words_for(Way way, const Principal& who, std::string text);
// The same for the message and the advice of an error (to_json(Error)).
void put_error_in_words_for(Way way, const Principal& who, json::value& error);
// The same for `waits` of an answer: of a submitted task, of `task`, and of each of `tasks`. Everything else in an
// answer may be a user's text and is not touched.
void put_waits_in_words_for(Way way, const Principal& who, json::value& answer);

}  // namespace skein::inline v0::operations
