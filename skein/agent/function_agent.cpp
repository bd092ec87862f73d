#include "skein/agent/function_agent.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <utility>

namespace skein::inline v0::agent {

using dispatch::TaskRef;

namespace {

constexpr std::uint32_t k_beats_until_again = 3;

}  // namespace

FunctionOutcome echo(const dispatch::Order& order) { return FunctionResult{order.params}; }

FunctionOutcome sleep(const dispatch::Order& order) {
  const auto text = ledger::view_of(order.params);
  std::int64_t ms = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ms);
  if (error != std::errc{} || end != text.data() + text.size() || ms < 0 || ms > 86'400'000) {
    return FunctionFailure{ledger::ErrorClass::permanent, "sleep takes milliseconds, from 0 to 86400000", std::nullopt};
  }
  return FunctionLater{std::chrono::milliseconds(ms), nullptr};
}

FunctionOutcome fail(const dispatch::Order& order) {
  return FunctionFailure{ledger::ErrorClass::transient, std::string(ledger::view_of(order.params)), std::nullopt};
}

FunctionOutcome crash(const dispatch::Order& order) {
  throw std::runtime_error("asked to crash by task " + order.id.text());
}

FunctionOutcome built_in(const dispatch::Order& order) {
  const std::string& type = order.shape->type;
  if (type == "echo") return echo(order);
  if (type == "sleep") return sleep(order);
  if (type == "fail") return fail(order);
  if (type == "crash") return crash(order);
  return FunctionFailure{ledger::ErrorClass::permanent, "no built-in function '" + type + "'", std::nullopt};
}

std::vector<std::string> built_in_types() { return {"echo", "sleep", "fail", "crash"}; }

FunctionAgent::FunctionAgent(Self self, std::unique_ptr<FunctionAgentOptions> options) : options_(std::move(options)) {
  if (!options_ || options_->id.empty() || !options_->function) {
    throw std::invalid_argument("function agent: an id and a function must be given");
  }
  options_->slots = std::clamp<std::uint32_t>(options_->slots, 1, dispatch::k_slots_max);
  self.continue_with<FunctionAgent>(Begin{});
}

void FunctionAgent::handle_continue(Self self, Begin) {
  self.send_interval(options_->heartbeat_every, self.pid(), Beat{});
  connect(self);
}

void FunctionAgent::connect(Self self) {
  if (dispatcher_) return;
  const Pid pid = self.whereis(options_->dispatcher);
  if (!pid) {
    self.send_after(options_->connect_every, self.pid(), Connect{});
    return;
  }
  dispatcher_ = pid;
  watch_ = self.monitor(pid);
  seen_ = 0;
  dispatch::AgentReady ready;
  ready.id = options_->id;
  ready.role = options_->role;
  ready.capabilities = options_->capabilities;
  ready.slots = options_->slots;
  ready.is_function = true;
  ready.reports_starts = true;
  ready.held = held_refs();
  // What was to be reported is asked for again by who is there now.
  report_ = dispatch::AgentReport{};
  self.send(dispatcher_, std::move(ready));
}

std::vector<TaskRef> FunctionAgent::held_refs() const {
  std::vector<TaskRef> refs;
  refs.reserve(held_.size());
  for (const auto& [number, held] : held_) refs.push_back(held.order.ref);
  std::sort(refs.begin(), refs.end());
  return refs;
}

void FunctionAgent::handle_info(Self self, Message message) {
  if (auto* orders = message.get_if<dispatch::Orders>()) {
    if (message.from() == dispatcher_) take(self, *orders);
  } else if (message.is<Work>()) {
    is_working_ = false;
    work(self);
  } else if (message.is<Beat>()) {
    beat(self);
  } else if (auto* ripe = message.get_if<Ripe>()) {
    if (later_ != ripe->ref) return;
    later_.reset();
    if (Held* held = find(ripe->ref)) ended(ripe->ref, *held, FunctionResult{std::move(ripe->result)});
    work(self);
  } else if (const auto* down = message.get_if<Down>()) {
    if (down->ref != watch_) return;
    dispatcher_ = Pid{};
    connect(self);
  } else if (message.is<Connect>()) {
    connect(self);
  } else if (message.is<dispatch::PauseAgent>()) {
    is_paused_ = true;
  } else if (message.is<dispatch::ResumeAgent>()) {
    is_paused_ = false;
    work(self);
  }
}

FunctionAgent::Held* FunctionAgent::find(TaskRef ref) {
  const auto at = held_.find(ref.number);
  return at == held_.end() || at->second.order.ref != ref ? nullptr : &at->second;
}

void FunctionAgent::take(Self self, dispatch::Orders& orders) {
  seen_ = orders.sequence;
  if (orders.full) {
    for (const TaskRef ref : held_refs()) {
      const auto wanted =
          std::any_of(orders.run.begin(), orders.run.end(), [&](const auto& o) { return o.ref == ref; });
      if (!wanted) stop_task({ref, dispatch::StopReason::stale});
    }
  }
  for (const TaskRef ref : orders.settled) {
    const Held* held = find(ref);
    if (held != nullptr && held->stage == Stage::ended) held_.erase(ref.number);
  }
  for (const auto& stop : orders.stop) stop_task(stop);
  for (const TaskRef ref : orders.ask_again) say_again(ref);
  for (auto& order : orders.run) take_order(order);
  work(self);
}

void FunctionAgent::take_order(dispatch::Order& order) {
  const TaskRef ref = order.ref;
  const auto at = held_.find(ref.number);
  if (at != held_.end()) {
    // The same again, or an older one that comes late.
    if (at->second.order.ref.fence >= ref.fence) return;
    stop_task({at->second.order.ref, dispatch::StopReason::stale});
    if (held_.contains(ref.number)) return;
  }
  held_.emplace(ref.number, Held{std::move(order), Stage::waiting, 0, {}});
  queue_.push_back(ref);
}

void FunctionAgent::stop_task(const dispatch::StopTask& stop) {
  const Held* held = find(stop.ref);
  if (held == nullptr) {
    // Whoever asks believes it is here.
    report_.handed_back.push_back(stop.ref);
    return;
  }
  const bool is_yield = stop.why == dispatch::StopReason::yield;
  if (held->stage == Stage::ended && is_yield) return;
  if (later_ == stop.ref) later_.reset();
  held_.erase(stop.ref.number);
  report_.handed_back.push_back(stop.ref);
}

void FunctionAgent::say_again(TaskRef ref) {
  const Held* held = find(ref);
  if (held == nullptr || held->stage == Stage::waiting) return;
  if (held->stage == Stage::running) {
    report_.started.push_back({ref});
  } else if (const auto* done = std::get_if<dispatch::TaskComplete>(&held->outcome)) {
    report_.complete.push_back(*done);
  } else if (const auto* failed = std::get_if<dispatch::TaskFailed>(&held->outcome)) {
    report_.failed.push_back(*failed);
  }
}

// A report may have been lost: what is not settled after some heartbeats is said again.
void FunctionAgent::beat(Self self) {
  for (const TaskRef ref : held_refs()) {
    Held* held = find(ref);
    if (held->stage == Stage::waiting || ++held->beats < k_beats_until_again) continue;
    held->beats = 0;
    say_again(ref);
  }
  report(self);
  if (dispatcher_) self.send(dispatcher_, dispatch::AgentHeartbeat{seen_, held_refs()});
}

void FunctionAgent::work(Self self) {
  const Instant began = self.now();
  Instant now = began;
  while (!queue_.empty() && !later_ && !is_paused_) {
    const TaskRef ref = queue_.front();
    Held* held = find(ref);
    if (held == nullptr || held->stage != Stage::waiting) {
      queue_.pop_front();
      continue;
    }
    if (now - began >= options_->turn) break;
    queue_.pop_front();
    // The time is looked at between tasks only; one that follows a slow one is said to have started.
    if (now - reported_at_ >= options_->report_every) {
      report_.started.push_back({ref});
      report(self);
      reported_at_ = now;
    }
    run_one(self, ref, *held);
    now = self.now();
  }
  report(self);
  reported_at_ = now;
  const bool has_more = !queue_.empty() && !later_ && !is_paused_;
  if (has_more && !is_working_) is_working_ = self.send(self.pid(), Work{}) == SendResult::ok;
}

void FunctionAgent::run_one(Self self, TaskRef ref, Held& held) {
  held.stage = Stage::running;
  inside_ = ref;
  FunctionOutcome outcome = options_->function(held.order);
  inside_.reset();
  if (auto* later = std::get_if<FunctionLater>(&outcome)) {
    later_ = ref;
    report_.started.push_back({ref});
    self.send_after(later->after, self.pid(), Ripe{ref, std::move(later->result)});
    return;
  }
  ended(ref, held, std::move(outcome));
}

void FunctionAgent::ended(TaskRef ref, Held& held, FunctionOutcome outcome) {
  held.stage = Stage::ended;
  held.beats = 0;
  if (auto* done = std::get_if<FunctionResult>(&outcome)) {
    ++completed_;
    held.outcome = dispatch::TaskComplete{ref, std::move(done->result)};
    report_.complete.push_back(std::get<dispatch::TaskComplete>(held.outcome));
  } else if (auto* failure = std::get_if<FunctionFailure>(&outcome)) {
    ++failed_;
    held.outcome = dispatch::TaskFailed{ref, failure->error, std::move(failure->message), failure->retry_after};
    report_.failed.push_back(std::get<dispatch::TaskFailed>(held.outcome));
  }
}

void FunctionAgent::report(Self self) {
  const bool is_empty = report_.started.empty() && report_.progress.empty() && report_.complete.empty() &&
                        report_.failed.empty() && report_.handed_back.empty();
  if (is_empty || !dispatcher_) return;
  self.send(dispatcher_, std::exchange(report_, dispatch::AgentReport{}));
}

FunctionAgentState FunctionAgent::handle_call(Self, GetFunctionAgentState) {
  FunctionAgentState state;
  state.id = options_->id;
  state.status = is_paused_ ? "paused" : later_ ? "executing" : "idle";
  state.queue_length = queue_.size();
  for (const auto& [number, held] : held_) state.unsettled += held.stage == Stage::ended ? 1 : 0;
  state.tasks_completed = completed_;
  state.tasks_failed = failed_;
  return state;
}

// Also after a crash: what was done is told, what was not begun is handed back. What was at work is neither.
void FunctionAgent::terminate(Self self, const ExitReason&) {
  report(self);
  if (!dispatcher_) return;
  dispatch::AgentTerminating ending;
  for (const TaskRef ref : held_refs()) {
    const Held* held = find(ref);
    if (held->stage == Stage::waiting) ending.handed_back.push_back(ref);
  }
  self.send(dispatcher_, std::move(ending));
}

}  // namespace skein::inline v0::agent
