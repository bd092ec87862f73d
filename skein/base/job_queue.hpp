// A queue of jobs and a clock: how the archive and the operations get work done beside the journal's thread, now or
// later. The real one has a thread (thread_job_queue.hpp); tests and the simulator turn one by hand on virtual time
// (manual_job_queue.hpp).
//
// Everything may be called from any thread, also from inside a job. Jobs run one at a time, those due first; they may
// block and must not throw. A job that is dropped (the queue has stopped) is destroyed without being run.
#pragma once

#include <cstdint>
#include <functional>

#include "skein/base/time.hpp"

namespace skein::inline v0 {

// Time that passes while this machine runs or sleeps, and which run of it: both outlive the program, and nobody sets
// them.
struct BootTime {
  std::uint64_t boot = 0;
  std::uint64_t ms = 0;
};

class JobQueue {
 public:
  using Job = std::move_only_function<void()>;

  JobQueue() = default;
  JobQueue(const JobQueue&) = delete;
  JobQueue& operator=(const JobQueue&) = delete;
  virtual ~JobQueue() = default;

  // False, and the job is gone, when as many wait as may, or the queue has stopped.
  virtual bool post(Job job) = 0;
  virtual bool post_after(Duration delay, Job job) = 0;

  [[nodiscard]] virtual Instant now() const = 0;
  [[nodiscard]] virtual WallMs wall_now() const = 0;
  [[nodiscard]] virtual BootTime boot_now() const = 0;
};

}  // namespace skein::inline v0
