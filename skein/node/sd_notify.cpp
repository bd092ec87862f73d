#include "skein/node/sd_notify.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "skein/base/fd.hpp"

namespace skein::inline v0::node {

bool sd_notify(const std::string& state, NotifyWait wait) {
  const char* path = std::getenv("NOTIFY_SOCKET");
  if (path == nullptr || (path[0] != '/' && path[0] != '@')) return false;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t length = std::strlen(path);
  if (length >= sizeof(address.sun_path)) return false;
  std::memcpy(address.sun_path, path, length);
  if (path[0] == '@') address.sun_path[0] = '\0';  // an abstract socket
  const Fd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd) return false;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  const int flags = MSG_NOSIGNAL | (wait == NotifyWait::forbidden ? MSG_DONTWAIT : 0);
  return ::sendto(fd.get(), state.data(), state.size(), flags, reinterpret_cast<const sockaddr*>(&address), size) >= 0;
}

std::optional<Duration> sd_watchdog() {
  const char* given = std::getenv("WATCHDOG_USEC");
  const char* pid = std::getenv("WATCHDOG_PID");
  if (given == nullptr || (pid != nullptr && std::string_view(pid) != std::to_string(::getpid()))) return std::nullopt;
  const std::string_view text(given);
  std::int64_t microseconds = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), microseconds);
  if (error != std::errc() || microseconds <= 0) return std::nullopt;
  return std::chrono::microseconds(microseconds);
}

}  // namespace skein::inline v0::node
