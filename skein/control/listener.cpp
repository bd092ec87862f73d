#include "skein/control/listener.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "skein/control/unix_socket.hpp"
#include "skein/supervision/child.hpp"
#include "skein/supervision/supervisor_api.hpp"

namespace skein::inline v0::control {
namespace {

constexpr int k_backlog = 128;
constexpr int k_accepts_at_once = 64;
constexpr Duration k_after_failure = std::chrono::milliseconds(100);  // no descriptor is free, say
constexpr Duration k_connection_shutdown = std::chrono::seconds(30);

}  // namespace

Listener::Listener(Self, std::shared_ptr<const ListenerSetup> setup) : setup_(std::move(setup)) {}

Listener::~Listener() {
  if (!fd_) return;
  setup_->connections->poller->forget(fd_.get());
  ::unlink(setup_->path.c_str());
}

Init Listener::init(Self self) {
  auto fd = listen_at(setup_->path, k_backlog);
  if (!fd) return Init::stop(ExitReason::custom(fd.error()));
  fd_ = std::move(*fd);
  setup_->connections->poller->arm(fd_.get(), self.pid(), true, false);
  return Init::ok();
}

std::string Listener::describe() const {
  return fmt::format("{}: {} accepted, {} refused", setup_->path, accepted_, refused_);
}

Task<void> Listener::handle_info(Self self, Message message) {
  if (!message.is<FdReady>() && !message.is<Again>()) co_return;
  auto accepting = accept_some(self);
  co_await accepting;
}

void Listener::turn_away(int fd, const operations::Error& why) {
  ++refused_;
  const std::string line = fmt::format("{{\"id\":0,\"error\":{}}}\n", operations::json_text(operations::to_json(why)));
  [[maybe_unused]] const auto sent = ::send(fd, line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

Task<void> Listener::accept_some(Self self) {
  const ConnectionSetup& shared = *setup_->connections;
  for (int i = 0; i < k_accepts_at_once; ++i) {
    auto client = std::make_shared<Fd>(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!*client) {
      if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) break;
      self.send_after(k_after_failure, self.pid(), Again{});
      co_return;
    }
    const auto peer = peer_of(client->get());
    if (!peer || (peer->uid != ::geteuid() && peer->uid != 0)) {
      turn_away(client->get(), operations::invalid("this node serves its own user only", "run skein as that user"));
      continue;
    }
    if (shared.open->load() >= shared.limits.connections) {
      turn_away(client->get(), operations::overloaded("too many connections"));
      continue;
    }
    shared.open->fetch_add(1);
    const Pid pool = self.whereis(k_connections_name);
    auto starting = start_pool_child(self, pool, pool_arguments(client), k_call_timeout);
    const StartChildResult started = co_await starting;
    if (started) {
      ++accepted_;
    } else {
      shared.open->fetch_sub(1);
      turn_away(client->get(), operations::overloaded("no process could be started"));
    }
  }
  shared.poller->arm(fd_.get(), self.pid(), true, false);
}

ChildSpec connection_template(std::shared_ptr<const ConnectionSetup> setup) {
  return pool_child<Connection, std::shared_ptr<Fd>>("connection", std::move(setup))
      .with(Restart::temporary)
      .with(Shutdown::after(k_connection_shutdown));
}

}  // namespace skein::inline v0::control
