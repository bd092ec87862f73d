// The tree of a node, as docs/architecture.md draws it. Pure: what it starts is in the context.
#pragma once

#include "skein/node/node_context.hpp"
#include "skein/operations/node_hooks.hpp"
#include "skein/supervision/supervisor_flags.hpp"

namespace skein::inline v0::node {

[[nodiscard]] SupervisorSpec node_tree(const ContextPtr& context, const std::shared_ptr<operations::NodeHooks>& hooks);

}  // namespace skein::inline v0::node
