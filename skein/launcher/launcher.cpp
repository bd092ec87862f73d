#include "skein/launcher/launcher.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "skein/launcher/control_group.hpp"
#include "skein/launcher/guard_program.hpp"
#include "skein/launcher/kinship.hpp"
#include "skein/launcher/wire.hpp"

namespace skein::inline v0::launcher {

namespace {

constexpr int k_guards_tried = 2;

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

// A connection or a lock on a number that is missing would be taken for stdin or stdout, by us and by helpers.
void open_missing_standard_fds() {
  int fd = 0;
  while (fd >= 0 && fd <= STDERR_FILENO) fd = ::open("/dev/null", O_RDWR);
  if (fd >= 0) ::close(fd);
}

}  // namespace

Launcher* Launcher::here() { return the_launcher.load(std::memory_order_acquire); }

Launcher& Launcher::fork_early() {
  if (Launcher* made = here()) return *made;
  if (count_threads() > k_threads_at_start) {
    throw std::logic_error("Launcher::fork_early() must come before any thread: call it first thing in main");
  }
  open_missing_standard_fds();
  // Found before the guard is made, so that all below know it.
  NodeGroup::here();
  // Never freed: it is needed until the program ends, in whatever order that takes things down.
  auto made = std::unique_ptr<Launcher>(new Launcher);
  ::getrlimit(RLIMIT_NOFILE, &made->open_files_);
  if (const auto up = made->renew_guard(0); !up) {
    throw std::runtime_error("launcher: " + up.error());
  }
  the_launcher.store(made.get(), std::memory_order_release);
  return *made.release();
}

std::expected<void, std::string> Launcher::renew_guard(std::uint64_t generation) {
  const std::scoped_lock lock(mutex_);
  if (generation != generation_) return {};
  return renew();
}

std::expected<void, std::string> Launcher::renew() {
  end_guard();
  auto made = start_guard_program(open_files_);
  if (!made) {
    return std::unexpected(
        fmt::format("cannot start the guard: {}; give the node's user more processes, memory or "
                    "open files (ulimit -u, -n)",
                    std::strerror(made.error())));
  }
  guard_ = std::move(made->socket);
  guard_pidfd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, made->pid, 0)));
  guard_pid_ = made->pid;
  add_helper(made->pid);
  ++generation_;
  return {};
}

// By its pidfd: the program around us may have reaped it, and its number may mean another.
void Launcher::end_guard() {
  guard_.reset();
  if (guard_pidfd_) {
    ::syscall(SYS_pidfd_send_signal, guard_pidfd_.get(), SIGKILL, nullptr, 0);
    siginfo_t info{};
    while (::waitid(P_PIDFD, static_cast<id_t>(guard_pidfd_.get()), &info, WEXITED) < 0 && errno == EINTR) continue;
    guard_pidfd_.reset();
  }
  remove_helper(guard_pid_.exchange(0));
}

bool Launcher::wait_for_answer() const {
  pollfd wait{guard_.get(), POLLIN, 0};
  if (::poll(&wait, 1, k_stopped_ms) > 0) return true;
  if (guard_pidfd_) ::syscall(SYS_pidfd_send_signal, guard_pidfd_.get(), SIGCONT, nullptr, 0);
  return ::poll(&wait, 1, k_answer_ms - k_stopped_ms) > 0;
}

std::expected<Launcher::Line, Launcher::Refusal> Launcher::ask() {
  if (!guard_ || !send_packet(guard_.get(), Kind::ask_launcher, {})) {
    return std::unexpected(Refusal{"the guard was killed", true});
  }
  if (!wait_for_answer()) {
    return std::unexpected(Refusal{
        fmt::format("the guard (process {}) does not answer within {} ms", guard_pid_.load(), k_answer_ms), true});
  }
  Packet packet;
  if (receive_packet(guard_.get(), packet) != Got::packet) {
    return std::unexpected(Refusal{"the guard was killed while it started a launcher", true});
  }
  if (packet.kind == Kind::failed) {
    return std::unexpected(Refusal{fmt::format(
        "the guard cannot fork a launcher: {}; give the node's user more processes or memory", packet.body)});
  }
  if (packet.fds.size() < 2) {
    return std::unexpected(
        Refusal{"no file descriptors left for a launcher; raise the limit on open files (ulimit -n)"});
  }
  return Line{std::move(packet.fds[0]), std::move(packet.fds[1]), static_cast<pid_t>(decode_number(packet.body)),
              guard_pid_};
}

std::expected<Launcher::Line, std::string> Launcher::start() {
  const std::scoped_lock lock(mutex_);
  std::string why;
  for (int tried = 0; tried < k_guards_tried; ++tried) {
    auto line = ask();
    if (line) return std::move(*line);
    why = std::move(line.error().why);
    if (!line.error().is_gone) break;
    if (auto renewed = renew(); !renewed) return std::unexpected(std::move(renewed.error()));
  }
  return std::unexpected(std::move(why));
}

Launcher::Watch Launcher::watch_guard() {
  const std::scoped_lock lock(mutex_);
  return {Fd(guard_ ? ::fcntl(guard_.get(), F_DUPFD_CLOEXEC, 3) : -1), generation_};
}

}  // namespace skein::inline v0::launcher
