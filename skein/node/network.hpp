// What the transports of a node on the network have in common: who is let in, and how many.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "skein/mcp/login.hpp"
#include "skein/node/node_context.hpp"

namespace skein::inline v0::node {

// Who may use a transport. `transport` is for the log, `auth` as its section of the config has it.
[[nodiscard]] std::shared_ptr<mcp::Login> login_of(const ContextPtr& context, const std::string& transport,
                                                   const std::string& auth);
// As many connections as the config says, as long as there are descriptors for them.
[[nodiscard]] std::uint32_t connections_with_descriptors(const NodeContext& context, const std::string& transport,
                                                         std::uint32_t wanted);

}  // namespace skein::inline v0::node
