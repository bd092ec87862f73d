#include "skein/registry/worker_pool.hpp"

#include <algorithm>
#include <functional>

namespace skein::inline v0 {

std::optional<std::size_t> WorkerPool::living(std::size_t position) {
  while (!workers_.empty()) {
    const std::size_t place = position % workers_.size();
    if (runtime_.is_alive(workers_[place].pid)) return place;
    workers_.erase(workers_.begin() + static_cast<std::ptrdiff_t>(place));
    if (turn_ > place) --turn_;
  }
  return std::nullopt;
}

RegistryResult<void> WorkerPool::add(Pid worker) {
  if (!runtime_.is_alive(worker)) return registry_error(RegistryFailure::dead_process);
  const std::scoped_lock lock(mutex_);
  for (std::size_t place = 0; place < workers_.size(); ++place) (void)living(place);
  if (std::ranges::any_of(workers_, [&](const Worker& each) { return each.pid == worker; })) {
    return registry_error(RegistryFailure::already_registered, worker);
  }
  if (workers_.size() >= limit_) return registry_limit(RegistryFailure::full, limit_);
  workers_.push_back({worker});
  return {};
}

bool WorkerPool::remove(Pid worker) {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find(workers_, worker, &Worker::pid);
  if (found == workers_.end()) return false;
  if (turn_ > static_cast<std::size_t>(found - workers_.begin())) --turn_;
  workers_.erase(found);
  return true;
}

std::vector<Pid> WorkerPool::workers() {
  const std::scoped_lock lock(mutex_);
  std::vector<Pid> all;
  for (const Worker& each : workers_) {
    if (runtime_.is_alive(each.pid)) all.push_back(each.pid);
  }
  return all;
}

std::optional<Pid> WorkerPool::next() {
  const std::scoped_lock lock(mutex_);
  const auto place = living(turn_);
  if (!place) return std::nullopt;
  turn_ = *place + 1;
  return workers_[*place].pid;
}

std::optional<Pid> WorkerPool::any(Random& random) { return at(static_cast<std::size_t>(random.next() >> 1U)); }

std::optional<Pid> WorkerPool::by_key(std::string_view key) { return at(std::hash<std::string_view>{}(key)); }

std::optional<Pid> WorkerPool::at(std::size_t position) {
  const std::scoped_lock lock(mutex_);
  const auto place = living(position);
  if (!place) return std::nullopt;
  return workers_[*place].pid;
}

std::optional<WorkerPool::Claim> WorkerPool::claim() {
  const std::scoped_lock lock(mutex_);
  for (std::size_t step = 0; step < workers_.size(); ++step) {
    const auto place = living(turn_);
    if (!place) return std::nullopt;
    turn_ = *place + 1;
    if (!workers_[*place].claimed->exchange(true, std::memory_order_acq_rel)) return Claim(workers_[*place]);
  }
  return std::nullopt;
}

}  // namespace skein::inline v0
