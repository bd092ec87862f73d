// A job queue that may have no room, over another: for tests of those who must go on when there is some again. Any
// thread.
#pragma once

#include <atomic>
#include <utility>

#include "skein/base/job_queue.hpp"

namespace skein::inline v0 {

class CrowdedJobQueue final : public JobQueue {
 public:
  explicit CrowdedJobQueue(JobQueue& jobs) : jobs_(jobs) {}
  bool post(Job job) override { return post_after(Duration::zero(), std::move(job)); }
  bool post_after(Duration delay, Job job) override { return !is_full && jobs_.post_after(delay, std::move(job)); }
  [[nodiscard]] Instant now() const override { return jobs_.now(); }
  [[nodiscard]] WallMs wall_now() const override { return jobs_.wall_now(); }
  [[nodiscard]] BootTime boot_now() const override { return jobs_.boot_now(); }

  std::atomic<bool> is_full = false;

 private:
  JobQueue& jobs_;
};

}  // namespace skein::inline v0
