#include "skein/launcher/launcher.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <system_error>

#include "skein/launcher/control_group.hpp"
#include "skein/launcher/role.hpp"
#include "skein/launcher/wire.hpp"

namespace skein::inline v0::launcher {

namespace {

constexpr const char* k_all_gone =
    "no launcher is left to start OS processes (guard and launcher were both killed); restart the program";

std::atomic<Launcher*> the_launcher{nullptr};

#if defined(__SANITIZE_THREAD__)
constexpr std::ptrdiff_t k_threads_at_start = 2;  // the sanitizer has one of its own
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
constexpr std::ptrdiff_t k_threads_at_start = 2;
#else
constexpr std::ptrdiff_t k_threads_at_start = 1;
#endif
#else
constexpr std::ptrdiff_t k_threads_at_start = 1;
#endif

std::ptrdiff_t count_threads() {
  std::error_code error;
  const std::filesystem::directory_iterator tasks("/proc/self/task", error);
  return error ? 1 : std::distance(begin(tasks), end(tasks));
}

}  // namespace

Launcher* Launcher::here() { return the_launcher.load(std::memory_order_acquire); }

Launcher& Launcher::fork_early() {
  if (Launcher* made = here()) return *made;
  if (count_threads() > k_threads_at_start) {
    throw std::logic_error("Launcher::fork_early() must come before any thread: call it first thing in main");
  }
  auto pair = packet_pair();
  if (!pair) throw std::system_error(pair.error(), std::generic_category(), "launcher: no socket pair");
  // Found before the fork, so that all below know it.
  NodeGroup::here();
  const pid_t pid = ::fork();
  if (pid < 0) throw std::system_error(errno, std::generic_category(), "launcher: cannot fork the guard");
  if (pid == 0) run_guard(std::move(pair->second));
  // Never freed: it is needed until the program ends, in whatever order that takes things down.
  auto* made = new Launcher(std::move(pair->first), pid);
  the_launcher.store(made, std::memory_order_release);
  return *made;
}

std::expected<Launcher::Line, std::string> Launcher::start() {
  const std::scoped_lock lock(mutex_);
  if (!send_packet(guard_.get(), Kind::ask_launcher, {})) return std::unexpected(k_all_gone);
  pollfd wait{guard_.get(), POLLIN, 0};
  if (::poll(&wait, 1, k_answer_ms) <= 0) {
    return std::unexpected(fmt::format("the guard (process {}) did not start a launcher within {} ms; is it stopped?",
                                       guard_pid_.load(), k_answer_ms));
  }
  Packet packet;
  if (receive_packet(guard_.get(), packet) != Got::packet) return std::unexpected(k_all_gone);
  if (packet.kind == Kind::failed) {
    return std::unexpected(fmt::format("the guard cannot fork a launcher: {}", packet.body));
  }
  if (packet.fds.size() < 2) {
    return std::unexpected("no file descriptors left for a launcher; raise the limit on open files (ulimit -n)");
  }
  return Line{std::move(packet.fds[0]), std::move(packet.fds[1]), static_cast<pid_t>(decode_number(packet.body))};
}

Launcher::Watch Launcher::watch_guard() {
  const std::scoped_lock lock(mutex_);
  return {Fd(::fcntl(guard_.get(), F_DUPFD_CLOEXEC, 3)), generation_};
}

void Launcher::replace_guard(std::uint64_t generation, Fd socket, pid_t pid) {
  const std::scoped_lock lock(mutex_);
  if (generation != generation_) return;
  guard_ = std::move(socket);
  guard_pid_ = pid;
  ++generation_;
  if (own_child_ > 0) ::waitpid(std::exchange(own_child_, 0), nullptr, WNOHANG);
}

}  // namespace skein::inline v0::launcher
