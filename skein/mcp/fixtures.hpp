// What the official conformance suite expects to find on a server, by name: for tests of the protocol only, behind
// `skein up --conformance-fixtures`. Those for the tasks extension run tasks of the node, the others touch nothing.
#pragma once

#include "skein/mcp/catalog.hpp"

namespace skein::inline v0::mcp {

void add_conformance_fixtures(Catalog& catalog);

// The parts of it.
void add_content_fixtures(Catalog& catalog);
void add_input_fixtures(Catalog& catalog);
void add_task_fixtures(Catalog& catalog);

}  // namespace skein::inline v0::mcp
