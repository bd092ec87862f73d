#include "skein/operations/waiters.hpp"

namespace skein::inline v0::operations {

void Waiters::add(Waiter waiter) {
  {
    const std::lock_guard lock(mutex_);
    // Dropped, with `stopped`, like those before it. To keep it would form a reference cycle with its owner.
    if (waiters_max_ == 0) return;
    if (waiter.ticket && waiter.ticket->is_given_up) return;
    if (waiters_.size() < waiters_max_) {
      const Number number = next_++;
      by_task_[waiter.id].push_back(number);
      by_due_.emplace(waiter.due, number);
      if (waiter.ticket) by_ticket_.emplace(waiter.ticket.get(), number);
      waiters_.emplace(number, std::move(waiter));
      count_.store(waiters_.size(), std::memory_order_relaxed);
      return;
    }
  }
  waiter.reply.fail(overloaded("too many clients wait for tasks"));
}

void Waiters::give_up(WaitTicket& ticket) {
  ticket.is_given_up = true;  // before it is looked for: add() looks at it with the lock held
  std::optional<Waiter> gone;
  const std::lock_guard lock(mutex_);
  if (const auto at = by_ticket_.find(&ticket); at != by_ticket_.end()) gone.emplace(take(at->second));
}

void Waiters::on_changes(const ledger::ChangeBatch& batch) {
  if (size() == 0) return;
  std::vector<std::pair<Waiter, std::shared_ptr<const ledger::FinishedTask>>> done;
  std::vector<std::pair<ProgressFn, const ledger::TaskProgressed*>> told;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& change : batch.changes) {
      if (const auto* finished = std::get_if<ledger::TaskFinished>(&change)) {
        const auto at = by_task_.find(finished->finished->task.id);
        if (at == by_task_.end()) continue;
        const auto numbers = at->second;
        for (const auto number : numbers) done.emplace_back(take(number), finished->finished);
      } else if (const auto* progress = std::get_if<ledger::TaskProgressed>(&change)) {
        const auto at = by_task_.find(progress->id);
        if (at == by_task_.end()) continue;
        for (const auto number : at->second) {
          if (const auto& fn = waiters_.at(number).progress) told.emplace_back(fn, progress);
        }
      }
    }
  }
  for (const auto& [fn, progress] : told) fn(progress->id, progress->mark);
  for (auto& [waiter, finished] : done) waiter.reply(WaitAnswer{{finished->task, finished, false}, true});
}

std::vector<Waiters::Waiter> Waiters::take_due(Instant now) {
  std::vector<Waiter> due;
  const std::lock_guard lock(mutex_);
  while (!by_due_.empty() && by_due_.begin()->first <= now) due.push_back(take(by_due_.begin()->second));
  return due;
}

std::optional<Instant> Waiters::next_due() const {
  const std::lock_guard lock(mutex_);
  if (by_due_.empty()) return std::nullopt;
  return by_due_.begin()->first;
}

std::vector<Waiters::Waiter> Waiters::take_all() {
  {
    const std::lock_guard lock(mutex_);
    waiters_max_ = 0;
  }
  return take_due(Instant::max());
}

Waiters::Waiter Waiters::take(Number number) {
  const auto at = waiters_.find(number);
  Waiter waiter = std::move(at->second);
  waiters_.erase(at);
  by_due_.erase({waiter.due, number});
  if (waiter.ticket) by_ticket_.erase(waiter.ticket.get());
  const auto same = by_task_.find(waiter.id);
  std::erase(same->second, number);
  if (same->second.empty()) by_task_.erase(same);
  count_.store(waiters_.size(), std::memory_order_relaxed);
  return waiter;
}

}  // namespace skein::inline v0::operations
