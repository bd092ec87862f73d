// The listener of the Unix socket and the pool of its connections, children of transports_sup. Serves this user and
// root only. When the listener is restarted it takes the place of the old socket file.
#pragma once

#include <memory>
#include <string>

#include "skein/control/connection.hpp"
#include "skein/net/listener.hpp"
#include "skein/supervision/child_spec.hpp"

namespace skein::inline v0::control {

inline constexpr std::string_view k_connections_name = "connections";  // the pool's registered name

// How a net::Listener listens at `path` for these connections.
[[nodiscard]] std::shared_ptr<const net::ListenerSetup> listener_setup(
    const std::string& path, const std::shared_ptr<const ConnectionSetup>& connections);

// The template of the pool: connections are temporary and have 30 s to end.
[[nodiscard]] ChildSpec connection_template(std::shared_ptr<const ConnectionSetup> setup);

}  // namespace skein::inline v0::control
