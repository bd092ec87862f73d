#include "skein/dispatch/dispatcher.hpp"

#include <memory>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "skein/runtime/pause.hpp"

namespace skein::inline v0::dispatch {
namespace {

std::unique_ptr<DispatcherSetup> checked(std::unique_ptr<DispatcherSetup> setup) {
  if (!setup || setup->runtime == nullptr || setup->journal == nullptr || setup->ledger == nullptr ||
      !setup->wall_clock || !setup->entropy) {
    throw std::invalid_argument("dispatcher: runtime, journal, ledger, wall_clock and entropy must be given");
  }
  return setup;
}

// The ledger goes on referring to it when the journal no longer takes orders: once per journal that failed, so few.
void keep_for_good(std::shared_ptr<DispatcherInbox> inbox) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<std::shared_ptr<DispatcherInbox>>;  // outlives every thread
  const std::scoped_lock lock(mutex);
  kept->push_back(std::move(inbox));
}

bool is_graceful(const ExitReason& reason) { return reason.is_normal() || reason.is_shutdown(); }

}  // namespace

Dispatcher::Dispatcher(Self self, std::unique_ptr<DispatcherSetup> setup)
    : setup_(checked(std::move(setup))),
      core_(setup_->options, setup_->entropy()),
      inbox_(std::make_shared<DispatcherInbox>(*setup_->runtime, self.pid(), setup_->options.inbox_changes)),
      id_high_(setup_->entropy() | 1U),
      again_{.first = setup_->options.append_again, .max = setup_->options.append_again_max},
      is_sink_added_(std::make_shared<bool>(false)) {
  lost_ = time_lost(*setup_->runtime);
  // Damage shows when it is read from the disk; whoever hands over another text begins afresh.
  if (!setup_->learned.empty() && !core_.router().learned().restore(setup_->learned) && setup_->on_event) {
    setup_->on_event({DispatchEvent::Kind::learned_refused, setup_->options.node, 0,
                      "what was learned cannot be read; learning begins afresh"});
  }
  learned_told_ = core_.router().learned().changes();
  self.continue_with<Dispatcher>(Begin{});
}

Dispatcher::~Dispatcher() {
  inbox_->close();
  hand_over_learned();
  // Only on the journal's thread may the ledger forget the sink. When that is no longer to be had, it stays.
  setup_->journal->read(journal::Read::local(), [inbox = inbox_, added = is_sink_added_,
                                                 ledger = setup_->ledger](const journal::ReadAnswer& answer) {
    if (answer.outcome == journal::Outcome::applied) {
      if (std::exchange(*added, false)) ledger->remove_sink(*inbox);
    } else {
      keep_for_good(inbox);
    }
  });
}

void Dispatcher::handle_continue(Self, Begin) { take_dispatch(); }

void Dispatcher::take_dispatch() {
  // A new id each time: what counts is the last one applied, and an older one must not be answered instead.
  journal::Batch batch;
  const ledger::Op ops[] = {ledger::TakeDispatch{setup_->options.node, setup_->wall_clock()},
                            ledger::LedgerVersion{setup_->options.ledger_version}};
  batch.push_back({next_id(), ledger::encode_command(ops)});
  setup_->journal->append(
      std::move(batch),
      [inbox = inbox_](journal::AppendAnswer answer) { inbox->put(DispatchAnswer{std::move(answer)}); },
      journal::Urgency::completion);
}

void Dispatcher::on_dispatch_taken(Self self, const journal::AppendAnswer& answer) {
  if (answer.outcome == journal::Outcome::stopped || answer.outcome == journal::Outcome::refused) {
    is_over_ = true;
    self.stop(ExitReason::custom("the journal has stopped: " + answer.why));
    return;
  }
  const auto results = answer.outcome == journal::Outcome::applied && answer.results.size() == 1
                           ? ledger::decode_results(answer.results[0].result)
                           : std::nullopt;
  if (!results || results->empty() || (*results)[0].refused()) {
    if (results && !results->empty()) tell_refusal((*results)[0]);
    self.send_after(take_again_.next_wait(again_), self.pid(), TakeAgain{});
    return;
  }
  epoch_ = (*results)[0].number;
  ask_for_state();
}

// Reported once. The operation is still tried again: the ledger's limits can be changed.
void Dispatcher::tell_refusal(const ledger::OpResult& result) {
  if (std::exchange(has_told_refusal_, true) || !setup_->on_event) return;
  std::string why = result.verdict == ledger::Verdict::too_large
                        ? fmt::format("the node's name is longer than the ledger's name_bytes, {}", result.number)
                        : fmt::format("the ledger says {}", ledger::name_of(result.verdict));
  setup_->on_event({DispatchEvent::Kind::dispatch_refused, setup_->options.node, 0, std::move(why)});
}

void Dispatcher::ask_for_state() {
  if (is_asking_) return;
  is_asking_ = true;
  setup_->journal->read(journal::Read::linear(), [inbox = inbox_, added = is_sink_added_,
                                                  ledger = setup_->ledger](const journal::ReadAnswer& answer) {
    if (answer.outcome != journal::Outcome::applied) {
      inbox->put(StateAnswer{});
      return;
    }
    if (!std::exchange(*added, true)) ledger->add_sink(*inbox);
    inbox->put(StateAnswer{ledger->freeze()});
  });
}

void Dispatcher::look_into_inbox(Self self) {
  // First: what came after a pause, a task with a delay for one, has lost nothing in it.
  note_pauses(self);
  bool is_lost = false;
  auto items = inbox_->drain(is_lost);
  for (auto& item : items) {
    if (is_over_) return;
    take(self, item);
  }
  if (is_lost && epoch_ != 0) ask_for_state();
  if (!items.empty()) flush_later(self);
}

void Dispatcher::take(Self self, InboxItem& item) {
  if (auto* changes = std::get_if<std::shared_ptr<const ledger::ChangeBatch>>(&item)) {
    // Those of before the first state are in it.
    if (core_.has_state()) core_.on_changes(**changes, moment(self));
  } else if (auto* answer = std::get_if<AppendAnswered>(&item)) {
    on_answer(self, *answer);
  } else if (const auto* taken = std::get_if<DispatchAnswer>(&item)) {
    on_dispatch_taken(self, taken->answer);
  } else if (const auto* state = std::get_if<StateAnswer>(&item)) {
    is_asking_ = false;
    if (state->state) {
      core_.on_state(epoch_, StateView::of(*state->state), moment(self));
    } else {
      self.send_after(setup_->options.append_again, self.pid(), StateAgain{});
    }
  }
}

void Dispatcher::on_answer(Self self, AppendAnswered& item) {
  const auto at = under_way_.find(item.append);
  if (at == under_way_.end()) return;
  if (item.answer.outcome == journal::Outcome::applied) {
    std::vector<std::string> answers;
    answers.reserve(item.answer.results.size());
    for (auto& each : item.answer.results) answers.push_back(std::move(each.result));
    under_way_.erase(at);
    core_.on_applied(item.append, answers, moment(self));
    return;
  }
  const auto next = at->second.again.answered(item.answer.outcome, self.now(), again_);
  if (next.kind == journal::AppendAgain::Next::Kind::again) {
    self.send_after(next.wait, self.pid(), RepeatAppend{item.append});
    return;
  }
  if (item.answer.outcome == journal::Outcome::refused) {
    throw std::logic_error("the journal refuses the dispatcher's commands: " + item.answer.why);
  }
  is_over_ = true;
  self.stop(ExitReason::custom("the journal has stopped: " + item.answer.why));
}

void Dispatcher::append(std::uint64_t number) {
  const auto at = under_way_.find(number);
  if (at == under_way_.end()) return;
  // A copy: it may have to be appended again.
  setup_->journal->append(
      at->second.batch,
      [inbox = inbox_, number](journal::AppendAnswer answer) { inbox->put(AppendAnswered{number, std::move(answer)}); },
      at->second.urgency);
}

// What has arrived meanwhile is ahead of the flush in the mailbox, so it is decided on together.
void Dispatcher::flush_later(Self self) {
  if (is_flushing_ || is_over_) return;
  is_flushing_ = self.send(self.pid(), Flush{}) == SendResult::ok;
  if (!is_flushing_) flush(self);
}

void Dispatcher::flush(Self self) {
  is_flushing_ = false;
  if (is_over_) return;
  note_pauses(self);
  DispatchOutput out = core_.step(moment(self));
  for (const Pid pid : out.unwatch) {
    const auto at = monitors_.find(pid);
    if (at == monitors_.end()) continue;
    self.demonitor(at->second);
    monitors_.erase(at);
  }
  for (const Pid pid : out.watch) {
    if (!monitors_.contains(pid)) monitors_.emplace(pid, self.monitor(pid));
  }
  // A mailbox that is full loses them; the agent's heartbeats will show what it lacks.
  for (auto& [pid, orders] : out.mail) self.send(pid, std::move(orders));
  for (auto& each : out.appends) {
    UnderWay& pending = under_way_[each.id];
    for (auto& command : each.commands) pending.batch.push_back({next_id(), std::move(command)});
    pending.urgency = each.urgency;
    append(each.id);
  }
  if (setup_->on_event) {
    for (const auto& each : out.events) setup_->on_event(each);
  }
  if (core_.is_deposed()) {
    is_over_ = true;
    self.stop(ExitReason::shutdown("another dispatcher has taken over"));
    return;
  }
  if (const Instant now = self.now(); now >= learned_due_) {
    learned_due_ = later(now, setup_->options.learned_every);
    hand_over_learned();
  }
  if (out.wants_state) ask_for_state();
  set_wake(self, out.wake_at);
}

void Dispatcher::note_pauses(Self self) {
  const Moment now = moment(self);  // reading the clock finds a pause out
  const Duration lost = time_lost(*setup_->runtime);
  if (lost == lost_) return;
  core_.on_time_lost(lost - std::exchange(lost_, lost), now);
}

void Dispatcher::hand_over_learned() {
  const QLearning& learned = core_.router().learned();
  if (!setup_->on_learned || learned.changes() == learned_told_) return;
  learned_told_ = learned.changes();
  setup_->on_learned(learned.save());
}

void Dispatcher::set_wake(Self self, Instant at) {
  // One that comes too early does no harm.
  if (at >= wake_at_) return;
  if (wake_timer_) self.cancel(wake_timer_);
  wake_at_ = at;
  const Instant now = self.now();
  wake_timer_ = self.send_after(at > now ? at - now : Duration::zero(), self.pid(), Wake{++wakes_});
}

void Dispatcher::handle_info(Self self, Message message) {
  if (is_over_) return;
  if (message.is<InboxBell>()) {
    look_into_inbox(self);
  } else if (from_agent(self, message)) {
    flush_later(self);
  } else if (message.is<Flush>()) {
    flush(self);
  } else if (const auto* wake = message.get_if<Wake>()) {
    if (wake->number != wakes_) return;
    wake_timer_ = TimerRef{};
    wake_at_ = Instant::max();
    look_into_inbox(self);
    flush_later(self);
  } else if (const auto* down = message.get_if<Down>()) {
    const auto at = monitors_.find(down->pid);
    if (at == monitors_.end() || at->second != down->ref) return;
    monitors_.erase(at);
    core_.on_down(down->pid, is_graceful(down->reason), moment(self));
    flush_later(self);
  } else if (const auto* again = message.get_if<RepeatAppend>()) {
    append(again->append);
  } else if (message.is<TakeAgain>()) {
    take_dispatch();
  } else if (message.is<StateAgain>()) {
    ask_for_state();
  }
}

bool Dispatcher::from_agent(Self self, Message message) {
  const Pid from = message.from();
  if (auto* report = message.get_if<AgentReport>()) {
    core_.on_report(from, std::move(*report), moment(self));
  } else if (const auto* heartbeat = message.get_if<AgentHeartbeat>()) {
    core_.on_heartbeat(from, *heartbeat, moment(self));
  } else if (auto* ready = message.get_if<AgentReady>()) {
    core_.on_ready(from, std::move(*ready), moment(self));
  } else if (const auto* ending = message.get_if<AgentTerminating>()) {
    core_.on_returned(from, ending->returned, moment(self));
  } else if (const auto* request = message.get_if<AgentReturns>()) {
    core_.on_returned(from, request->returned, moment(self));
  } else if (const auto* paused = message.get_if<AgentPaused>()) {
    core_.on_paused(from, *paused, moment(self));
  } else if (const auto* metrics = message.get_if<AgentMetrics>()) {
    core_.on_metrics(from, *metrics);
  } else {
    return false;
  }
  return true;
}

DispatcherStatus Dispatcher::handle_call(Self, GetDispatcherStatus) {
  return {core_.has_state(), core_.tasks(),     core_.ready(),   core_.runs(),
          core_.agents(),    under_way_.size(), core_.counters()};
}

SwarmLoadAnswer Dispatcher::handle_call(Self, const GetSwarmLoad& request) {
  return {core_.has_state(), core_.swarm_load(request.swarm)};
}

PassedOverAnswer Dispatcher::handle_call(Self self, const GetPassedOver& request) {
  return core_.passed_over_agents(request.agent, moment(self));
}

std::string Dispatcher::describe() const {
  return fmt::format("epoch {}, {} tasks ({} ready, {} at agents), {} agents, {} appends under way", epoch_,
                     core_.tasks(), core_.ready(), core_.runs(), core_.agents(), under_way_.size());
}

}  // namespace skein::inline v0::dispatch
