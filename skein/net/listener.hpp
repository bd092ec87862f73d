// Listens at a socket and hands each client to a process of a pool. A child of transports_sup, permanent: when it is
// restarted it listens anew; connections that are open go on.
//
// When accept fails because no descriptor is free, it tries again after a pause and goes on; with too many connections
// a client is told so and closed.
#pragma once

#include <atomic>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "skein/base/fd.hpp"
#include "skein/net/fd_poller.hpp"
#include "skein/runtime/runtime.hpp"

namespace skein::inline v0::net {

struct ListenerSetup {
  std::string where;                                           // for people
  std::function<std::expected<Fd, std::string>()> open;        // a socket that listens and does not block
  std::function<void()> close{};                               // after it is closed
  std::function<std::optional<std::string>(int fd)> refuse{};  // who is let in: nothing; what is said to others
  std::string busy{};                                          // said to whoever is one too many
  std::string pool{};  // registered name; its children take a std::shared_ptr<Fd>
  std::uint32_t connections_max = 0;
  std::shared_ptr<std::atomic<std::uint32_t>> connections;  // open now; a connection counts itself out
  std::shared_ptr<FdPoller> poller;
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
  void turn_away(int fd, const std::string& words);

  std::shared_ptr<const ListenerSetup> setup_;
  Fd fd_;
  std::uint64_t accepted_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t failed_ = 0;  // accepts
};

}  // namespace skein::inline v0::net
