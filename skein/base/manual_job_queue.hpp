// A JobQueue turned by hand, on virtual time: for tests and the simulator. post may come from any thread; run_ready and
// advance from one.
#pragma once

#include <map>
#include <mutex>
#include <utility>

#include "skein/base/job_queue.hpp"

namespace skein::inline v0 {

class ManualJobQueue final : public JobQueue {
 public:
  explicit ManualJobQueue(std::size_t jobs_max = 100'000, WallMs wall_start = 1'700'000'000'000)
      : jobs_max_(jobs_max), wall_start_(wall_start) {}

  bool post(Job job) override { return post_after(Duration::zero(), std::move(job)); }
  bool post_after(Duration delay, Job job) override {
    const std::lock_guard lock(mutex_);
    if (jobs_.size() >= jobs_max_) return false;
    jobs_.emplace(std::pair(later(now_, delay), next_order_++), std::move(job));
    return true;
  }
  [[nodiscard]] Instant now() const override {
    const std::lock_guard lock(mutex_);
    return now_;
  }
  [[nodiscard]] WallMs wall_now() const override {
    const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(now().time_since_epoch());
    return wall_start_ + static_cast<WallMs>(since.count());
  }
  [[nodiscard]] BootTime boot_now() const override {
    const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(now().time_since_epoch());
    return {1, static_cast<std::uint64_t>(since.count())};
  }
  // Somebody sets the wall clock.
  void set_wall(WallMs wall) { wall_start_ += wall - wall_now(); }

  // Runs what is due, also what becomes due by it. True when there was something.
  bool run_ready() {
    bool some = false;
    while (Job job = take_due()) {
      job();
      some = true;
    }
    return some;
  }
  // Moves the time on, from due job to due job.
  void advance(Duration by) {
    const Instant end = later(now(), by);
    while (true) {
      run_ready();
      const std::lock_guard lock(mutex_);
      if (jobs_.empty() || jobs_.begin()->first.first > end) {
        now_ = end;
        return;
      }
      now_ = jobs_.begin()->first.first;
    }
  }
  [[nodiscard]] std::size_t waiting() const {
    const std::lock_guard lock(mutex_);
    return jobs_.size();
  }

 private:
  Job take_due() {
    const std::lock_guard lock(mutex_);
    if (jobs_.empty() || jobs_.begin()->first.first > now_) return nullptr;
    Job job = std::move(jobs_.begin()->second);
    jobs_.erase(jobs_.begin());
    return job;
  }

  std::size_t jobs_max_;
  WallMs wall_start_;
  mutable std::mutex mutex_;
  std::map<std::pair<Instant, std::uint64_t>, Job> jobs_;
  std::uint64_t next_order_ = 0;
  Instant now_{};
};

}  // namespace skein::inline v0
