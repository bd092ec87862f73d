// Tells processes when their sockets can be read or written: one thread with epoll. A process arms a descriptor for one
// event at a time and is sent FdReady; reading and writing it does itself, without blocking.
//
// Any thread. forget() before the descriptor is closed: afterwards its number may be another's. What happened to the
// one before is then told to nobody, though the thread may have had it in its hands: each has a generation of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "skein/base/fd.hpp"
#include "skein/runtime/runtime.hpp"

namespace skein::inline v0::net {

struct FdReady {
  int fd = -1;
  bool is_readable = false;
  bool is_writable = false;
  bool is_broken = false;
  bool has_ended = false;  // the other side will send nothing more; what it sent may still be there to read
};

class FdPoller {
 public:
  // Throws std::system_error when the system gives no epoll. The runtime must outlive it.
  explicit FdPoller(Runtime& runtime);
  ~FdPoller();
  FdPoller(const FdPoller&) = delete;
  FdPoller& operator=(const FdPoller&) = delete;

  // The next time it can be read or written, as asked, `to` is told, once. Replaces what was armed before. `end`: also
  // when the other side will send nothing more; a caller that knows that already must not ask again.
  void arm(int fd, Pid to, bool read, bool write, bool end = true);
  void forget(int fd);
  // For those who watch a descriptor of a process that is not theirs. Any thread.
  template <class T>
  void tell(Pid to, T message) {
    runtime_.notify(to, std::move(message));
  }

 private:
  struct Watcher {
    Pid to{};
    std::uint32_t generation = 0;
  };
  void run();

  Runtime& runtime_;
  Fd epoll_;
  Fd wake_;
  std::atomic<bool> is_stopping_{false};
  std::mutex mutex_;
  std::unordered_map<int, Watcher> watchers_;
  std::uint32_t last_generation_ = 0;
  std::thread thread_;
};

}  // namespace skein::inline v0::net
