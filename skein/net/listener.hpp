// Listens at a socket and hands each client to a process of a pool. A child of transports_sup, permanent: when it is
// restarted it opens its socket again; connections that are open go on.
//
// When accept fails because no descriptor is free, it tries again after a pause and goes on; with too many connections
// a client is told so and closed. A client for whom the budget of descriptors has no place waits for one, and those
// behind it wait to be accepted; when none came in time it is told so and closed.
#pragma once

#include <atomic>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "skein/base/descriptor_budget.hpp"
#include "skein/base/fd.hpp"
#include "skein/net/client.hpp"
#include "skein/net/fd_poller.hpp"
#include "skein/runtime/runtime.hpp"

namespace skein::inline v0::net {

struct ListenerSetup {
  std::string where;                                     // for people
  std::function<std::expected<Fd, std::string>()> open;  // a socket that listens and does not block
  std::function<void()> close{};                         // after it is closed
  // Decides about a client. Nothing: it is let in; a text: it is refused, and the text is sent to it.
  std::function<std::optional<std::string>(Client& client)> refuse{};
  std::string busy{};  // sent to a client that exceeds connections_max
  std::string pool{};  // registered name; its children take a ClientPtr
  std::uint32_t connections_max = 0;
  std::shared_ptr<std::atomic<std::uint32_t>> connections;  // open now; a connection counts itself out
  std::shared_ptr<FdPoller> poller;
  std::shared_ptr<DescriptorBudget> budget{};                   // none: nobody counts
  bool admits_strangers = false;                                // clients have yet to show who they are
  std::function<void(const std::string& line)> log{};           // what went wrong, now and then
  std::function<void(const std::string& where)> on_accepted{};  // a client is served; often
  std::function<void(const std::string& where, const std::string& words)> on_refused{};  // one was sent away with these
};

class Listener {
 public:
  Listener(Self self, std::shared_ptr<const ListenerSetup> setup);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  Init init(Self self);
  Async<void> handle_info(Self self, Message message);
  [[nodiscard]] std::string describe() const;

 private:
  struct Again {};
  Async<void> accept_some(Self self);
  // A client that has been accepted, or waits for a place; false: it has to wait (on).
  Async<bool> serve(Self self, ClientPtr client);
  [[nodiscard]] bool has_place(Client& client);
  void turn_away(int fd, const std::string& words);
  void tell(Self self, const std::string& what);

  std::shared_ptr<const ListenerSetup> setup_;
  Fd fd_;
  ClientPtr waiting_;  // for a place in the budget
  Instant waits_until_{};
  std::optional<Instant> told_at_;
  std::uint64_t untold_ = 0;  // since then
  std::uint64_t accepted_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t failed_ = 0;  // accepts
};

}  // namespace skein::inline v0::net
