// Tables, output and what all parts of the core share.
#include "skein/dispatch/dispatcher_core.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "skein/dispatch/dispatcher_append.hpp"

namespace skein::inline v0::dispatch {
namespace {

constexpr Duration k_state_again = std::chrono::seconds(1);

// A task's own number of attempts is the ledger's business: the policy only says how long to wait.
RetryOptions without_end(RetryOptions options) {
  options.attempts = UINT32_MAX;
  return options;
}

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

std::string_view name_of(DispatchEvent::Kind kind) {
  using enum DispatchEvent::Kind;
  switch (kind) {
    case agent_joined:
      return "agent_joined";
    case agent_left:
      return "agent_left";
    case agent_crashed:
      return "agent_crashed";
    case agent_refused:
      return "agent_refused";
    case agent_silent:
      return "agent_silent";
    case agent_passed_over:
      return "agent_passed_over";
    case agent_back:
      return "agent_back";
    case was_late:
      return "was_late";
    case was_paused:
      return "was_paused";
    case routing_timeout:
      return "routing_timeout";
    case lease_expired:
      return "lease_expired";
    case attempt_timed_out:
      return "attempt_timed_out";
    case preempted:
      return "preempted";
    case taken_back:
      return "taken_back";
    case handed_on:
      return "handed_on";
    case unpinned:
      return "unpinned";
    case breaker_warning:
      return "breaker_warning";
    case breaker_opened:
      return "breaker_opened";
    case breaker_half_opened:
      return "breaker_half_opened";
    case breaker_closed:
      return "breaker_closed";
    case deposed:
      return "deposed";
    case dispatch_refused:
      return "dispatch_refused";
    case learned_refused:
      return "learned_refused";
  }
  return "unknown";
}

StateView StateView::of(const ledger::FrozenLedger& frozen) {
  return {frozen.epoch(),         frozen.open_tasks(),          frozen.swarms(), frozen.agents(),
          frozen.counters().keys, frozen.counters().last_fence, frozen.version()};
}

DispatcherCore::DispatcherCore(DispatcherOptions options, std::uint64_t seed)
    : options_(std::move(options)),
      judge_(std::make_shared<const PhiOptions>(judge_for(options_))),
      random_(seed),
      router_(options_.router),
      retry_(without_end(options_.retry)),
      queue_([this](const ReadyEntry& entry, SlotNumber lane) {
        const TaskRecord& task = tasks_[entry.slot];
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
  for (const auto& [type, each] : options_.types) {
    if (each.retry) type_retry_.emplace(type, RetryPolicy(without_end(*each.retry)));
    if (each.adaptive_timeout) type_timeout_.emplace(type, AdaptiveTimeout(*each.adaptive_timeout));
  }
  for (const auto& [name, limit] : options_.executors) {
    if (!router_.add_executor(name, limit)) {
      throw std::invalid_argument(fmt::format("dispatcher: executor '{}' is named twice or there are too many", name));
    }
  }
}

SlotNumber DispatcherCore::swarm_slot(std::string_view name) {
  if (const auto at = swarm_names_.find(name); at != swarm_names_.end()) return at->second;
  const SlotNumber slot = swarms_.add();
  swarms_[slot].name = name;
  swarms_[slot].strategy = options_.strategy;
  swarm_names_.emplace(name, slot);
  return slot;
}

SlotNumber DispatcherCore::record_for(const ledger::Task& task) {
  SlotNumber slot = by_number_.find(task.number);
  if (slot == k_no_slot) {
    slot = tasks_.add();
    by_number_.add(task.number, slot);
  }
  return slot;
}

void DispatcherCore::fill(SlotNumber slot, const ledger::Task& task, const Moment& moment) {
  TaskRecord& record = tasks_[slot];
  if (record.number == 0) {
    record.id = task.id;
    record.number = task.number;
    record.params = task.params;
    record.extras = task.extras;
    record.timeout_ms = task.timeout_ms;
    record.priority = task.priority;
    record.deadline_at = task.deadline_at;
    if (task.deadline_at != 0) {
      record.deadline_due = moment.now;
      if (task.deadline_at > moment.wall) {
        const auto left = std::min<ledger::WallMs>(task.deadline_at - moment.wall, k_wall_ms_max);
        record.deadline_due = later(moment.now, std::chrono::milliseconds(left));
      }
    }
    hold_lane(record, task.shape);
  } else if (record.shape().swarm != task.shape->swarm || record.pinned_to() != task.pinned_to()) {
    move_to_its_lane(record, task);
  }
  // It waits for its agent anew after each attempt.
  if (record.past && record.attempts != task.attempts) record.past->unpin_at = Instant::max();
  if (task.mark) record.its_past().mark = task.mark;
  record.fence = task.fence;
  record.order = task.order;
  record.attempts = task.attempts;
  record.attempts_max = task.attempts_max;
  record.effective_priority = task.effective_priority;
}

void DispatcherCore::hold_lane(TaskRecord& record, const std::shared_ptr<const ledger::Shape>& shape) {
  record.swarm = swarm_slot(shape->swarm);
  const SwarmRecord& swarm = swarms_[record.swarm];
  const auto place = queue_.hold(shape, record.swarm, swarm.own_agents, swarm.share_group, record.pinned_to());
  record.lane = place.lane;
  record.shared_shape = place.shape;
}

// It was handed on, or unpinned.
void DispatcherCore::move_to_its_lane(TaskRecord& record, const ledger::Task& task) {
  const SlotNumber before = record.lane;
  const bool is_handed_on = record.shape().swarm != task.shape->swarm;
  record.extras = task.extras;
  hold_lane(record, task.shape);
  queue_.let_go(before);
  if (!record.past || !is_handed_on) return;
  // Whoever failed it is of the swarm it left.
  record.past->failed_by = 0;
  record.past->retry.reset();
}

void DispatcherCore::forget(SlotNumber slot) {
  TaskRecord& record = tasks_[slot];
  leave_queue(slot);
  queue_.let_go(record.lane);
  due_.remove(slot);
  by_number_.remove(record.number);
  tasks_.remove(slot);
}

void DispatcherCore::leave_queue(SlotNumber slot) {
  TaskRecord& record = tasks_[slot];
  if (record.phase != TaskPhase::ready) return;
  record.become(TaskPhase::none);
  queue_.dropped(record.lane);
}

void DispatcherCore::make_ready(SlotNumber slot, const Moment& moment) {
  TaskRecord& record = tasks_[slot];
  record.become(TaskPhase::ready);
  record.wait_until = Instant::max();
  record.asks_again_at = Instant{};
  if (!record.pinned_to().empty()) wait_for_agent(record, moment);
  queue_.push(record.lane, {record.order, slot, record.effective_priority});
  if (record.effective_priority < ledger::k_high) wait_to_age(slot, moment.now);
  ageing_.sweep(queue_.ready(), [this](const Ageing::Entry& each) { return is_ageing(each); });
  set_due(slot);
}

// With tasks that take minutes a fixed time would raise a whole queue to one class before the first of it has ended.
Duration DispatcherCore::age_step_of(const TaskRecord& task) {
  const auto usual = options_.age_runs == 0 ? std::nullopt : router_.usual_run(type_of(task));
  if (!usual) return options_.age_step;
  const bool is_long = *usual > k_forever / options_.age_runs;
  return std::max(options_.age_step, is_long ? k_forever : *usual * options_.age_runs);
}

void DispatcherCore::wait_to_age(SlotNumber slot, Instant since) {
  const TaskRecord& record = tasks_[slot];
  ageing_.add({later(since, age_step_of(record)), since, record.order, slot});
}

// Kept with the task's lane, whose tasks are of one type.
TypeRef DispatcherCore::type_of(const TaskRecord& task) {
  std::uint64_t& mark = queue_.mark(task.lane);
  TypeRef type{static_cast<std::uint32_t>(mark >> 32U) - 1, static_cast<std::uint32_t>(mark)};
  if (mark != 0 && router_.knows(type)) return type;
  type = router_.type(task.shape().type);
  mark = ((std::uint64_t{type.slot} + 1) << 32U) | type.incarnation;
  return type;
}

bool DispatcherCore::is_ageing(const Ageing::Entry& entry) const {
  const TaskRecord& task = tasks_[entry.slot];
  return task.phase == TaskPhase::ready && task.order == entry.order;
}

void DispatcherCore::queue_task(SlotNumber slot, const ledger::Task& task, const Moment& moment) {
  TaskRecord& record = tasks_[slot];
  record.batch = 0;
  if (task.not_before <= moment.wall) {
    make_ready(slot, moment);
    return;
  }
  const auto wait = std::min<ledger::WallMs>(task.not_before - moment.wall, k_wall_ms_max);
  record.become(TaskPhase::delayed);
  record.wait_until = later(moment.now, std::chrono::milliseconds(wait));
  set_due(slot);
}

void DispatcherCore::set_due(SlotNumber slot) {
  const TaskRecord& record = tasks_[slot];
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
      const Run& run = runs_[record.run];
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

void DispatcherCore::event(DispatchEvent::Kind kind, std::string_view subject, ledger::TaskNumber task,
                           std::string detail) {
  output_.events.push_back({kind, std::string(subject), task, std::move(detail)});
}

void DispatcherCore::depose(std::string_view by) {
  if (is_deposed_) return;
  is_deposed_ = true;
  outgoing_.drop_queued();
  event(DispatchEvent::Kind::deposed, by);
}

Orders& DispatcherCore::mail_to(SlotNumber slot) {
  AgentRecord& agent = agents_[slot];
  if (!agent.is_in_mail) {
    agent.is_in_mail = true;
    in_mail_.push_back(slot);
  }
  return agent.its_mail().out;
}

void DispatcherCore::send_mail(const Moment& moment) {
  for (const SlotNumber slot : in_mail_) {
    AgentRecord& agent = agents_[slot];
    if (!agent.is_in_mail) continue;
    agent.is_in_mail = false;
    if (!agent.mail) continue;
    Orders& out = agent.mail->out;
    if (!agent.pid || out.empty()) {
      out = Orders{};
      continue;
    }
    out.sequence = ++agent.sequence;
    agent.sent_at = moment.now;
    output_.mail.emplace_back(agent.pid, std::exchange(out, Orders{}));
  }
  in_mail_.clear();
}

DispatchOutput DispatcherCore::step(const Moment& moment) {
  if (has_state_ && !is_deposed_) {
    late_step(moment);
    run_due(moment);
    if (moment.now >= next_tick_) tick(moment);
    round(moment);
    outgoing_.take_ready(output_.appends);
  }
  tell_router_changes(moment);
  send_mail(moment);
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

std::string DispatcherCore::inconsistency() const {
  std::size_t counted = 0;
  std::vector<std::size_t> ready(queue_.lanes().size());
  for (SlotNumber slot = 0; slot < tasks_.slots(); ++slot) {
    const TaskRecord& task = tasks_[slot];
    if (task.number == 0) continue;
    ++counted;
    if (by_number_.find(task.number) != slot) return fmt::format("task {} is not to be found", task.number);
    if (task.phase == TaskPhase::none) return fmt::format("task {} is nowhere", task.number);
    if (task.phase == TaskPhase::ready) ++ready[task.lane];
    const bool should_run = task.phase == TaskPhase::assigning || task.phase == TaskPhase::running;
    if (should_run && task.run == k_no_slot) return fmt::format("task {} has no run", task.number);
    if (task.run != k_no_slot && runs_[task.run].task != slot) return fmt::format("task {}: wrong run", task.number);
    if (task.phase == TaskPhase::ready && task.run != k_no_slot)
      return fmt::format("task {} waits and runs", task.number);
    if ((task.phase == TaskPhase::assigning || task.phase == TaskPhase::ending) && task.batch == 0) {
      return fmt::format("task {} waits for no append", task.number);
    }
  }
  if (counted != by_number_.size()) return "records and numbers differ";
  for (std::size_t i = 0; i < ready.size(); ++i) {
    if (queue_.lanes()[i].ready != ready[i]) return fmt::format("lane {} has lost count of its tasks", i);
  }
  std::size_t at_agents = 0;
  for (SlotNumber slot = 0; slot < agents_.slots(); ++slot) {
    const AgentRecord& agent = agents_[slot];
    at_agents += agent.runs.size();
    const bool is_away = agent.state == AgentState::away;
    if (is_away == static_cast<bool>(agent.pid))
      return fmt::format("agent {} is away and has a process, or neither", agent.id);
    for (std::size_t i = 0; i < agent.runs.size(); ++i) {
      const Run& run = runs_[agent.runs[i]];
      if (run.agent != slot || run.place != i) return fmt::format("agent {}: wrong place of a run", agent.id);
    }
  }
  if (at_agents != runs_.size()) return "runs and agents differ";
  return {};
}

}  // namespace skein::inline v0::dispatch
