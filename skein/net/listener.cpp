#include "skein/net/listener.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "skein/supervision/child.hpp"
#include "skein/supervision/supervisor_api.hpp"

namespace skein::inline v0::net {
namespace {

constexpr int k_accepts_at_once = 64;
constexpr std::size_t k_turned_away_bytes = 16ULL << 10U;
constexpr Duration k_after_failure = std::chrono::milliseconds(100);  // no descriptor is free, say

}  // namespace

Listener::Listener(Self, std::shared_ptr<const ListenerSetup> setup) : setup_(std::move(setup)) {}

Listener::~Listener() {
  if (!fd_) return;
  setup_->poller->forget(fd_.get());
  if (setup_->close) setup_->close();
}

Init Listener::init(Self self) {
  auto fd = setup_->open();
  if (!fd) return Init::stop(ExitReason::custom(fd.error()));
  fd_ = std::move(*fd);
  setup_->poller->arm(fd_.get(), self.pid(), true, false);
  return Init::ok();
}

std::string Listener::describe() const {
  return fmt::format("{}: {} accepted, {} refused, {} failed", setup_->where, accepted_, refused_, failed_);
}

Task<void> Listener::handle_info(Self self, Message message) {
  if (!message.is<FdReady>() && !message.is<Again>()) co_return;
  auto accepting = accept_some(self);
  co_await accepting;
}

void Listener::turn_away(int fd, const std::string& words) {
  ++refused_;
  [[maybe_unused]] const auto sent = ::send(fd, words.data(), words.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  ::shutdown(fd, SHUT_WR);
  // What it has asked already is read: closing with bytes unread would take the words back.
  std::array<char, k_turned_away_bytes> unread{};
  [[maybe_unused]] const auto got = ::recv(fd, unread.data(), unread.size(), MSG_DONTWAIT);
}

Task<void> Listener::accept_some(Self self) {
  for (int i = 0; i < k_accepts_at_once; ++i) {
    auto client = std::make_shared<Fd>(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!*client) {
      if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) break;
      ++failed_;
      self.send_after(k_after_failure, self.pid(), Again{});
      co_return;
    }
    if (auto why_not = setup_->refuse ? setup_->refuse(client->get()) : std::nullopt) {
      turn_away(client->get(), *why_not);
      continue;
    }
    if (setup_->connections->load() >= setup_->connections_max) {
      turn_away(client->get(), setup_->busy);
      continue;
    }
    setup_->connections->fetch_add(1);
    const Pid pool = self.whereis(setup_->pool);
    auto starting = start_pool_child(self, pool, pool_arguments(client), k_call_timeout);
    const StartChildResult started = co_await starting;
    if (started) {
      ++accepted_;
    } else if (started.error().failure != ChildFailure::timeout) {  // one that is late still counts itself out
      setup_->connections->fetch_sub(1);
      turn_away(client->get(), setup_->busy);
    }
  }
  setup_->poller->arm(fd_.get(), self.pid(), true, false);
}

}  // namespace skein::inline v0::net
