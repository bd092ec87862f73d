// The node's side of operations/node_hooks.hpp. Any thread; what has to ask a process or a disk is done by a process of
// its own, which answers and ends.
#pragma once

#include <memory>

#include "skein/node/node_context.hpp"
#include "skein/operations/node_hooks.hpp"

namespace skein::inline v0::node {

[[nodiscard]] std::shared_ptr<operations::NodeHooks> make_hooks(const ContextPtr& context);

}  // namespace skein::inline v0::node
