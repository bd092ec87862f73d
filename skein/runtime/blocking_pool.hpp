// Threads for work that blocks: made when needed up to a limit, with a bounded queue. Any thread may call any member.
//
// 1. At most max_threads jobs run at once and at most max_queue wait; one more is refused.
// 2. Jobs begin in the order they came. One that never returns holds its thread and nothing else: the threads own what
//    they use, and nobody waits for them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>

namespace skein::inline v0 {

// More blocking jobs wait than RuntimeOptions::blocking_queue allows.
class BlockingQueueFull : public std::runtime_error {
 public:
  explicit BlockingQueueFull(std::size_t limit)
      : std::runtime_error("the queue of blocking jobs is full (blocking_queue = " + std::to_string(limit) +
                           "): raise the limit or submit less") {}
};

namespace detail {

class BlockingPool {
 public:
  BlockingPool(unsigned max_threads, std::size_t max_queue);
  // stop(); a thread whose job never returns is left to the operating system.
  ~BlockingPool();
  BlockingPool(const BlockingPool&) = delete;
  BlockingPool& operator=(const BlockingPool&) = delete;

  // Jobs that have not begun are dropped, and no thread takes another.
  void stop();

  // Throws BlockingQueueFull, or std::system_error when not even one thread can be had.
  void submit(std::move_only_function<void()> job);
  [[nodiscard]] std::size_t waiting() const;
  [[nodiscard]] unsigned threads() const;

 private:
  struct Shared {
    mutable std::mutex mutex;
    std::condition_variable ready;
    std::deque<std::move_only_function<void()>> jobs;
    unsigned threads = 0;
    unsigned idle = 0;
    unsigned running = 0;
    bool stopping = false;
  };
  static void work(const std::shared_ptr<Shared>& shared);

  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  unsigned max_threads_;
  std::size_t max_queue_;
};

}  // namespace detail
}  // namespace skein::inline v0
