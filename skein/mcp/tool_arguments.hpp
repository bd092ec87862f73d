// The arguments of a tool call as clients send them, made what the tool's schema takes. Pure; any thread.
//
// Clients add members of their own (Gemini CLI adds wait_for_previous to every tool), models misspell them, and strict
// harnesses send null for what is not given. A call that could be carried out is not refused for that:
// 1. null for an optional member that cannot be null is taken out, as if it had not been sent.
// 2. A member that a closed schema (additionalProperties false) does not know is taken out and named, with what was
//    probably meant. The answer tells the client.
#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <vector>

namespace skein::inline v0::mcp {

// The arguments that were ignored, each with what was probably meant: "typ (did you mean 'type'?)".
using IgnoredArguments = std::vector<std::string>;

[[nodiscard]] IgnoredArguments tidy_arguments(const boost::json::object& schema, boost::json::object& arguments);

// Names them in the result of the call: the member `ignored` of structured content and the text that repeats it, or the
// end of an error's text. Nothing is changed when none was ignored.
void tell_ignored(const IgnoredArguments& ignored, boost::json::object& result);

}  // namespace skein::inline v0::mcp
