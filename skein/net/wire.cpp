#include "skein/net/wire.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace skein::inline v0::net {

Wire::~Wire() {
  poller_->forget(client_->fd.get());
  client_->fd.reset();
  client_->place = {};
}

void Wire::make_room_by(Pid to) {
  client_->place.when_to_go([poller = std::weak_ptr(poller_), to] {
    if (const auto alive = poller.lock()) alive->tell(to, MakeRoom{});
  });
}

Wire::Got Wire::read_some() {
  // Each thread's own: what comes is mostly short, and a buffer for each read would be cleared for nothing.
  static thread_local std::array<char, k_read_bytes> buffer;
  while (true) {
    const auto got = ::recv(client_->fd.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got > 0) {
      in_.append(buffer.data(), static_cast<std::size_t>(got));
      return Got::bytes;
    }
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return Got::nothing;
    has_ended_ = true;
    return Got::end;
  }
}

void Wire::consume(std::size_t count) {
  in_.erase(0, count);
  if (in_.empty()) {
    in_ = {};  // an idle connection holds no buffer
  } else if (in_.capacity() > k_kept_bytes && in_.size() < k_read_bytes) {
    in_.shrink_to_fit();
  }
}

bool Wire::write_some() {
  while (unsent() > 0) {
    const auto sent = ::send(client_->fd.get(), out_.data() + out_at_, unsent(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) break;
    if (sent <= 0) {
      drop_unsent();
      return false;
    }
    out_at_ += static_cast<std::size_t>(sent);
  }
  if (out_at_ == out_.size()) {
    drop_unsent();
  } else if (out_at_ > k_write_chunk) {
    out_.erase(0, out_at_);
    out_at_ = 0;
  }
  return true;
}

void Wire::drop_unsent() {
  if (out_.capacity() > k_kept_bytes) {
    out_ = {};
  } else {
    out_.clear();
  }
  out_at_ = 0;
}

void Wire::end_output() { ::shutdown(client_->fd.get(), SHUT_WR); }

}  // namespace skein::inline v0::net
