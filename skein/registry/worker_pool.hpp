// A pool of workers that do the same thing: which of them gets the next piece of work?
//
//   pool.next()            in turn                     pool.any(random)     at random
//   pool.by_key(key)       the same for the same key   pool.at(position)    the one at a position
//   pool.claim()           one that nobody else has claimed, until the Claim is destroyed
//
// Any thread may call; each call holds the pool's lock for as long as it takes to look. A worker that died is never
// returned: it is dropped when it is met, which moves those behind it by one. A worker is in a pool once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "skein/base/random.hpp"
#include "skein/registry/registry_types.hpp"
#include "skein/runtime/runtime.hpp"

namespace skein::inline v0 {

class WorkerPool {
  struct Worker {
    Pid pid;
    std::shared_ptr<std::atomic<bool>> claimed = std::make_shared<std::atomic<bool>>(false);
  };

 public:
  // One worker for oneself; given back when destroyed. May outlive the pool.
  class Claim {
   public:
    Claim(Claim&& other) noexcept = default;
    Claim& operator=(Claim&& other) noexcept {
      std::swap(worker_, other.worker_);
      return *this;
    }
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;
    ~Claim() {
      if (worker_.claimed) worker_.claimed->store(false, std::memory_order_release);
    }
    [[nodiscard]] Pid pid() const { return worker_.pid; }

   private:
    friend class WorkerPool;
    explicit Claim(Worker worker) : worker_(std::move(worker)) {}
    Worker worker_;
  };

  // At most `limit` workers. The runtime must outlive the pool.
  explicit WorkerPool(Runtime& runtime, std::size_t limit = RegistryLimits{}.pool_workers)
      : runtime_(runtime), limit_(limit) {}

  // dead_process, already_registered, full.
  RegistryResult<void> add(Pid worker);
  // False: it was not there.
  bool remove(Pid worker);
  // Those that live, in the order of their positions.
  [[nodiscard]] std::vector<Pid> workers();

  // Each answers nothing when there is no (free) worker.
  [[nodiscard]] std::optional<Pid> next();
  [[nodiscard]] std::optional<Pid> any(Random& random);
  [[nodiscard]] std::optional<Pid> by_key(std::string_view key);
  // Positions count from 0 and go round.
  [[nodiscard]] std::optional<Pid> at(std::size_t position);
  // Looks for a free one in turn: costs as many steps as there are claimed ones before it.
  [[nodiscard]] std::optional<Claim> claim();

 private:
  // Holding mutex_: the place of a living worker at `position` or behind it, of at most workers_.size(); or nothing.
  [[nodiscard]] std::optional<std::size_t> living(std::size_t position);

  Runtime& runtime_;
  std::size_t limit_;
  std::mutex mutex_;
  std::vector<Worker> workers_;
  std::size_t turn_ = 0;
};

}  // namespace skein::inline v0
