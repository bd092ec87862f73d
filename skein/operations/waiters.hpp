// Those who wait for a task to end. add() and on_changes() on the journal's thread, the rest on any. Callbacks are made
// without the lock held.
#pragma once

#include <atomic>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "skein/base/time.hpp"
#include "skein/ledger/change.hpp"
#include "skein/operations/reply.hpp"
#include "skein/operations/requests.hpp"

namespace skein::inline v0::operations {

class Waiters {
 public:
  explicit Waiters(std::size_t waiters_max) : waiters_max_(waiters_max) {}

  struct Waiter {
    TaskId id;
    Instant due;
    ProgressFn progress;
    Reply<WaitAnswer> reply;
    std::shared_ptr<const WaitTicket> ticket{};
  };
  // Answers `overloaded` when there are too many already. The task must be open, as the journal's thread sees it.
  void add(Waiter waiter);
  // The one with this ticket is answered with `stopped` and keeps no place; so is one that has been given up when it is
  // added.
  void give_up(WaitTicket& ticket);
  void on_changes(const ledger::ChangeBatch& batch);
  // The waiters whose time is up.
  [[nodiscard]] std::vector<Waiter> take_due(Instant now);
  [[nodiscard]] std::optional<Instant> next_due() const;
  [[nodiscard]] std::vector<Waiter> take_all();  // the last: from here on nobody waits
  [[nodiscard]] std::size_t size() const { return count_.load(std::memory_order_relaxed); }

 private:
  using Number = std::uint64_t;
  // With the mutex held.
  Waiter take(Number number);

  std::size_t waiters_max_;
  mutable std::mutex mutex_;
  std::map<Number, Waiter> waiters_;
  boost::unordered_flat_map<TaskId, std::vector<Number>, ledger::TaskIdHash> by_task_;
  std::set<std::pair<Instant, Number>> by_due_;
  std::map<const WaitTicket*, Number> by_ticket_;
  Number next_ = 1;
  std::atomic<std::size_t> count_{0};
};

}  // namespace skein::inline v0::operations
