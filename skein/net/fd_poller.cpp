#include "skein/net/fd_poller.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "skein/base/thread_name.hpp"

namespace skein::inline v0::net {
namespace {

constexpr unsigned k_generation_shift = 32;

// What an event carries: the descriptor, and which of those that had its number.
std::uint64_t mark_of(int fd, std::uint32_t generation) {
  return (std::uint64_t{generation} << k_generation_shift) | static_cast<std::uint32_t>(fd);
}

}  // namespace

FdPoller::FdPoller(Runtime& runtime)
    : runtime_(runtime), epoll_(::epoll_create1(EPOLL_CLOEXEC)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!epoll_ || !wake_) throw std::system_error(errno, std::generic_category(), "epoll");
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = mark_of(wake_.get(), 0);
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event) != 0) {
    throw std::system_error(errno, std::generic_category(), "epoll");
  }
  thread_ = std::thread([this] {
    name_this_thread("skein-poller");
    run();
  });
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
  const std::scoped_lock lock(mutex_);
  const auto [watcher, is_new] = watchers_.try_emplace(fd);
  if (is_new) watcher->second.generation = ++last_generation_;
  watcher->second.to = to;
  event.data.u64 = mark_of(fd, watcher->second.generation);
  if (::epoll_ctl(epoll_.get(), is_new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event) != 0) {
    watchers_.erase(fd);
    runtime_.notify(to, FdReady{fd, false, false, true, false});
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
      const auto fd = static_cast<int>(static_cast<std::uint32_t>(event.data.u64));
      if (fd == wake_.get()) continue;
      const std::scoped_lock lock(mutex_);
      const auto found = watchers_.find(fd);
      if (found == watchers_.end() || mark_of(fd, found->second.generation) != event.data.u64) continue;
      const auto has = [&](std::uint32_t any) { return (event.events & any) != 0; };
      runtime_.notify(found->second.to,
                      FdReady{fd, has(EPOLLIN | EPOLLRDHUP), has(EPOLLOUT), has(EPOLLERR | EPOLLHUP), has(EPOLLRDHUP)});
    }
  }
}

}  // namespace skein::inline v0::net
