// Common to the node's network transports: which clients are let in, and how many.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "skein/mcp/login.hpp"
#include "skein/node/node_context.hpp"

namespace skein::inline v0::node {

// Checks the tokens of a transport's clients. `transport` is for the log, `auth` as its section of the config has it.
[[nodiscard]] std::shared_ptr<mcp::Login> login_of(const ContextPtr& context, const std::string& transport,
                                                   const std::string& auth);
// The budget of descriptors for connections and OS processes: what the operating system allows this program, less what
// the node needs for itself. Says so when that is little.
[[nodiscard]] std::shared_ptr<DescriptorBudget> make_descriptor_budget(std::size_t strangers_max, const Log& log);
// Logs what goes wrong with a transport's connections.
[[nodiscard]] std::function<void(const std::string&)> connection_log(const ContextPtr& context);
// Logs that a client is connected, at the level debug.
[[nodiscard]] std::function<void(const std::string&)> connection_trace(const ContextPtr& context);
// Logs each client that was sent away.
[[nodiscard]] std::function<void(const std::string& where, const std::string& words)> refusal_trace(
    const ContextPtr& context);

}  // namespace skein::inline v0::node
