#include "skein/runtime/workers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <system_error>
#include <utility>

#include "skein/base/thread_name.hpp"
#include "skein/runtime/fatal_dump.hpp"
#include "skein/runtime/futex.hpp"

namespace skein::inline v0::detail {
namespace {

constexpr std::uint64_t k_timed_turns = 2 * k_sampled_turns - 2;  // a turn's number grows by two
constexpr std::uint32_t k_long_backlog = 256;
constexpr int k_taken_in = 32;  // woken from outside, at one look
constexpr std::int64_t k_sustained_ns = 20'000;
constexpr std::uint64_t k_small_ns = 1'000;  // a message that is handled in less
constexpr std::int64_t k_worth_stealing_ns = 2'000;
constexpr std::int64_t k_first_pause_ns = 20'000;
constexpr std::int64_t k_longest_pause_ns = 1'280'000;
constexpr std::int64_t k_spin_ns = 50'000;
constexpr Duration k_poll = std::chrono::milliseconds(2);
constexpr std::uint32_t k_polls_per_step = 8;  // then they come half as often,
constexpr std::uint32_t k_poll_steps = 4;      // down to every 32 ms
constexpr std::int64_t k_long_busy_ns = 1'000'000;
constexpr std::int64_t k_active_ns = 500'000'000;
constexpr Duration k_watch_turns = std::chrono::milliseconds(10);   // while somebody works: turns are cut by it
constexpr Duration k_watch_every = std::chrono::milliseconds(100);  // while somebody did, or waits to end
constexpr Duration k_watch_idle = std::chrono::seconds(10);

std::int64_t steady_ns() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

// What a turn is at that handles no message, or no longer knows which.
std::string_view doing(const Slot& slot) {
  switch (slot.phase.load(std::memory_order_relaxed)) {
    case ProcessPhase::starting:
      return "init";
    case ProcessPhase::terminating:
      return "terminate";
    case ProcessPhase::ending:
    case ProcessPhase::free:
      return "its end";
    case ProcessPhase::running:
      break;
  }
  return "a handler that has waited";
}

// Begins to time the next turn if it is one of k_sampled_turns.
void time_turn(std::uint64_t turn) {
  if ((turn & k_timed_turns) == 0) t_turn.timed_since = steady_ns();
}

// By what was measured of its turns; one of which nothing is known does.
bool handles_small_messages(const Slot& slot) {
  const std::uint64_t handled = slot.handled.load(std::memory_order_relaxed);
  return slot.handler_ns.load(std::memory_order_relaxed) < (handled + 1) * k_small_ns;
}

}  // namespace

Workers::Workers(Core& core, unsigned count) : core_(core) {
  for (unsigned i = 0; i < count; ++i) {
    all_.push_back(std::make_unique<Worker>(core.table));
    all_.back()->index = i;
    all_.back()->seen_turns.resize(count);
  }
  watched_.resize(count);
}

Workers::~Workers() = default;

void Workers::start(const std::shared_ptr<Core>& core) {
  try {
    for (auto& worker : all_) {
      worker->thread = std::thread([this, core, &worker] {
        name_this_thread(fmt::format("skein-work-{}", worker->index));
        const SignalStack stack;
        run(*worker);
        core_.table.drain(worker->slots);
        worker->exited.store(true, std::memory_order_release);
      });
    }
    clock_ = std::thread([this, core] {
      name_this_thread("skein-clock");
      clock_thread();
      clock_exited_.store(true, std::memory_order_release);
    });
  } catch (const std::system_error& error) {
    stop(k_forever);  // those that run have nothing to do
    throw std::system_error(error.code(),
                            fmt::format("starting the scheduler's {} threads: make RuntimeOptions::workers smaller, or "
                                        "raise the limits of memory (ulimit -v) and of tasks (ulimit -u, pids.max)",
                                        all_.size() + 1));
  } catch (...) {
    stop(k_forever);
    throw;
  }
}

unsigned Workers::stop(Duration deadline) {
  core_.stopping.store(true, std::memory_order_seq_cst);
  {
    const std::scoped_lock lock(core_.timer_mutex);
    core_.timer_changed.notify_all();
  }
  const std::int64_t now = steady_ns();
  const std::int64_t until = deadline.count() < k_forever.count() - now ? now + deadline.count() : k_forever.count();
  unsigned left_behind = 0;
  for (auto& worker : all_) {
    if (!worker->thread.joinable()) continue;  // it never began
    while (!worker->exited.load(std::memory_order_acquire) && steady_ns() < until) {
      worker->sleep_word.store(0, std::memory_order_seq_cst);
      futex_wake(worker->sleep_word);
      std::this_thread::yield();
    }
    if (worker->exited.load(std::memory_order_acquire)) {
      worker->thread.join();
    } else {
      worker->thread.detach();
      ++left_behind;
    }
  }
  if (!clock_.joinable()) return left_behind;
  // It may be inside a report or a message's copy, which are the user's.
  while (!clock_exited_.load(std::memory_order_acquire) && steady_ns() < until) std::this_thread::yield();
  if (clock_exited_.load(std::memory_order_acquire)) {
    clock_.join();
  } else {
    clock_.detach();
    ++left_behind;
  }
  return left_behind;
}

void Workers::schedule_new(Slot& slot) {
  if (t_turn.worker == nullptr || t_turn.core != &core_) {
    inject(slot);
    return;
  }
  const std::uint32_t waiting = t_turn.worker->queue.push_new(&slot);
  if (waiting >= k_long_backlog && sleepers_.load(std::memory_order_relaxed) != 0) wake_one();
}

void Workers::schedule_woken(Slot& slot) {
  if (t_turn.worker == nullptr || t_turn.core != &core_) {
    inject(slot);
    return;
  }
  if (!t_turn.worker->queue.put_only(&slot)) queue_woken(slot);
}

void Workers::queue_woken(Slot& slot) {
  const std::uint32_t waiting = t_turn.worker->queue.push_woken(&slot);
  if (waiting >= k_long_backlog && sleepers_.load(std::memory_order_relaxed) != 0) wake_one();
}

// A process that floods a sink of small messages moves to the sink's worker, and both are kept there.
void Workers::schedule_again(Slot& slot, bool waits) {
  Worker& here = *t_turn.worker;
  const Slot* sink = t_turn.sink;
  if (sink != nullptr && handles_small_messages(*sink)) {
    Worker& home = home_of(*sink, here);
    home.queue.push_kept(&slot, false, steady_ns());
    if (&home == &here) return;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    wake(home);
    return;
  }
  const bool is_sink = slot.flooded.load(std::memory_order_relaxed);
  if (is_sink) {
    slot.flooded.store(false, std::memory_order_relaxed);
    slot.worker.store(static_cast<std::uint8_t>(std::min<unsigned>(here.index, Slot::k_no_worker)),
                      std::memory_order_relaxed);
  }
  if (waits || (is_sink && handles_small_messages(slot))) {
    here.queue.push_kept(&slot, !waits, steady_ns());
    return;
  }
  schedule_woken(slot);
}

Worker& Workers::home_of(const Slot& sink, Worker& here) {
  const std::size_t index = sink.worker.load(std::memory_order_relaxed);
  return index < all_.size() ? *all_[index] : here;
}

// From an ordinary thread: any free worker takes it.
void Workers::inject(Slot& slot) {
  injected_.push_woken(&slot);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (spinners_.load(std::memory_order_seq_cst) == 0) wake_one();
}

void Workers::wake_one() {
  if (sleepers_.load(std::memory_order_seq_cst) == 0) return;
  for (auto& worker : all_) {
    if (wake(*worker)) return;
  }
}

// False: it was not asleep.
bool Workers::wake(Worker& worker) {
  std::uint32_t asleep = 1;
  if (worker.sleep_word.load(std::memory_order_relaxed) != 1 ||
      !worker.sleep_word.compare_exchange_strong(asleep, 0, std::memory_order_seq_cst)) {
    return false;
  }
  sleepers_.fetch_sub(1, std::memory_order_seq_cst);
  futex_wake(worker.sleep_word);
  return true;
}

// A backlog that lasts is worth waking somebody for.
void Workers::consider_waking(Worker& worker) {
  if (worker.queue.size() <= 1) {
    worker.backlog_since = 0;
    return;
  }
  if (sleepers_.load(std::memory_order_relaxed) == 0) return;
  const auto now = static_cast<std::uint64_t>(steady_ns());
  if (!worker.queue.has_for_thieves(static_cast<std::int64_t>(now))) {
    worker.backlog_since = 0;
  } else if (worker.backlog_since == 0) {
    worker.backlog_since = now;
  } else if (now - worker.backlog_since > static_cast<std::uint64_t>(k_sustained_ns)) {
    worker.backlog_since = 0;
    wake_one();
  }
}

// Looks at those woken from outside, now and then and after a long turn. `all`: at more than one of them.
Slot* Workers::next_from_outside(Worker& worker, bool all) {
  time_turn(worker.turn.load(std::memory_order_relaxed));  // what is found here is run at once
  Slot* slot = injected_.size() == 0 ? nullptr : injected_.pop();
  if (slot == nullptr) {
    consider_waking(worker);
    return nullptr;
  }
  worker.took_injected = true;
  // Those that wait with it need not wait for sixteen turns each.
  for (int i = 1; all && i < k_taken_in; ++i) {
    Slot* more = injected_.pop();
    if (more == nullptr) break;
    worker.queue.push_woken(more);
  }
  return slot;
}

Slot* Workers::next(Worker& worker) {
  const std::uint64_t turn = worker.turn.load(std::memory_order_relaxed);
  // Sixteen long turns are too long to wait for: those that were cut, or took all they may of messages.
  const bool was_cut = worker.cut_turn.load(std::memory_order_relaxed) + 1 == turn;
  const bool was_long = (was_cut || t_turn.budget <= 0) && !worker.took_injected;
  worker.took_injected = false;
  if ((turn & 0x1eU) == 0 || was_long) [[unlikely]] {
    if (Slot* slot = next_from_outside(worker, was_long); slot != nullptr) return slot;
  }
  if (Slot* slot = worker.queue.pop(); slot != nullptr) return slot;
  if (Slot* slot = injected_.pop(); slot != nullptr) return slot;
  return steal(worker);
}

// What is stolen must keep the thief busy for a while: fetching one small process after the other from another core
// costs both more than it saves. A thief that finds no more than that steals less and less often.
Slot* Workers::steal(Worker& thief) {
  const std::int64_t now = steady_ns();
  if (const std::int64_t stolen = std::exchange(thief.stolen_at, 0); stolen != 0) {
    thief.theft_pause = now - stolen >= k_worth_stealing_ns ? 0
                        : thief.theft_pause == 0            ? k_first_pause_ns
                                                            : std::min(2 * thief.theft_pause, k_longest_pause_ns);
    thief.no_theft_until = now + thief.theft_pause;
  }
  if (now < thief.no_theft_until) return nullptr;
  Slot* slot = steal_now(thief, now);
  if (slot != nullptr) thief.stolen_at = now;
  return slot;
}

Slot* Workers::steal_now(Worker& thief, std::int64_t now) {
  const std::size_t count = all_.size();
  for (std::size_t i = 1; i < count; ++i) {
    const std::size_t index = (thief.index + i) % count;
    Worker& victim = *all_[index];
    if (victim.queue.size() == 0) continue;
    // A lone process is left to its worker, unless that worker has been in the same turn since the last attempt.
    const std::uint64_t turn = victim.turn.load(std::memory_order_relaxed);
    const bool stalled = thief.seen_turns[index] == turn && (turn & 1U) != 0;
    thief.seen_turns[index] = turn;
    if (Slot* slot = victim.queue.steal(stalled ? 1 : 2, thief.queue, now); slot != nullptr) return slot;
  }
  return nullptr;
}

// Nothing to do: spins for a moment after work (one worker at a time), then sleeps. Returns work, or nullptr to look
// again. While there is activity sleepers look around, often after much work and less and less often when they find
// nothing: a program that only ticks now and then costs next to nothing.
Slot* Workers::idle(Worker& worker) {
  const std::int64_t since = steady_ns();
  const bool has_worked = worker.busy_since != 0;
  const bool is_recruited = worker.is_woken && !has_worked;
  if (is_recruited || (has_worked && since - worker.busy_since > k_long_busy_ns)) worker.fruitless = 0;
  worker.busy_since = 0;
  worker.is_woken = false;
  std::uint32_t none = 0;
  if (has_worked && spinners_.compare_exchange_strong(none, 1, std::memory_order_seq_cst)) {
    for (unsigned round = 1; !core_.stopping.load(std::memory_order_relaxed); ++round) {
      Slot* slot = injected_.pop();
      if (slot == nullptr) slot = worker.queue.pop();
      if (slot == nullptr && round % 16 == 0) slot = steal(worker);
      if (slot != nullptr) {
        spinners_.store(0, std::memory_order_seq_cst);
        // A thread that injected more meanwhile relied on this worker's spinning.
        if (injected_.size() != 0) wake_one();
        return slot;
      }
      pause_briefly();
      if (round % 64 == 0 && steady_ns() - since > k_spin_ns) break;
    }
    spinners_.store(0, std::memory_order_seq_cst);
  }
  if (const std::int64_t rest = worker.no_theft_until - steady_ns(); rest > 0) {
    // It does not count as a sleeper: a worker with a backlog would wake it for work that it must not take.
    futex_wait(worker.nap_word, 0, Duration(rest));
    return nullptr;
  }
  worker.sleep_word.store(1, std::memory_order_seq_cst);
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  // Work that was injected or sent here by a thread that had not yet seen this sleeper is found by this check.
  const bool nothing =
      injected_.size() == 0 && worker.queue.size() == 0 && !core_.stopping.load(std::memory_order_seq_cst);
  if (nothing) {
    const bool active = steady_ns() - last_activity_.load(std::memory_order_relaxed) < k_active_ns;
    const Duration poll = k_poll * (1U << std::min(worker.fruitless / k_polls_per_step, k_poll_steps));
    futex_wait(worker.sleep_word, 1, active ? poll : k_forever);
  }
  std::uint32_t asleep = 1;
  if (worker.sleep_word.compare_exchange_strong(asleep, 0, std::memory_order_seq_cst)) {
    sleepers_.fetch_sub(1, std::memory_order_seq_cst);
    ++worker.fruitless;
  } else {
    worker.is_woken = true;
  }
  return nullptr;
}

void Workers::run(Worker& worker) {
  t_turn.core = &core_;
  t_turn.worker = &worker;
  t_turn.slots = &worker.slots;
  const auto budget = static_cast<std::int32_t>(core_.options.turn_budget);
  bool was_idle = true;
  while (!core_.stopping.load(std::memory_order_relaxed)) {
    Slot* slot = next(worker);
    if (slot == nullptr) {
      was_idle = true;
      t_turn.timed_since = 0;
      slot = idle(worker);
      if (slot == nullptr) continue;
      time_turn(worker.turn.load(std::memory_order_relaxed));
    }
    if (was_idle) {
      was_idle = false;
      const std::int64_t now = steady_ns();
      // The first out of full idleness recruits another, who then polls for a while: a process that waits behind a
      // long handler is found by it.
      const std::int64_t before = last_activity_.exchange(now, std::memory_order_relaxed);
      worker.busy_since = now;
      if (now - before > k_active_ns) {
        wake_one();
        const std::scoped_lock lock(core_.timer_mutex);
        core_.timer_changed.notify_one();
      }
    } else if ((worker.turn.load(std::memory_order_relaxed) & 0x7ffU) == 0) {
      last_activity_.store(steady_ns(), std::memory_order_relaxed);
    }
    const std::uint64_t turn = worker.turn.load(std::memory_order_relaxed) + 1;
    worker.running.store(slot, std::memory_order_release);
    worker.handling.store(nullptr, std::memory_order_relaxed);
    worker.turn.store(turn, std::memory_order_release);
    t_turn.running = slot;
    t_turn.sink = nullptr;
    t_turn.sent_to_long = 0;
    t_turn.budget = budget;
    run_turn(core_, *slot);
    t_turn.running = nullptr;
    worker.turn.store(turn + 1, std::memory_order_relaxed);
  }
  t_turn = Turn{};
}

std::vector<Workers::Activity> Workers::activity() const {
  std::vector<Activity> all;
  each_activity([&all](const Activity& activity) { all.push_back(activity); });
  return all;
}

void Workers::watch(Instant now, Duration limit) {
  // Sixteen turns may be long although none of them is: those woken from outside are next after a turn that was cut.
  if (injected_.size() == 0) {
    outside_since_ = Instant::max();
  } else if (outside_since_ == Instant::max()) {
    outside_since_ = now;
  }
  const bool outside_waits = outside_since_ != Instant::max() && now - outside_since_ >= k_watch_turns;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    Worker& worker = *all_[i];
    Watched& watched = watched_[i];
    const std::uint64_t turn = worker.turn.load(std::memory_order_acquire);
    if (outside_waits && (turn & 1U) != 0) worker.cut_turn.store(turn, std::memory_order_relaxed);
    if (turn != watched.turn || (turn & 1U) == 0) {
      watched = Watched{turn, now, now, false, false};
      worker.stuck.store(false, std::memory_order_relaxed);
      continue;
    }
    worker.cut_turn.store(turn, std::memory_order_relaxed);
    // Whatever waits behind a long turn is for another worker.
    if (worker.queue.size() != 0) {
      last_activity_.store(steady_ns(), std::memory_order_relaxed);
      wake_one();
    }
    const Duration lasted = now - watched.since;
    const Slot* running = worker.running.load(std::memory_order_acquire);
    if (worker.turn.load(std::memory_order_acquire) == turn) {
      // The time since the last look; a sample that is written at the same moment may be lost.
      worker.counted_turn.store(turn, std::memory_order_relaxed);
      auto& handler_ns = const_cast<Slot*>(running)->handler_ns;
      handler_ns.fetch_add(static_cast<std::uint64_t>((now - watched.looked).count()), std::memory_order_relaxed);
      watched.looked = now;
    }
    const bool stuck = lasted >= core_.options.stuck_limit;
    if (lasted < limit || (watched.warned && (!stuck || watched.stuck))) continue;
    watched.warned = true;
    watched.stuck = stuck;
    worker.stuck.store(stuck, std::memory_order_relaxed);
    const Pid pid = pid_of(core_, *running);
    const PayloadType* handling = worker.handling.load(std::memory_order_relaxed);
    const ProcessType* type = running->type.load(std::memory_order_relaxed);
    core_.report_stuck(StuckReport{pid, core_.name_of(pid), type == nullptr ? "" : std::string(type->name),
                                   std::string(handling == nullptr ? doing(*running) : handling->name), lasted, stuck});
  }
}

// Timers and the watch over long turns. Sleeps until the next timer, and in short steps only while somebody works.
void Workers::clock_thread() {
  std::unique_lock lock(core_.timer_mutex);
  while (!core_.stopping.load(std::memory_order_relaxed)) {
    lock.unlock();
    const Instant now = core_.now();
    Instant next = core_.fire_timers(now);
    watch(now, core_.options.handler_warning);
    core_.watch_ending(now);
    const bool busy = !activity().empty();
    const bool ending = core_.ending.load(std::memory_order_relaxed) != 0;
    lock.lock();
    // Read with the lock held: a worker that begins to work after this wakes us after we began to wait.
    const std::int64_t quiet_ns = steady_ns() - last_activity_.load(std::memory_order_relaxed);
    Duration look = k_watch_idle;
    if (quiet_ns < 4 * k_active_ns || ending) look = k_watch_every;
    if (quiet_ns < k_active_ns || busy) look = k_watch_turns;
    if (core_.wheel.size() != 0) look = std::min(look, k_pause_look);
    next = std::min(next, later(now, look));
    // A timer added meanwhile with an earlier time is seen by its place in the wheel.
    next = std::min(next, std::max(core_.wheel.next(), now));
    core_.timer_wakes_at = next;
    if (core_.stopping.load(std::memory_order_relaxed)) break;
    const Duration rest = std::min(next - now, Duration(std::chrono::hours(1)));
    const Instant wakes_at = core_.clock.raw_of(later(now, rest));
    core_.clock.look(Instant(Duration(steady_ns())), wakes_at);
    core_.clock_sleeps_long = rest > k_pause_look;
    if (rest > Duration::zero()) {
      core_.timer_changed.wait_until(lock, std::chrono::steady_clock::time_point(wakes_at.time_since_epoch()));
    }
    core_.timer_wakes_at = Instant::min();
    core_.clock_sleeps_long = false;
  }
  core_.clock.look(Instant(Duration(steady_ns())), Instant::max());  // nobody looks any more
}

}  // namespace skein::inline v0::detail
