// A node's HTTP address as a NodeLink: MCP in a WebSocket, see docs/mcp.md.
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <random>
#include <utility>

#include "cli/node_link.hpp"
#include "skein/net/tcp_socket.hpp"
#include "skein/net/websocket_client.hpp"

namespace skein::cli {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto k_remote_connect_limit = 5s;  // from the first byte to a WebSocket that is open
constexpr std::size_t k_remote_read_bytes = 64ULL << 10U;

struct RemotePlace {
  std::string host;  // without brackets
  std::string port;
  std::string authority;  // as the header Host has it
  std::string path;       // of the WebSocket
};

std::expected<RemotePlace, std::string> place_of(std::string_view url) {
  if (url.starts_with("https://") || url.starts_with("wss://")) {
    return std::unexpected(
        "TLS is not supported yet: give an http:// address, through an SSH tunnel for a remote machine");
  }
  for (const std::string_view scheme : {"http://", "ws://"}) {
    if (!url.starts_with(scheme)) continue;
    url.remove_prefix(scheme.size());
    const std::size_t slash = std::min(url.find('/'), url.size());
    RemotePlace place;
    place.authority = url.substr(0, slash);
    std::string_view path = url.substr(slash);
    while (path.ends_with('/')) path.remove_suffix(1);
    if (path.ends_with("/ws")) path.remove_suffix(3);
    place.path = std::string(path.empty() ? "/mcp" : path) + "/ws";
    place.host = net::host_of(place.authority);
    if (place.host.starts_with('[') && place.host.ends_with(']'))
      place.host = place.host.substr(1, place.host.size() - 2);
    const std::size_t colon = place.authority.rfind(':');
    const bool has_port = colon != std::string::npos && place.authority.find(']', colon) == std::string::npos;
    place.port = has_port ? place.authority.substr(colon + 1) : "7433";
    if (place.host.empty() || place.port.empty() || !net::is_port_sound(place.authority)) break;
    return place;
  }
  return std::unexpected(std::string("give an address such as http://127.0.0.1:7433"));
}

int milliseconds_left(Clock::time_point until) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
  return left > 0 ? static_cast<int>(left) : 0;
}

// False: not in time.
bool wait_for(int fd, short what, Clock::time_point until) {
  while (true) {
    pollfd one{fd, what, 0};
    const int ready = ::poll(&one, 1, milliseconds_left(until));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

std::expected<Fd, std::string> connect_tcp(const RemotePlace& place, Clock::time_point until) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(place.host.c_str(), place.port.c_str(), &hints, &found); error != 0) {
    return std::unexpected(fmt::format("{}: {}", place.host, ::gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, ::freeaddrinfo);
  std::string why = "no server is listening there";
  for (const addrinfo* each = all.get(); each != nullptr; each = each->ai_next) {
    Fd fd(::socket(each->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd) continue;
    const int on = 1;
    ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    int error = ::connect(fd.get(), each->ai_addr, each->ai_addrlen) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
      socklen_t size = sizeof(error);
      error = ETIMEDOUT;
      if (wait_for(fd.get(), POLLOUT, until)) ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    }
    if (error == 0) return fd;
    why = std::strerror(error);
  }
  return std::unexpected(fmt::format("{}: {}", place.authority, why));
}

std::uint64_t random_bits() {
  static std::random_device device;
  return (std::uint64_t{device()} << 32U) | device();
}

class WebSocketLink final : public NodeLink {
 public:
  explicit WebSocketLink(Fd socket) : socket_(std::move(socket)), codec_(random_bits) {}

  [[nodiscard]] int fd() const override { return socket_.get(); }
  void put(std::string_view message) override {
    if (codec_.is_open()) out_ += codec_.frame(message);
  }
  [[nodiscard]] bool read_some(std::vector<std::string>& messages) override {
    std::array<char, k_remote_read_bytes> bytes{};
    const auto got = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0) return errno == EINTR || errno == EAGAIN;
    if (got == 0) return false;
    codec_.receive({bytes.data(), static_cast<std::size_t>(got)}, messages, out_);
    return !codec_.is_over();
  }
  void finish() override {
    if (codec_.is_open()) out_ += codec_.close();
  }
  [[nodiscard]] bool answers_after_finish() const override { return false; }
  [[nodiscard]] std::string why_closed() const override { return codec_.close_reason(); }

  // Until it is open; why not.
  std::optional<NoLink> begin(const RemotePlace& place, const std::string& token, Clock::time_point until) {
    net::WebSocketClient::Headers more;
    if (!token.empty()) more.emplace_back("Authorization", "Bearer " + token);
    out_ += codec_.request(place.authority, place.path, more);
    std::vector<std::string> early;
    while (!codec_.is_open()) {
      if (!write_some()) return NoLink{.why = place.authority + " closed the connection"};
      if (!wait_for(fd(), POLLIN, until)) return NoLink{.why = place.authority + " did not answer in time"};
      if (read_some(early)) continue;
      const std::string why = codec_.why().empty() ? "the connection was closed" : codec_.why();
      const int status = codec_.refused_with();
      return NoLink{.why = fmt::format("{}: {}", place.authority, why),
                    .is_final = status >= 400 && status < 500 && status != 429};
    }
    return std::nullopt;
  }

 private:
  Fd socket_;
  net::WebSocketClient codec_;
};

}  // namespace

std::string url_problem(const std::string& url) {
  const auto place = place_of(url);
  return place ? std::string() : place.error();
}

LinkResult connect_by_url(const std::string& url, const std::string& token) {
  const auto until = Clock::now() + k_remote_connect_limit;
  const auto place = place_of(url);
  if (!place) return std::unexpected(NoLink{.why = place.error(), .is_final = true});
  auto socket = connect_tcp(*place, until);
  if (!socket) return std::unexpected(NoLink{.why = std::move(socket.error())});
  auto link = std::make_unique<WebSocketLink>(std::move(*socket));
  if (auto why = link->begin(*place, token, until)) return std::unexpected(std::move(*why));
  return link;
}

}  // namespace skein::cli
