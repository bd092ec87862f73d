#include "skein/base/thread_job_queue.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <functional>
#include <string>
#include <utility>

#include "skein/base/thread_name.hpp"

namespace skein::inline v0 {
namespace {

Instant raw_now() { return Instant(std::chrono::steady_clock::now().time_since_epoch()); }

}  // namespace

ThreadJobQueue::ThreadJobQueue(const char* thread_name, std::size_t jobs_max)
    : jobs_max_(jobs_max), thread_([this, thread_name] {
        name_this_thread(thread_name);
        run();
      }) {}

ThreadJobQueue::~ThreadJobQueue() { stop(); }

bool ThreadJobQueue::post_after(Duration delay, Job job) {
  const Instant due = later(now(), delay);
  const std::lock_guard lock(mutex_);
  if (stopping_ || heap_.size() >= jobs_max_) return false;
  heap_.push_back({due, next_order_++, std::move(job)});
  std::push_heap(heap_.begin(), heap_.end(), is_later);
  wake_.notify_one();
  return true;
}

Instant ThreadJobQueue::now() const { return clock_.now(raw_now); }

BootTime ThreadJobQueue::boot_now() const {
  // The id of this run of the machine does not change, so it is read once.
  static const std::uint64_t k_boot = [] {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string id;
    file >> id;
    return std::uint64_t{std::hash<std::string>{}(id)};
  }();
  timespec since{};
  ::clock_gettime(CLOCK_BOOTTIME, &since);
  return {k_boot,
          static_cast<std::uint64_t>(since.tv_sec) * 1000 + static_cast<std::uint64_t>(since.tv_nsec) / 1'000'000};
}

WallMs ThreadJobQueue::wall_now() const {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<WallMs>(std::chrono::duration_cast<std::chrono::milliseconds>(since).count());
}

void ThreadJobQueue::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    wake_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
  std::vector<Entry> dropped;
  const std::lock_guard lock(mutex_);
  dropped.swap(heap_);
}

// Only a pause of the sleep is one for sure: a job may take as long as it does.
void ThreadJobQueue::sleep(std::unique_lock<std::mutex>& lock, Duration left) {
  const Duration part = std::min(left, k_pause_look);
  const Instant raw = raw_now();
  clock_.look(raw, later(raw, part));
  wake_.wait_for(lock, part);
  clock_.look(raw_now(), Instant::max());
}

void ThreadJobQueue::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (heap_.empty()) {
      wake_.wait(lock);
      continue;
    }
    const Duration left = heap_.front().due - now();
    if (left > Duration::zero()) {
      sleep(lock, left);
      continue;
    }
    std::pop_heap(heap_.begin(), heap_.end(), is_later);
    Job job = std::move(heap_.back().job);
    heap_.pop_back();
    lock.unlock();
    job();
    job = nullptr;
    lock.lock();
  }
}

}  // namespace skein::inline v0
