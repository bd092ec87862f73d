#include "skein/net/tcp_socket.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

namespace skein::inline v0::net {
namespace {

constexpr int k_keepalive_idle_s = 60;
constexpr int k_keepalive_every_s = 15;
constexpr int k_keepalive_tries = 4;

// The host without brackets, localhost as its number.
std::string plain_host(std::string_view host) {
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return host == "localhost" ? "127.0.0.1" : std::string(host);
}

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

std::expected<Address, std::string> address_of(const HostPort& where) {
  Address address;
  const std::string host = plain_host(where.host);
  auto* const v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
  auto* const v6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
  if (::inet_pton(AF_INET, host.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(where.port);
    address.size = sizeof(sockaddr_in);
  } else if (::inet_pton(AF_INET6, host.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(where.port);
    address.size = sizeof(sockaddr_in6);
  } else {
    return std::unexpected(fmt::format("'{}' is no address: give a number like 127.0.0.1", where.host));
  }
  return address;
}

}  // namespace

std::expected<HostPort, std::string> parse_host_port(std::string_view text) {
  const auto wrong = [&] {
    return std::unexpected(fmt::format("must be HOST:PORT such as \"127.0.0.1:7433\", not \"{}\"", text));
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return wrong();
  HostPort found{std::string(text.substr(0, colon)), 0};
  const std::string_view port = text.substr(colon + 1);
  const auto read = std::from_chars(port.data(), port.data() + port.size(), found.port);
  if (port.empty() || read.ec != std::errc() || read.ptr != port.data() + port.size()) return wrong();
  if (!is_address(found.host) && found.host != "localhost") return wrong();
  return found;
}

std::string host_of(std::string_view authority) {
  const std::size_t bracket = authority.rfind(']');
  const std::size_t colon = authority.rfind(':');
  const bool has_port = colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
  std::string host(has_port ? authority.substr(0, colon) : authority);
  std::ranges::transform(host, host.begin(),
                         [](char each) { return each >= 'A' && each <= 'Z' ? static_cast<char>(each + 32) : each; });
  return host;
}

bool is_port_sound(std::string_view authority) {
  const std::size_t bracket = authority.rfind(']');
  std::string_view rest = authority;
  if (bracket != std::string_view::npos) rest.remove_prefix(bracket + 1);
  const std::size_t colon = rest.find(':');
  if (colon == std::string_view::npos) return bracket == std::string_view::npos || rest.empty();
  if (bracket != std::string_view::npos && colon != 0) return false;
  const std::string_view port = rest.substr(colon + 1);
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  return port.empty() || (error == std::errc() && end == port.data() + port.size() && number <= 65'535);
}

bool is_address(std::string_view host) {
  const bool is_bracketed = host.starts_with('[') && host.ends_with(']');
  const std::string plain(is_bracketed ? host.substr(1, host.size() - 2) : host);
  in_addr v4{};
  in6_addr v6{};
  if (is_bracketed) return ::inet_pton(AF_INET6, plain.c_str(), &v6) == 1;
  return ::inet_pton(AF_INET, plain.c_str(), &v4) == 1;
}

bool is_loopback(std::string_view host) {
  const std::string plain = plain_host(host);
  in_addr v4{};
  if (::inet_pton(AF_INET, plain.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24U) == 127U;
  in6_addr v6{};
  return ::inet_pton(AF_INET6, plain.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6) != 0;
}

std::expected<Fd, std::string> listen_on(const HostPort& where, int backlog) {
  auto address = address_of(where);
  if (!address) return std::unexpected(std::move(address.error()));
  const auto* const name = reinterpret_cast<const sockaddr*>(&address->storage);
  Fd fd(::socket(name->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  const auto failed = [&](const char* what) {
    return std::unexpected(fmt::format("{}:{}: {}: {}", where.host, where.port, what, std::strerror(errno)));
  };
  if (!fd) return failed("no socket");
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  // Connections have these from here. A peer that is gone without a word is noticed after two minutes.
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  ::setsockopt(fd.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_KEEPIDLE, &k_keepalive_idle_s, sizeof(k_keepalive_idle_s));
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_KEEPINTVL, &k_keepalive_every_s, sizeof(k_keepalive_every_s));
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_KEEPCNT, &k_keepalive_tries, sizeof(k_keepalive_tries));
  if (::bind(fd.get(), name, address->size) != 0) return failed("cannot listen there");
  if (::listen(fd.get(), backlog) != 0) return failed("cannot listen there");
  return fd;
}

std::uint16_t port_of(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return 0;
  if (storage.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port);
  return ntohs(reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
}

}  // namespace skein::inline v0::net
