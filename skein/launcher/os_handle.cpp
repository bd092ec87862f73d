#include "skein/launcher/os_handle.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <string_view>
#include <utility>

namespace skein::inline v0::launcher {

namespace {

// A pipe whose reader is gone raises SIGPIPE in the thread that writes; a library must neither die of it nor change
// what the program around it does with that signal.
class NoSigpipe {
 public:
  NoSigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoSigpipe() {
    if (sigismember(&before_, SIGPIPE) == 1) return;
    if (raised_) {
      const timespec none{0, 0};
      ::sigtimedwait(&pipe_, nullptr, &none);
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoSigpipe(const NoSigpipe&) = delete;
  NoSigpipe& operator=(const NoSigpipe&) = delete;
  void raised() { raised_ = true; }

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool raised_ = false;
};

// Writes what the pipe takes of `bytes` and returns how much; broken when nobody can read it.
std::pair<std::size_t, WriteResult> write_some(int fd, std::string_view bytes) {
  NoSigpipe guard;
  std::size_t taken = 0;
  while (taken < bytes.size()) {
    const ssize_t wrote = ::write(fd, bytes.data() + taken, bytes.size() - taken);
    if (wrote >= 0) {
      taken += static_cast<std::size_t>(wrote);
    } else if (errno == EAGAIN) {
      return {taken, WriteResult::some};
    } else if (errno != EINTR) {
      guard.raised();
      return {taken, WriteResult::broken};
    }
  }
  return {taken, WriteResult::all};
}

}  // namespace

void TailBuffer::add(const char* bytes, std::size_t count) {
  total_ += count;
  if (count >= bytes_max_) {
    bytes_.assign(bytes + (count - bytes_max_), bytes_max_);
    return;
  }
  if (bytes_.size() + count > 2 * bytes_max_) bytes_.erase(0, bytes_.size() + count - bytes_max_);
  bytes_.append(bytes, count);
}

std::string TailBuffer::text(std::uint64_t from) const {
  const std::uint64_t newer = total_ - std::min(from, total_);
  const auto kept = static_cast<std::size_t>(std::min<std::uint64_t>(newer, std::min(bytes_.size(), bytes_max_)));
  return bytes_.substr(bytes_.size() - kept);
}

bool OsHandle::write(std::string bytes) {
  if (stdin_closed || stdin_closing || exited || bytes.size() > spec.stdin_bytes_max - queued) return false;
  if (bytes.empty()) return true;
  queued += bytes.size();
  queue.push_back(std::move(bytes));
  if (stdin_end && queue.size() == 1) flush();
  return !stdin_closed;
}

void OsHandle::flush() {
  while (stdin_end && !queue.empty()) {
    const auto [taken, result] = write_some(stdin_end.get(), std::string_view(queue.front()).substr(front_taken));
    front_taken += taken;
    queued -= taken;
    if (result == WriteResult::some) return;
    if (result == WriteResult::broken) {
      stdin_closing = true;
      queue.clear();
      queued = 0;
    } else {
      queue.pop_front();
    }
    front_taken = 0;
  }
  if (stdin_end && stdin_closing) {
    stdin_end.reset();
    stdin_closed = true;
  }
}

}  // namespace skein::inline v0::launcher
