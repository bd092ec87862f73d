#include "skein/node/listen_place.hpp"

#include <fmt/format.h>

#include <utility>

namespace skein::inline v0::node {
namespace {

constexpr int k_listen_backlog = 1024;

}  // namespace

std::expected<void, std::string> ListenPlace::open(const std::string& address) {
  auto where = net::parse_host_port(address);
  if (!where) return std::unexpected(std::move(where.error()));
  auto fd = net::listen_on(*where, k_listen_backlog);
  if (!fd) return std::unexpected(std::move(fd.error()));
  where->port = net::port_of(fd->get());
  const std::scoped_lock lock(mutex_);
  where_ = std::move(*where);
  early_ = std::move(*fd);
  return {};
}

std::expected<Fd, std::string> ListenPlace::take() {
  const std::scoped_lock lock(mutex_);
  if (early_) return std::exchange(early_, Fd());
  return net::listen_on(where_, k_listen_backlog);
}

std::uint16_t ListenPlace::port() const {
  const std::scoped_lock lock(mutex_);
  return where_.port;
}

std::string ListenPlace::address() const {
  const std::scoped_lock lock(mutex_);
  return fmt::format("{}:{}", where_.host, where_.port);
}

}  // namespace skein::inline v0::node
