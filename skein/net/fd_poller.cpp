#include "skein/net/fd_poller.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace skein::inline v0::net {

FdPoller::FdPoller(Runtime& runtime)
    : runtime_(runtime), epoll_(::epoll_create1(EPOLL_CLOEXEC)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!epoll_ || !wake_) throw std::system_error(errno, std::generic_category(), "epoll");
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = wake_.get();
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event) != 0) {
    throw std::system_error(errno, std::generic_category(), "epoll");
  }
  thread_ = std::thread([this] { run(); });
}

FdPoller::~FdPoller() {
  is_stopping_ = true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof(one));
  thread_.join();
}

void FdPoller::arm(int fd, Pid to, bool read, bool write, bool end) {
  epoll_event event{};
  event.events = EPOLLONESHOT;
  if (end) event.events |= EPOLLRDHUP;
  if (read) event.events |= EPOLLIN;
  if (write) event.events |= EPOLLOUT;
  event.data.fd = fd;
  const std::scoped_lock lock(mutex_);
  const bool is_new = watchers_.insert_or_assign(fd, to).second;
  if (::epoll_ctl(epoll_.get(), is_new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event) != 0) {
    watchers_.erase(fd);
    runtime_.notify(to, FdReady{fd, false, false, true});
  }
}

void FdPoller::forget(int fd) {
  const std::scoped_lock lock(mutex_);
  if (watchers_.erase(fd) != 0) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void FdPoller::run() {
  std::array<epoll_event, 256> events{};
  while (!is_stopping_) {
    const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), -1);
    if (count < 0 && errno != EINTR) return;
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      if (event.data.fd == wake_.get()) continue;
      const std::scoped_lock lock(mutex_);
      const auto found = watchers_.find(event.data.fd);
      if (found == watchers_.end()) continue;
      const bool is_readable = (event.events & (EPOLLIN | EPOLLRDHUP)) != 0;
      runtime_.notify(found->second, FdReady{event.data.fd, is_readable, (event.events & EPOLLOUT) != 0,
                                             (event.events & (EPOLLERR | EPOLLHUP)) != 0});
    }
  }
}

}  // namespace skein::inline v0::net
