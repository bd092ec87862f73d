#include "skein/control/unix_socket.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

namespace skein::inline v0::control {
namespace {

std::string reason() { return std::strerror(errno); }

// A path longer than sun_path is reached through its folder's descriptor, which must stay open meanwhile.
struct Address {
  sockaddr_un raw{};
  Fd folder;
};

std::expected<Address, std::string> address_of(const std::string& path) {
  Address address;
  address.raw.sun_family = AF_UNIX;
  std::string used = path;
  if (used.size() >= sizeof(address.raw.sun_path)) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return std::unexpected(fmt::format("{}: the path is too long", path));
    address.folder = Fd(::open(path.substr(0, slash).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!address.folder) return std::unexpected(fmt::format("{}: {}", path, reason()));
    used = fmt::format("/proc/self/fd/{}/{}", address.folder.get(), path.substr(slash + 1));
  }
  if (used.size() >= sizeof(address.raw.sun_path)) {
    return std::unexpected(fmt::format("{}: the path is too long", path));
  }
  std::memcpy(address.raw.sun_path, used.c_str(), used.size() + 1);
  return address;
}

const sockaddr* raw(const Address& address) { return reinterpret_cast<const sockaddr*>(&address.raw); }

}  // namespace

std::expected<Fd, ConnectError> connect_to(const std::string& path, std::chrono::milliseconds timeout) {
  const auto address = address_of(path);
  if (!address) return std::unexpected(ConnectError{ConnectFailure::other, address.error()});
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return std::unexpected(ConnectError{ConnectFailure::other, reason()});
  // A connect to a listener whose queue is full waits as a send does; none means without end.
  const auto patience = std::max(timeout, std::chrono::milliseconds(1));
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience);
  timeval limit{};
  limit.tv_sec = static_cast<time_t>(seconds.count());
  limit.tv_usec = static_cast<suseconds_t>(std::chrono::microseconds(patience - seconds).count());
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  if (::connect(fd.get(), raw(*address), sizeof(address->raw)) == 0) {
    const timeval none{};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &none, sizeof(none));
    return fd;
  }
  auto failure = ConnectFailure::other;
  if (errno == EAGAIN) failure = ConnectFailure::timeout;
  if (errno == ENOENT || errno == ENOTDIR) failure = ConnectFailure::nobody;
  if (errno == ECONNREFUSED) failure = ConnectFailure::refused;
  return std::unexpected(ConnectError{failure, fmt::format("{}: {}", path, reason())});
}

std::expected<Fd, std::string> listen_at(const std::string& path, int backlog) {
  const auto there = connect_to(path);
  if (there) return std::unexpected(fmt::format("{}: somebody listens there already; is another node running?", path));
  if (there.error().failure == ConnectFailure::refused) ::unlink(path.c_str());

  const auto address = address_of(path);
  if (!address) return std::unexpected(address.error());
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return std::unexpected(fmt::format("{}: {}", path, reason()));
  // Before bind, so that there is no moment in which others could connect.
  if (::fchmod(fd.get(), S_IRUSR | S_IWUSR) != 0 || ::bind(fd.get(), raw(*address), sizeof(address->raw)) != 0 ||
      ::chmod(path.c_str(), S_IRUSR | S_IWUSR) != 0 || ::listen(fd.get(), backlog) != 0) {
    return std::unexpected(fmt::format("{}: {}; may this user write to the folder?", path, reason()));
  }
  return fd;
}

std::optional<Peer> peer_of(int fd) {
  ucred credentials{};
  socklen_t length = sizeof(credentials);
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return std::nullopt;
  return Peer{credentials.uid, credentials.pid};
}

}  // namespace skein::inline v0::control
