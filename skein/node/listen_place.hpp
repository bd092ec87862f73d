// Where a transport of a node listens. Any thread.
//
// It is opened before the tree is started, so that a wrong address is found while its error can still be reported;
// the listener takes that socket; a restarted listener opens the same port again.
#pragma once

#include <cstdint>
#include <expected>
#include <mutex>
#include <string>

#include "skein/base/fd.hpp"
#include "skein/net/tcp_socket.hpp"

namespace skein::inline v0::node {

class ListenPlace {
 public:
  // "127.0.0.1:7433". The error is complete, for people.
  [[nodiscard]] std::expected<void, std::string> open(const std::string& address);
  [[nodiscard]] bool is_open() const { return port() != 0; }
  // For the listener.
  [[nodiscard]] std::expected<Fd, std::string> take();
  [[nodiscard]] std::uint16_t port() const;
  // With the port it got.
  [[nodiscard]] std::string address() const;

 private:
  mutable std::mutex mutex_;
  net::HostPort where_;  // port 0: not open
  Fd early_;             // that no listener has taken
};

}  // namespace skein::inline v0::node
