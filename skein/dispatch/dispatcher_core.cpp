// What all parts of the core share: how a task is queued and waits, and the step that hands everything out.
#include "skein/dispatch/dispatcher_core.hpp"

#include "skein/base/must_hold.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

namespace skein::inline v0::dispatch {
namespace {

constexpr Duration k_state_again = std::chrono::seconds(1);

// A detector is sure a little more than an interval after the pause it accepts. The window is short, since there may be
// many agents; looking once per tick is no pause of ours.
PhiOptions judge_for(const DispatcherOptions& given) {
  PhiOptions options;
  options.threshold = given.phi_threshold;
  options.first_interval = given.heartbeat_every;
  options.acceptable_pause = std::max(given.silent_after - 2 * given.heartbeat_every, Duration::zero());
  options.window = 16;
  options.local_pause = 3 * given.tick;
  return options;
}

}  // namespace

StateView StateView::of(const ledger::FrozenLedger& frozen) {
  return {frozen.epoch(),         frozen.open_tasks(),          frozen.swarms(), frozen.agents(),
          frozen.counters().keys, frozen.counters().last_fence, frozen.version()};
}

DispatcherCore::DispatcherCore(DispatcherOptions options, std::uint64_t seed)
    : options_(std::move(options)),
      judge_(std::make_shared<const PhiOptions>(judge_for(options_))),
      random_(seed),
      router_(options_.router),
      queue_([this](const ReadyEntry& entry, SlotNumber lane) {
        const TaskRecord& task = tables_.tasks[entry.slot];
        return task.phase == TaskPhase::ready && task.lane == lane && task.order == entry.order &&
               task.effective_priority == entry.priority;
      }),
      outgoing_(options_) {
  if (options_.lease <= Duration::zero() || options_.tick <= Duration::zero() ||
      options_.ask_again <= Duration::zero() || options_.age_step <= Duration::zero() ||
      options_.half_open_interval <= Duration::zero()) {
    throw std::invalid_argument(
        "dispatcher: lease, tick, ask_again, age_step and half_open_interval must be longer than zero");
  }
  if (options_.appends_in_flight < 2 || options_.ops_per_command == 0 || options_.ops_per_command > ledger::k_ops_max ||
      options_.ages_at_once == 0) {
    throw std::invalid_argument("dispatcher: appends_in_flight must be at least 2, ops_per_command from 1 to 100000");
  }
  if (options_.silent_after <= Duration::zero() || judge_->problem()) {
    throw std::invalid_argument("dispatcher: silent_after and phi_threshold must be above zero");
  }
  if (!ledger::agent_fallback_named(options_.agent_fallback)) {
    throw std::invalid_argument("dispatcher: agent_fallback must be none or any");
  }
  for (const auto& [name, limit] : options_.executors) {
    if (!router_.add_executor(name, limit)) {
      throw std::invalid_argument(fmt::format("dispatcher: executor '{}' is named twice or there are too many", name));
    }
  }
}

void DispatcherCore::fill(SlotNumber slot, const ledger::Task& task, const Moment& moment) {
  TaskRecord& record = tables_.tasks[slot];
  if (record.number == 0) {
    record.id = task.id;
    record.number = task.number;
    record.params = task.params;
    record.extras = task.extras;
    record.timeout_ms = task.timeout_ms;
    record.priority = task.priority;
    record.deadline_at = task.deadline_at;
    if (task.deadline_at != 0) record.deadline_due = instant_of(task.deadline_at, moment);
    lanes_.hold(record, task.shape);
  } else if (record.shape().swarm != task.shape->swarm || record.pinned_to() != task.pinned_to()) {
    lanes_.move(record, task);
  }
  // After each attempt the wait for its agent starts over.
  if (record.past && record.attempts != task.attempts) record.past->unpin_at = Instant::max();
  if (task.mark) record.its_past().mark = task.mark;
  record.fence = task.fence;
  record.order = task.order;
  record.attempts = task.attempts;
  record.attempts_max = task.attempts_max;
  record.effective_priority = task.effective_priority;
}

void DispatcherCore::forget(SlotNumber slot) {
  TaskRecord& record = tables_.tasks[slot];
  leave_queue(slot);
  queue_.let_go(record.lane);
  due_.remove(slot);
  tables_.by_number.remove(record.number);
  tables_.tasks.remove(slot);
}

void DispatcherCore::leave_queue(SlotNumber slot) {
  TaskRecord& record = tables_.tasks[slot];
  if (record.phase != TaskPhase::ready) return;
  record.become(TaskPhase::none);
  queue_.dropped(record.lane);
}

void DispatcherCore::make_ready(SlotNumber slot, const Moment& moment) {
  TaskRecord& record = tables_.tasks[slot];
  record.become(TaskPhase::ready);
  record.wait_until = Instant::max();
  record.asks_again_at = Instant{};
  if (!record.pinned_to().empty()) wait_for_agent(record, options_, moment.now);
  queue_.push(record.lane, {record.order, slot, record.effective_priority});
  ageing_.wait(slot, moment.now, queue_.ready());
  set_due(slot);
}

void DispatcherCore::queue_task(SlotNumber slot, const ledger::Task& task, const Moment& moment) {
  TaskRecord& record = tables_.tasks[slot];
  record.batch = 0;
  if (task.not_before <= moment.wall) {
    make_ready(slot, moment);
    return;
  }
  record.become(TaskPhase::delayed);
  record.wait_until = instant_of(task.not_before, moment);
  set_due(slot);
}

void DispatcherCore::set_due(SlotNumber slot) {
  const TaskRecord& record = tables_.tasks[slot];
  Instant at = Instant::max();
  switch (record.phase) {
    case TaskPhase::delayed:
      at = std::min(record.wait_until, record.deadline_due);
      break;
    case TaskPhase::blocked:
      at = record.deadline_due;
      break;
    case TaskPhase::ready:
      at = record.deadline_due;
      if (record.past && !record.pinned_to().empty()) at = std::min(at, record.past->unpin_at);
      break;
    case TaskPhase::running: {
      const Run& run = tables_.runs[record.run];
      at = std::min({run.lease_until, run.timeout_at, record.deadline_due});
      break;
    }
    case TaskPhase::none:
    case TaskPhase::assigning:
    case TaskPhase::ending:
      break;
  }
  due_.set(slot, at);
}

void DispatcherCore::depose(std::string_view by) {
  if (is_deposed_) return;
  is_deposed_ = true;
  outgoing_.drop_queued();
  output_.tell(DispatchEvent::Kind::deposed, by);
}

DispatchOutput DispatcherCore::step(const Moment& moment) {
  if (has_state_ && !is_deposed_) {
    late_step(moment);
    while (due_.next() <= moment.now) task_due(due_.pop(), moment);
    if (moment.now >= next_tick_) tick(moment);
    round(moment);
    outgoing_.take_ready(output_.appends);
  }
  must_hold(!is_deposed_ || output_.appends.empty(), "dispatcher_core.hpp 9: whoever was deposed appends nothing");
  tell_router_changes(moment);
  mail_.take(output_.mail, moment.now);
  if (state_needed_ && (state_asked_at_ == Instant::min() || moment.now - state_asked_at_ >= k_state_again)) {
    state_needed_ = false;
    state_asked_at_ = moment.now;
    output_.wants_state = true;
  }
  output_.wake_at = Instant::max();
  if (has_state_ && !is_deposed_) {
    output_.wake_at = std::min(due_.next(), next_tick_);
    // One that has passed waits for an append to be answered, or for a task.
    if (next_ask_ > moment.now) output_.wake_at = std::min(output_.wake_at, next_ask_);
  }
  promised_ = output_.wake_at;
  return std::exchange(output_, DispatchOutput{});
}

}  // namespace skein::inline v0::dispatch
