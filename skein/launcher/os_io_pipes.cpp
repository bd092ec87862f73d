// How OsIo reads the pipes of OS processes, and how it brings one to its end.
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "skein/launcher/os_io.hpp"

namespace skein::inline v0::launcher {

namespace {

constexpr std::size_t k_read_bytes = std::size_t{64} << 10U;
// What is still read after the end: the most a pipe can hold by default limits (pipe-max-size).
constexpr std::size_t k_last_bytes_max = std::size_t{1} << 20U;
// How long what a process left behind may take to die and let go of the pipes.
constexpr std::chrono::milliseconds k_drain_wait{500};

// Bytes read; 0 at the end, -1 when there is nothing at the moment.
ssize_t read_some(int fd, std::array<char, k_read_bytes>& buffer, std::size_t most) {
  for (;;) {
    const ssize_t got = ::read(fd, buffer.data(), std::min(most, buffer.size()));
    if (got >= 0) return got;
    if (errno == EAGAIN) return -1;
    if (errno != EINTR) return 0;
  }
}

std::array<char, k_read_bytes>& read_buffer() {
  thread_local std::array<char, k_read_bytes> buffer;
  return buffer;
}

// Reads all there is. Only the IO thread opens and closes that pipe, under the mutex; any holder of the mutex may read.
void read_stderr_now(OsHandle& handle) {
  for (std::size_t left = k_last_bytes_max; handle.stderr_end && left > 0;) {
    const ssize_t got = read_some(handle.stderr_end.get(), read_buffer(), left);
    if (got <= 0) break;
    left -= static_cast<std::size_t>(got);
    handle.stderr_tail.add(read_buffer().data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

void OsIo::read_stdout(OsHandle& handle) {
  std::string bytes;
  {
    const std::scoped_lock lock(handle.mutex);
    if (!handle.stdout_end || handle.paused) return;
    const std::size_t window = std::max<std::size_t>(handle.spec.stdout_window, 1);
    const std::size_t room = window - std::min(window, handle.unconsumed);
    const ssize_t got = room == 0 ? -1 : read_some(handle.stdout_end.get(), read_buffer(), room);
    if (got > 0) {
      bytes.assign(read_buffer().data(), static_cast<std::size_t>(got));
      handle.unconsumed += bytes.size();
    }
    if (handle.unconsumed >= window) {
      // Removed from epoll altogether: a watched descriptor would keep reporting a hang-up.
      ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, handle.stdout_end.get(), nullptr);
      handle.paused = true;
    }
    if (got == 0) handle.stdout_end.reset();
  }
  if (!bytes.empty()) {
    runtime_.notify(handle.owner, OsOutput{handle.id, std::move(bytes)});
  } else if (!handle.stdout_end) {
    end_stdout(handle);
  }
}

void OsIo::end_stdout(OsHandle& handle) {
  if (std::exchange(handle.output_ended, true)) return;
  runtime_.notify(handle.owner, OsOutputEnd{handle.id});
}

void OsIo::read_stderr(OsHandle& handle) {
  const std::scoped_lock lock(handle.mutex);
  if (!handle.stderr_end) return;
  const ssize_t got = read_some(handle.stderr_end.get(), read_buffer(), k_read_bytes);
  if (got > 0) handle.stderr_tail.add(read_buffer().data(), static_cast<std::size_t>(got));
  if (got == 0) handle.stderr_end.reset();
}

std::string OsIo::stderr_tail(OsId id, std::uint64_t from) const {
  const auto handle = find(id);
  if (handle == nullptr) return {};
  const std::scoped_lock lock(handle->mutex);
  read_stderr_now(*handle);
  return handle->stderr_tail.text(from);
}

std::uint64_t OsIo::stderr_total(OsId id) const {
  const auto handle = find(id);
  if (handle == nullptr) return 0;
  const std::scoped_lock lock(handle->mutex);
  read_stderr_now(*handle);
  return handle->stderr_tail.total();
}

// It ended. With `now`, or when they ended before it, nobody holds its pipes any more: what they hold is all there will
// be.
void OsIo::drain(const std::shared_ptr<OsHandle>& handle, bool now) {
  {
    const std::scoped_lock lock(handle->mutex);
    handle->exited = true;
    handle->stdin_end.reset();
    handle->stdin_closed = true;
    handle->queue.clear();
    handle->queued = 0;
  }
  handle->draining = true;
  if (now || (handle->output_ended && !handle->stderr_end)) return finish(handle);
  handle->drain_until = time() + k_drain_wait;
  draining_.push_back(handle->id);
}

void OsIo::finish(const std::shared_ptr<OsHandle>& handle) {
  std::size_t left = k_last_bytes_max;
  while (handle->stdout_end && left > 0) {
    const ssize_t got = read_some(handle->stdout_end.get(), read_buffer(), left);
    if (got <= 0) break;
    left -= static_cast<std::size_t>(got);
    runtime_.notify(handle->owner,
                    OsOutput{handle->id, std::string(read_buffer().data(), static_cast<std::size_t>(got))});
  }
  end_stdout(*handle);
  left = k_last_bytes_max;
  while (handle->stderr_end && left > 0) {
    const ssize_t got = read_some(handle->stderr_end.get(), read_buffer(), left);
    if (got <= 0) break;
    left -= static_cast<std::size_t>(got);
    const std::scoped_lock lock(handle->mutex);
    handle->stderr_tail.add(read_buffer().data(), static_cast<std::size_t>(got));
  }
  handle->exit.id = handle->id;
  handle->exit.stderr_tail = handle->stderr_tail.text();
  handle->exit.stderr_total = handle->stderr_tail.total();
  forget(*handle);
  ++counts_.exited;
  runtime_.notify(handle->owner, std::move(handle->exit));
}

void OsIo::fail(const std::shared_ptr<OsHandle>& handle, std::string why) {
  forget(*handle);
  ++counts_.failed;
  runtime_.notify(handle->owner, OsStartFailed{handle->id, std::move(why)});
}

// Closes what it holds and takes it out of the table: from here on its id means nothing.
void OsIo::forget(OsHandle& handle) {
  if (handle.draining) std::erase(draining_, handle.id);
  {
    const std::scoped_lock lock(handle.mutex);
    handle.exited = true;
    handle.stdin_closed = true;
    handle.stdin_end.reset();
    handle.stdout_end.reset();
    handle.stderr_end.reset();
    handle.pidfd.reset();
  }
  handle.place = {};
  const std::scoped_lock lock(table_mutex_);
  table_.erase(handle.id);
}

void OsIo::finish_overdue() {
  if (draining_.empty()) return;
  const auto now = time();
  for (const OsId id : std::vector(draining_)) {
    if (const auto handle = find(id); handle != nullptr && handle->drain_until <= now) finish(handle);
  }
}

}  // namespace skein::inline v0::launcher
