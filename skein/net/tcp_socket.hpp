// TCP sockets that listen, and the texts that name them. Any thread.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "skein/base/fd.hpp"

namespace skein::inline v0::net {

// "127.0.0.1:7433", "[::1]:7433", "localhost:0".
struct HostPort {
  std::string host;
  std::uint16_t port = 0;
};
// Nothing when it is none; the error is complete, for people.
[[nodiscard]] std::expected<HostPort, std::string> parse_host_port(std::string_view text);
// The host of a Host header or an origin: without the port, in small letters.
[[nodiscard]] std::string host_of(std::string_view authority);
// Whether what follows the host is nothing, or a colon and a port of digits, which may be none.
[[nodiscard]] bool is_port_sound(std::string_view authority);

// Numbers only, no names are looked up: localhost is 127.0.0.1.
[[nodiscard]] bool is_loopback(std::string_view host);
[[nodiscard]] bool is_address(std::string_view host);

// A socket that listens and does not block.
[[nodiscard]] std::expected<Fd, std::string> listen_on(const HostPort& where, int backlog);
// The port it got, when it asked for any.
[[nodiscard]] std::uint16_t port_of(int fd);

}  // namespace skein::inline v0::net
