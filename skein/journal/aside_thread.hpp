// A thread for the work beside a journal (aside_job.hpp), so that it holds up neither the log nor other such work.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "skein/journal/aside_job.hpp"
#include "skein/journal/disk.hpp"

namespace skein::inline v0::journal {

// A thread that does one kind of job after another. At most as many wait as the core has out at once: one of each kind.
class AsideThread {
 public:
  AsideThread(Disk& disk, std::function<void(AsideResult)> done);
  ~AsideThread();
  AsideThread(const AsideThread&) = delete;
  AsideThread& operator=(const AsideThread&) = delete;

  void post(AsideJob job);
  // Ends after the job under way; those still waiting are dropped.
  void stop();

 private:
  void run();

  Disk& disk_;
  std::function<void(AsideResult)> done_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<AsideJob> jobs_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace skein::inline v0::journal
