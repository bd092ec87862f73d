#include "skein/agent/agent.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace skein::inline v0::agent {

using dispatch::TaskRef;

namespace {

// One block of the runtime's smallest kind: there may be a million of them.
static_assert(sizeof(Agent) <= 128);

const std::shared_ptr<const AgentOptions>& default_options() {
  static const auto options = std::make_shared<const AgentOptions>();
  return options;
}

std::unique_ptr<AgentSetup> checked(std::unique_ptr<AgentSetup> setup) {
  if (!setup || setup->name.empty() || !setup->executor) {
    throw std::invalid_argument("agent: a name and an executor must be given");
  }
  setup->prefetch = std::min(setup->prefetch, dispatch::k_agent_capacity_max - 1);
  if (!setup->options) setup->options = default_options();
  return setup;
}

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view word = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    if (!word.empty()) words.emplace_back(word);
  }
  return words;
}

}  // namespace

Agent::Agent(Self self, std::unique_ptr<AgentSetup> setup)
    : self_(self),
      setup_(checked(std::move(setup))),
      core_(setup_->options->limits),
      connect_again_(setup_->options->connect_every) {
  // So that terminate() runs when its supervisor ends it.
  self.trap_exit(true);
  core_.set_paused(setup_->is_paused);
  register_name();
  self.continue_with<Agent>(Begin{});
}

std::vector<std::string> Agent::announced() const {
  auto all = setup_->capabilities.empty() ? default_capabilities(setup_->role) : setup_->capabilities;
  if (!setup_->swarm.empty()) all.push_back(dispatch::swarm_capability(setup_->swarm.text()));
  return all;
}

void Agent::register_name() {
  if (!setup_->registry) return;
  const std::uint64_t mark = setup_->is_managed ? setup_->made_for : 0;
  const auto done = setup_->registry->register_agent(setup_->name, self_.pid(), announced(), mark);
  if (!done) throw std::runtime_error(fmt::format("agent '{}': {}", setup_->name, done.error().text()));
  told_load_ = 0;
}

void Agent::register_again() {
  if (!setup_->registry) return;
  const auto freed = setup_->registry->unregister_agent(setup_->name);
  if (!freed && freed.error().failure != RegistryFailure::not_found) {
    throw std::runtime_error(fmt::format("agent '{}': {}", setup_->name, freed.error().text()));
  }
  register_name();
}

void Agent::handle_continue(Self self, Begin) {
  self.send_interval(setup_->options->heartbeat_every, self.pid(), Beat{});
  setup_->executor->start(*this);
}

void Agent::ready(std::vector<std::string> capabilities) {
  core_.set_ready(true);
  if (!is_announced_) {
    is_announced_ = true;
    if (setup_->capabilities.empty()) {
      const bool has_own = !capabilities.empty();
      setup_->capabilities = has_own ? std::move(capabilities) : default_capabilities(setup_->role);
      if (has_own) register_again();
    }
    connect();
  }
}

void Agent::connect() {
  if (dispatcher_ || !is_announced_) return;
  const Pid pid = self_.whereis(setup_->options->dispatcher);
  if (!pid) {
    self_.send_after(connect_again_, self_.pid(), Connect{});
    connect_again_ = std::min(connect_again_ * 2, setup_->options->connect_every_max);
    return;
  }
  connect_again_ = setup_->options->connect_every;
  dispatcher_ = pid;
  watch_ = self_.monitor(pid);
  announce();
}

void Agent::announce() {
  seen_ = 0;
  dispatch::AgentReady ready;
  ready.name = setup_->name;
  ready.role = setup_->role;
  ready.capabilities = announced();
  ready.capacity = 1 + setup_->prefetch;
  ready.executor =
      setup_->shared_executor.empty() ? std::string(setup_->executor->shared_name()) : setup_->shared_executor.text();
  ready.attempt_timeout = setup_->attempt_timeout;
  ready.is_function = setup_->executor->is_function();
  ready.reports_starts = true;
  ready.tells_last_words = setup_->executor->tells_last_words();
  ready.is_paused = takes_none();
  ready.is_managed = setup_->is_managed;
  ready.held = core_.held();
  // The dispatcher that is there now asks again for what was to be reported.
  core_.forget_report();
  self_.send(dispatcher_, std::move(ready));
  if (takes_none()) return_waiting();
}

void Agent::handle_info(Self self, Message message) {
  if (is_broken_) return;
  if (!handle_own(message)) {
    setup_->executor->handle(message);
    step();
  } else if (const auto* exit = message.get_if<Exit>()) {
    self.stop(exit->reason);
  }
}

void Agent::return_waiting() {
  auto waiting = core_.give_up_waiting();
  if (!waiting.empty()) self_.send(dispatcher_, dispatch::AgentReturns{std::move(waiting)});
}

bool Agent::handle_own(Message message) {
  if (auto* orders = message.get_if<dispatch::Orders>()) {
    if (message.from() != dispatcher_) return true;
    if (orders->announce) announce();
    seen_ = orders->sequence;
    core_.take(*orders, time());
    // Ordered before the dispatcher knew.
    if (takes_none()) return_waiting();
    step();
  } else if (message.is<Continue>()) {
    is_working_ = false;
    work();
  } else if (message.is<Beat>()) {
    beat();
  } else if (message.is<Connect>()) {
    connect();
  } else if (message.is<StartAgain>()) {
    start_again();
  } else if (message.is<dispatch::PauseAgent>()) {
    set_paused(true);
  } else if (message.is<dispatch::ResumeAgent>()) {
    set_paused(false);
  } else if (const auto* change = message.get_if<dispatch::UpdateConfig>()) {
    static_cast<void>(update(change->fields));
  } else if (const auto* down = message.get_if<Down>()) {
    if (down->ref != watch_) return false;
    dispatcher_ = Pid{};
    connect();
  } else {
    return message.is<Exit>();
  }
  return true;
}

// After whatever may have changed something.
void Agent::step() {
  if (const auto stop = core_.take_stop()) setup_->executor->stop(stop->ref, stop->why);
  work();
}

void Agent::work() {
  const Instant began = time();
  while (!is_broken_ && now_ - began < setup_->options->turn) {
    const dispatch::Order* order = core_.begin(now_);
    if (order == nullptr) break;
    // The time is looked at between tasks only; one that follows a slow one is said to have started. Other executors
    // than functions say so themselves.
    if (now_ - reported_at_ >= setup_->options->report_every) {
      if (setup_->executor->is_function()) core_.started(order->ref);
      report();
      reported_at_ = now_;
    }
    setup_->executor->run(*order);
  }
  report();
  reported_at_ = now_;
  tell_load();
  if (core_.has_next()) work_soon();
}

void Agent::work_soon() {
  if (!is_working_) is_working_ = self_.send(self_.pid(), Continue{}) == SendResult::ok;
}

void Agent::report() {
  if (dispatcher_ && core_.has_report()) self_.send(dispatcher_, core_.take_report());
}

void Agent::tell_load() {
  if (!setup_->registry) return;
  const auto load = static_cast<std::uint32_t>(core_.load());
  if (load == told_load_) return;
  const auto done = load > told_load_ ? setup_->registry->increment_load(setup_->name, load - told_load_)
                                      : setup_->registry->decrement_load(setup_->name, told_load_ - load);
  if (done) told_load_ = load;
}

void Agent::beat() {
  core_.beat(time());
  setup_->executor->beat();
  step();
  if (setup_->registry) {
    // Fails only when somebody took the name from it; the dispatcher still hears of it.
    const auto told = setup_->registry->update_heartbeat(setup_->name);
    static_cast<void>(told);
  }
  if (!dispatcher_) return;
  self_.send(dispatcher_, dispatch::AgentHeartbeat{seen_, core_.held(), takes_none()});
  const AgentStats& stats = core_.stats();
  const std::uint64_t ended = stats.tasks_completed + stats.tasks_failed;
  if (ended == told_ended_) return;
  told_ended_ = ended;
  const double busy_ms = std::chrono::duration<double, std::milli>(stats.busy).count();
  self_.send(dispatcher_,
             dispatch::AgentMetrics{stats.tasks_completed, stats.tasks_failed, busy_ms / static_cast<double>(ended)});
}

void Agent::set_paused(bool paused) {
  if (core_.is_paused() == paused) return;
  core_.set_paused(paused);
  if (dispatcher_) {
    self_.send(dispatcher_, dispatch::AgentPaused{takes_none()});
    return_waiting();
  }
  step();
}

std::string Agent::update(const ledger::Fields& fields) {
  std::uint32_t prefetch = setup_->prefetch;
  std::vector<std::string> capabilities = setup_->capabilities;
  for (const auto& [name, value] : fields) {
    if (name == "prefetch") {
      std::uint32_t asked = 0;
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), asked);
      if (error != std::errc{} || end != value.data() + value.size() || asked > k_prefetch_max) {
        return fmt::format("prefetch is '{}'; give a number from 0 to {}", value, k_prefetch_max);
      }
      prefetch = asked;
    } else if (name == "capabilities") {
      capabilities = split_at_commas(value);
      if (capabilities.empty()) return "no capability is named; separate them by commas";
    } else {
      return fmt::format("an agent has no setting '{}'; there are prefetch and capabilities", name);
    }
  }
  setup_->prefetch = prefetch;
  if (capabilities != setup_->capabilities) {
    setup_->capabilities = std::move(capabilities);
    register_again();
  }
  if (dispatcher_) announce();
  step();
  return {};
}

// Whatever calls the executor takes a step afterwards, which reports and goes on to the next task.
void Agent::started(TaskRef ref) {
  core_.started(ref);
  if (!trouble_) return;
  trouble_.reset();
  tell_trouble({}, false);
}
void Agent::progress(TaskRef ref, ledger::Body mark) { core_.progress(ref, std::move(mark), time()); }
void Agent::complete(TaskRef ref, ledger::Body result) { core_.complete(ref, std::move(result), time()); }
void Agent::failed(TaskRef ref, Failure failure) { core_.failed(ref, std::move(failure), time()); }
void Agent::last_words(TaskRef ref, std::string text) { core_.last_words(ref, std::move(text)); }
void Agent::returned(TaskRef ref) { core_.returned(ref, time()); }

// Others are told first that nothing is to come here, so that the task is not sent back at once.
void Agent::cannot_start(TaskRef ref, std::string why) {
  const Duration first = setup_->options->start_again;
  if (!trouble_) trouble_ = std::make_unique<Trouble>();
  trouble_->wait = trouble_->wait == Duration::zero()
                       ? first
                       : std::min(2 * trouble_->wait, std::max(first, setup_->options->start_again_max));
  trouble_->holds_off = true;
  trouble_->why = why;
  core_.set_ready(false);
  if (dispatcher_) self_.send(dispatcher_, dispatch::AgentPaused{true});
  core_.returned(ref, time());
  if (dispatcher_) return_waiting();
  self_.send_after(trouble_->wait, self_.pid(), StartAgain{});
  tell_trouble(std::move(why), false);
}

// Nothing is started without a task: the next one shows whether it works.
void Agent::start_again() {
  if (!trouble_ || !std::exchange(trouble_->holds_off, false)) return;
  core_.set_ready(true);
  if (dispatcher_) self_.send(dispatcher_, dispatch::AgentPaused{takes_none()});
  step();
}

void Agent::tell_trouble(std::string why, bool is_ending) {
  if (setup_->swarm.empty()) return;
  const Pid coordinator = self_.whereis(coordinator_name(setup_->swarm.text()));
  if (!coordinator) return;
  self_.send(coordinator, AgentTrouble{setup_->name, setup_->executor_name.text(), std::move(why), is_ending});
}

void Agent::broken(std::string why) {
  if (is_broken_) return;
  is_broken_ = true;
  if (!core_.is_ready()) tell_trouble(why, true);
  core_.set_ready(false);
  core_.falls(why);
  self_.stop(ExitReason::custom(std::move(why)));
}

AgentState Agent::handle_call(Self self, GetAgentState) {
  AgentState state;
  state.name = setup_->name;
  state.role = setup_->role;
  state.capabilities = setup_->capabilities;
  state.swarm = setup_->swarm.text();
  state.prefetch = setup_->prefetch;
  state.is_connected = static_cast<bool>(dispatcher_);
  state.executor = setup_->executor->describe();
  state.os_pid = setup_->executor->os_pid();
  if (trouble_) state.executor += "; tries again after: " + trouble_->why;
  core_.describe(state, self.now());
  if (is_broken_) state.status = AgentStatus::failed;
  return state;
}

AgentFigures Agent::handle_call(Self, GetAgentMetrics) {
  const AgentStats& stats = core_.stats();
  AgentFigures figures{stats.tasks_completed, stats.tasks_failed, stats.tasks_returned, std::nullopt, 0};
  const auto ended = static_cast<double>(stats.tasks_completed + stats.tasks_failed);
  if (ended == 0) return figures;
  figures.success_rate = static_cast<double>(stats.tasks_completed) / ended;
  figures.avg_latency_ms = std::chrono::duration<double, std::milli>(stats.busy).count() / ended;
  return figures;
}

AgentTasks Agent::handle_call(Self, GetAgentTasks) { return core_.past(); }

CancelAnswer Agent::handle_call(Self, CancelExecuting) {
  const CancelAnswer answer = core_.cancel_executing(time());
  step();
  return answer;
}

UpdateAnswer Agent::handle_call(Self, const UpdateAgent& request) { return {update(request.fields)}; }

std::string Agent::describe() const {
  AgentState state;
  core_.describe(state, now_);
  return fmt::format("{} '{}': {}, {} waiting, {} to be settled; {}", name_of(setup_->role), setup_->name,
                     name_of(is_broken_ ? AgentStatus::failed : state.status), state.queue_length, state.unsettled,
                     setup_->executor->describe());
}

// Also after a crash: what was done is told, what was not begun is returned. What was at work is returned only if
// the agent ends gracefully, and is stopped before another may get it.
Async<void> Agent::terminate(Self self, ExitReason reason) {
  const bool is_graceful = reason.is_normal() || reason.is_shutdown();
  Duration wait = is_graceful ? setup_->executor->wind_down() : Duration::zero();
  if (wait > Duration::zero() && dispatcher_) {
    self.send(dispatcher_, dispatch::AgentPaused{true});
    return_waiting();
  }
  while (wait > Duration::zero()) {
    auto waiting = self.sleep(wait);
    co_await waiting;
    wait = setup_->executor->wind_down();
  }
  setup_->executor->shutdown();
  report();
  if (dispatcher_) self.send(dispatcher_, dispatch::AgentTerminating{core_.left_over(is_graceful)});
}

}  // namespace skein::inline v0::agent
