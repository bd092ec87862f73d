// Unix sockets: listening in a folder of one's own, connecting, and identifying the peer. Any thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <expected>
#include <optional>
#include <string>

#include "skein/base/fd.hpp"

namespace skein::inline v0::control {

// Errors are complete, for people.
// Listens at `path`, which only its owner may use. A socket file that nobody listens at any more is removed first; one
// that somebody listens at is an error.
[[nodiscard]] std::expected<Fd, std::string> listen_at(const std::string& path, int backlog);

enum class ConnectFailure { nobody, refused, timeout, other };
struct ConnectError {
  ConnectFailure failure = ConnectFailure::other;
  std::string message;
};
// Waits no longer than this when the listener has more clients than it takes.
[[nodiscard]] std::expected<Fd, ConnectError> connect_to(const std::string& path,
                                                         std::chrono::milliseconds timeout = std::chrono::seconds(10));

struct Peer {
  uid_t uid = 0;
  pid_t pid = 0;
};
// The process that opened the other end, as the kernel knows it.
[[nodiscard]] std::optional<Peer> peer_of(int fd);

}  // namespace skein::inline v0::control
