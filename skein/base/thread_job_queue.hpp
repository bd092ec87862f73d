// The JobQueue of a running program: one thread, the real clocks. It reads clocks so that those it serves need not.
// Time in which the whole program stood still while it waited does not pass on its own clock. Any thread, but for
// stop() and the destructor, which must not be called from a job.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include "skein/base/job_queue.hpp"
#include "skein/base/pause_clock.hpp"

namespace skein::inline v0 {

class ThreadJobQueue final : public JobQueue {
 public:
  // `thread_name` is shown in lists of threads (thread_name.hpp); it must outlive the constructor's call: a literal.
  explicit ThreadJobQueue(const char* thread_name, std::size_t jobs_max = 100'000);
  ~ThreadJobQueue() override;

  bool post(Job job) override { return post_after(Duration::zero(), std::move(job)); }
  bool post_after(Duration delay, Job job) override;
  [[nodiscard]] Instant now() const override;
  [[nodiscard]] WallMs wall_now() const override;
  [[nodiscard]] BootTime boot_now() const override;

  // Ends after the job under way; those that wait are dropped.
  void stop();

 private:
  struct Entry {
    Instant due;
    std::uint64_t order = 0;
    Job job;
  };
  static bool is_later(const Entry& a, const Entry& b) { return a.due != b.due ? a.due > b.due : a.order > b.order; }
  void run();
  // Until something may be due, with the lock held.
  void sleep(std::unique_lock<std::mutex>& lock, Duration left);

  std::size_t jobs_max_;
  mutable PauseClock clock_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Entry> heap_;  // the one due first at the front
  std::uint64_t next_order_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace skein::inline v0
