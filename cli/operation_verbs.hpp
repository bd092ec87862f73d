// Verbs made from the table of operations: a verb takes the operation's parameters as options, asks the node, and shows
// the answer. A family of verbs says here what is special about its own; all other operations of the table with a verb
// get one without any further code, see add_other_operations(). Called once, from main, before any thread exists.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cli/session.hpp"
#include "cli/verbs.hpp"
#include "skein/operations/table.hpp"

namespace skein::cli {

struct Invocation {
  Session session;
  json::object params;  // what the options say, for the operation
};

struct VerbParts {
  std::function<void(const json::value& answer)> show{};   // none: every member on a line of its own
  std::function<int(const Invocation& invocation)> run{};  // none: the node is asked once and the answer shown
  std::function<void(Verb& verb)> more{};                  // options of its own
  std::string timeout_help{};                              // what --timeout bounds; empty: asking the node
};

// The verb of this operation, below `root` at the path that the table has for it.
void add_operation(Verb& root, std::string_view operation, VerbParts parts = {});
// Those of the table that nobody has added.
void add_other_operations(Verb& root);

// Members by name, lists as tables.
void show_plainly(const json::value& answer);

// skein operations: what can be asked of a node.
void add_operations_verb(Verb& root);

}  // namespace skein::cli
