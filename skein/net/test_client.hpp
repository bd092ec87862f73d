// For tests: the client's end of a socket, byte by byte. Every wait is bounded. One thread.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "skein/base/fd.hpp"

namespace skein::inline v0::net {

class TestClient {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds k_patience{10};  // with one that says nothing
  static constexpr std::chrono::seconds k_closing{30};   // with one that may say much before it closes

  explicit TestClient(Fd fd) : fd_(std::move(fd)) {}
  // At a port of this machine. With a small buffer for what comes it is soon slow to read.
  explicit TestClient(std::uint16_t port, int receive_bytes = 0)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_bytes != 0) {
      ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof(receive_bytes));
    }
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)), 0);
  }

  // False: the other side has closed.
  bool send(std::string_view text) const {
    while (!text.empty()) {
      const auto sent = ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  // Sends what fits without waiting and says how much that was.
  std::size_t send_what_fits(std::string_view text) const {
    const auto sent = ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent > 0 ? static_cast<std::size_t>(sent) : 0;
  }
  void half_close() const { ::shutdown(fd_.get(), SHUT_WR); }
  void close() { fd_.reset(); }

  // Everything up to the end of `mark`; what came when the other side closed or was silent.
  std::string until(std::string_view mark) {
    while (true) {
      if (const auto at = in_.find(mark); at != std::string::npos) return taken(at + mark.size());
      if (!fill(Clock::now() + k_patience)) return std::exchange(in_, {});
    }
  }
  std::string bytes(std::size_t count) {
    while (in_.size() < count && fill(Clock::now() + k_patience)) continue;
    return taken(std::min(count, in_.size()));
  }
  // True when the other side has closed, once everything it said is read.
  bool is_closed(std::chrono::milliseconds time = k_closing) {
    const auto end = Clock::now() + time;
    while (fill(end)) in_.clear();
    return is_closed_;
  }

 protected:
  // Reads what is there, or comes before `end`.
  bool fill(Clock::time_point end) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd poll{fd_.get(), POLLIN, 0};
    if (is_closed_ || left <= 0 || ::poll(&poll, 1, static_cast<int>(left)) <= 0) return false;
    char buffer[1 << 16];
    const auto got = ::recv(fd_.get(), buffer, sizeof(buffer), 0);
    is_closed_ = got <= 0;
    if (got > 0) in_.append(buffer, static_cast<std::size_t>(got));
    return got > 0;
  }
  std::string taken(std::size_t count) {
    std::string text = in_.substr(0, count);
    in_.erase(0, count);
    return text;
  }

  Fd fd_;
  std::string in_;
  bool is_closed_ = false;
};

}  // namespace skein::inline v0::net
