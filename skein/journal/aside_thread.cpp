#include "skein/journal/aside_thread.hpp"

#include <utility>

#include "skein/base/thread_name.hpp"

namespace skein::inline v0::journal {

AsideThread::AsideThread(Disk& disk, std::function<void(AsideResult)> done)
    : disk_(disk), done_(std::move(done)), thread_([this] { run(); }) {}

AsideThread::~AsideThread() { stop(); }

void AsideThread::post(AsideJob job) {
  const std::lock_guard lock(mutex_);
  jobs_.push_back(std::move(job));
  wake_.notify_one();
}

void AsideThread::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    wake_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void AsideThread::run() {
  name_this_thread("skein-log-aside");
  while (true) {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (stopping_) return;
    const AsideJob job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    done_(run_aside(disk_, job));
  }
}

}  // namespace skein::inline v0::journal
