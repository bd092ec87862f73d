#include "skein/net/listener.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "skein/supervision/child.hpp"
#include "skein/supervision/supervisor_api.hpp"

namespace skein::inline v0::net {
namespace {

constexpr int k_accepts_at_once = 64;
constexpr std::size_t k_turned_away_bytes = 16ULL << 10U;
constexpr Duration k_after_failure = std::chrono::milliseconds(100);  // no descriptor is free, say
constexpr Duration k_place_look = std::chrono::milliseconds(5);       // whether a place has become free
constexpr Duration k_place_wait = std::chrono::seconds(2);            // then the client is turned away
constexpr Duration k_tell_every = std::chrono::seconds(10);

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

Async<void> Listener::handle_info(Self self, Message message) {
  if (!message.is<FdReady>() && !message.is<Again>()) co_return;
  auto accepting = accept_some(self);
  co_await accepting;
}

void Listener::turn_away(int fd, const std::string& words) {
  ++refused_;
  if (setup_->on_refused) setup_->on_refused(setup_->where, words);
  [[maybe_unused]] const auto sent = ::send(fd, words.data(), words.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  ::shutdown(fd, SHUT_WR);
  // What it has asked already is read: closing with bytes unread would take the words back.
  std::array<char, k_turned_away_bytes> unread{};
  [[maybe_unused]] const auto got = ::recv(fd, unread.data(), unread.size(), MSG_DONTWAIT);
}

bool Listener::has_place(Client& client) {
  if (!setup_->budget) return true;
  client.place = setup_->admits_strangers ? setup_->budget->admit_stranger() : setup_->budget->admit_member();
  return static_cast<bool>(client.place);
}

void Listener::tell(Self self, const std::string& what) {
  if (!setup_->log) return;
  const bool is_too_soon = told_at_ && between(*told_at_, self.now()) < k_tell_every;
  if (is_too_soon) {
    ++untold_;
    return;
  }
  told_at_ = self.now();
  const auto untold = std::exchange(untold_, 0);
  setup_->log(untold == 0 ? fmt::format("{}: {}", setup_->where, what)
                          : fmt::format("{}: {} ({} more since it was last said)", setup_->where, what, untold));
}

Async<bool> Listener::serve(Self self, ClientPtr client) {
  if (!has_place(*client)) {
    if (waiting_ == nullptr) {
      waits_until_ = later(self.now(), k_place_wait);
      waiting_ = std::move(client);
    } else if (self.now() >= waits_until_) {
      tell(self, "no descriptor is left for a further client (ulimit -n)");
      turn_away(client->fd.get(), setup_->busy);
      waiting_ = nullptr;
      co_return true;
    }
    co_return false;
  }
  waiting_ = nullptr;
  setup_->connections->fetch_add(1);
  const Pid pool = self.whereis(setup_->pool);
  auto starting = start_pool_child(self, pool, pool_arguments(client), k_call_timeout);
  const StartChildResult started = co_await starting;
  if (started) {
    ++accepted_;
    if (setup_->on_accepted) setup_->on_accepted(setup_->where);
  } else if (started.error().failure != ChildFailure::timeout) {  // one that is late still counts itself out
    setup_->connections->fetch_sub(1);
    tell(self, "a connection could not be started: " + started.error().text());
    turn_away(client->fd.get(), setup_->busy);
  }
  co_return true;
}

Async<void> Listener::accept_some(Self self) {
  if (waiting_ != nullptr) {
    auto serving = serve(self, waiting_);
    const bool is_served = co_await serving;
    if (!is_served) {
      self.send_after(k_place_look, self.pid(), Again{});
      co_return;
    }
  }
  for (int i = 0; i < k_accepts_at_once; ++i) {
    auto client = std::make_shared<Client>(Fd(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)));
    if (!client->fd) {
      if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) break;
      ++failed_;
      tell(self, fmt::format("a client could not be accepted: {}", std::strerror(errno)));
      self.send_after(k_after_failure, self.pid(), Again{});
      co_return;
    }
    if (auto why_not = setup_->refuse ? setup_->refuse(*client) : std::nullopt) {
      turn_away(client->fd.get(), *why_not);
      continue;
    }
    if (setup_->connections->load() >= setup_->connections_max) {
      tell(self, fmt::format("a client is one too many: {} are connected", setup_->connections_max));
      turn_away(client->fd.get(), setup_->busy);
      continue;
    }
    auto serving = serve(self, std::move(client));
    const bool is_served = co_await serving;
    if (!is_served) {
      self.send_after(k_place_look, self.pid(), Again{});
      co_return;
    }
  }
  setup_->poller->arm(fd_.get(), self.pid(), true, false);
}

}  // namespace skein::inline v0::net
