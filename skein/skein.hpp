// The whole library for programs that link skein::node: a node (skein/node.hpp), the journal without one, and all of
// skein::core (skein/core.hpp). docs/library.md is the page to read first.
#pragma once

#include "skein/core.hpp"
#include "skein/journal/entry.hpp"
#include "skein/journal/journal.hpp"
#include "skein/journal/machine.hpp"
#include "skein/journal/store_error.hpp"
#include "skein/node.hpp"
#include "skein/node/node_error.hpp"
