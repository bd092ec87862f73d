// Listens at the Unix socket and hands each client to a process of the connections pool. Serves this user and root
// only.
//
// A child of transports_sup, permanent. When it is restarted it takes the place of the old socket file; connections
// that are open go on. With too many connections a client is told so and closed.
#pragma once

#include <memory>
#include <string>

#include "skein/control/connection.hpp"
#include "skein/supervision/child_spec.hpp"

namespace skein::inline v0::control {

inline constexpr std::string_view k_connections_name = "connections";  // the pool's registered name

struct ListenerSetup {
  std::string path;
  std::shared_ptr<const ConnectionSetup> connections;
};

class Listener {
 public:
  Listener(Self self, std::shared_ptr<const ListenerSetup> setup);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  Init init(Self self);
  Task<void> handle_info(Self self, Message message);
  [[nodiscard]] std::string describe() const;

 private:
  struct Again {};
  Task<void> accept_some(Self self);
  void turn_away(int fd, const operations::Error& why);

  std::shared_ptr<const ListenerSetup> setup_;
  Fd fd_;
  std::uint64_t accepted_ = 0;
  std::uint64_t refused_ = 0;
};

// The template of the pool: connections are temporary and have 30 s to end.
[[nodiscard]] ChildSpec connection_template(std::shared_ptr<const ConnectionSetup> setup);

}  // namespace skein::inline v0::control
