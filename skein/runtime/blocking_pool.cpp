#include "skein/runtime/blocking_pool.hpp"

#include <thread>
#include <utility>

namespace skein::inline v0::detail {

BlockingPool::BlockingPool(unsigned max_threads, std::size_t max_queue)
    : max_threads_(max_threads == 0 ? 1 : max_threads), max_queue_(max_queue) {}

BlockingPool::~BlockingPool() {
  const std::scoped_lock lock(shared_->mutex);
  shared_->stopping = true;
  shared_->jobs.clear();
  shared_->ready.notify_all();
}

void BlockingPool::submit(std::move_only_function<void()> job) {
  const std::scoped_lock lock(shared_->mutex);
  if (shared_->jobs.size() >= max_queue_) throw BlockingQueueFull(max_queue_);
  shared_->jobs.push_back(std::move(job));
  if (shared_->idle < shared_->jobs.size() && shared_->threads < max_threads_) {
    ++shared_->threads;
    // Detached: a job that never returns must not keep the program from ending. The thread owns what it uses.
    std::thread([shared = shared_] { work(shared); }).detach();
  } else {
    shared_->ready.notify_one();
  }
}

void BlockingPool::work(const std::shared_ptr<Shared>& shared) {
  std::unique_lock lock(shared->mutex);
  for (;;) {
    ++shared->idle;
    shared->ready.wait(lock, [&] { return shared->stopping || !shared->jobs.empty(); });
    --shared->idle;
    if (shared->jobs.empty()) break;
    {
      auto job = std::move(shared->jobs.front());
      shared->jobs.pop_front();
      lock.unlock();
      job();
    }
    lock.lock();
  }
  --shared->threads;
}

std::size_t BlockingPool::waiting() const {
  const std::scoped_lock lock(shared_->mutex);
  return shared_->jobs.size();
}

unsigned BlockingPool::threads() const {
  const std::scoped_lock lock(shared_->mutex);
  return shared_->threads;
}

}  // namespace skein::inline v0::detail
