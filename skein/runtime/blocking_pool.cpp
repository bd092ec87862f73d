#include "skein/runtime/blocking_pool.hpp"

#include <system_error>
#include <thread>
#include <utility>

#include "skein/base/must_hold.hpp"
#include "skein/base/thread_name.hpp"

namespace skein::inline v0::detail {

BlockingPool::BlockingPool(unsigned max_threads, std::size_t max_queue)
    : max_threads_(max_threads == 0 ? 1 : max_threads), max_queue_(max_queue) {}

BlockingPool::~BlockingPool() { stop(); }

void BlockingPool::stop() {
  std::deque<std::move_only_function<void()>> dropped;
  const std::scoped_lock lock(shared_->mutex);
  shared_->stopping = true;
  dropped.swap(shared_->jobs);
  shared_->ready.notify_all();
}

void BlockingPool::submit(std::move_only_function<void()> job) {
  const std::scoped_lock lock(shared_->mutex);
  if (shared_->jobs.size() + shared_->running >= max_queue_ + max_threads_) throw BlockingQueueFull(max_queue_);
  must_hold(shared_->running <= max_threads_, "blocking_pool.hpp 1: no more jobs run than there are threads");
  shared_->jobs.push_back(std::move(job));
  if (shared_->idle < shared_->jobs.size() && shared_->threads < max_threads_) {
    try {
      // Detached: a job that never returns must not keep the program from ending. The thread owns what it uses.
      std::thread([shared = shared_] { work(shared); }).detach();
      ++shared_->threads;
    } catch (const std::system_error&) {
      // No more threads are to be had: those that are there do the work, and without any the job can't be taken.
      if (shared_->threads == 0) {
        shared_->jobs.pop_back();
        throw;
      }
      shared_->ready.notify_one();
    }
  } else {
    shared_->ready.notify_one();
  }
}

void BlockingPool::work(const std::shared_ptr<Shared>& shared) {
  name_this_thread("skein-blocking");
  std::unique_lock lock(shared->mutex);
  for (;;) {
    ++shared->idle;
    shared->ready.wait(lock, [&] { return shared->stopping || !shared->jobs.empty(); });
    --shared->idle;
    if (shared->jobs.empty()) break;
    {
      auto job = std::move(shared->jobs.front());
      shared->jobs.pop_front();
      ++shared->running;
      lock.unlock();
      job();
    }
    lock.lock();
    --shared->running;
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
