#include "skein/swarm/coordinator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <utility>

#include "skein/routing/hash_ring.hpp"
#include "skein/supervision/supervisor_api.hpp"

namespace skein::inline v0::swarm {
namespace {

// The number at the end of an agent's name, as next_name() makes them; 0 for any other.
std::uint64_t number_of(std::string_view id, std::string_view swarm) {
  if (id.size() <= swarm.size() + 1 || !id.starts_with(swarm) || id[swarm.size()] != '-') return 0;
  const std::string_view digits = id.substr(swarm.size() + 1);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && end == digits.data() + digits.size() ? number : 0;
}

std::string why_not_started(const StartChildResult& result) {
  return fmt::format("an agent could not be started: {}", result ? "its start said ignore" : result.error().text());
}

}  // namespace

std::string_view status_of(const ledger::Swarm& swarm) {
  if (swarm.state == ledger::SwarmState::active && swarm.breaker == ledger::Breaker::open) return "breaker_open";
  return name_of(swarm.state);
}

Coordinator::Coordinator(Self self, std::shared_ptr<const CoordinatorSetup> setup, std::string swarm)
    : setup_(std::move(setup)), swarm_(std::move(swarm)) {
  if (!self.register_name(coordinator_name(swarm_))) {
    throw std::runtime_error(fmt::format("swarm '{}' has a coordinator already", swarm_));
  }
  self.continue_with<Coordinator>(Look{0});
}

Async<void> Coordinator::handle_continue(Self self, Look) { co_await look(self); }

Async<void> Coordinator::handle_info(Self self, Message message) {
  if (const auto* step = message.get_if<Look>()) {
    if (step->number == looks_) co_await look(self);
  } else if (auto* trouble = message.get_if<agent::AgentTrouble>()) {
    note_trouble(std::move(*trouble), self.now());
  } else if (const auto* down = message.get_if<Down>()) {
    watched_.erase(down->ref.id);
    const bool is_graceful = down->reason.is_normal() || down->reason.is_shutdown();
    // The next look would do as well; a crash is made good at once.
    if (!core_.on_down(down->pid, is_graceful, self.now())) co_return;
    if (!is_graceful && core_.is_failing()) note_death(down->reason);
    co_await follow(self);
  }
}

void Coordinator::note_death(const ExitReason& reason) {
  constexpr std::string_view k_what = "its agents end within a second of their start";
  if (reason.kind() != ExitKind::noproc) {
    failing_ = fmt::format("{}: {}", k_what, reason.text());
  } else if (!failing_) {
    failing_ = fmt::format("{}; the log says why", k_what);  // gone before it could be watched
  }
}

// The words of the first stay, so that each attempt is no news.
void Coordinator::note_trouble(agent::AgentTrouble trouble, Instant now) {
  if (trouble.why.empty()) {
    troubles_.erase(trouble.executor);
  } else if (const auto at = troubles_.find(trouble.executor); at != troubles_.end()) {
    at->second.at = now;
  } else if (troubles_.size() < k_problems_told) {
    std::string executor = trouble.executor;
    troubles_.emplace(std::move(executor), Trouble{std::move(trouble), now});
  }
  gather_problems();
  tell_problems();
}

void Coordinator::forget_troubles(bool is_whole, Instant now) {
  const auto is_back = [&](const Trouble& each) {
    const auto has_its_name = [&](const dispatch::SwarmLoad::Agent& agent) { return agent.name == each.said.agent; };
    return each.said.is_ending && load_ && std::ranges::any_of(load_->agents, has_its_name);
  };
  std::erase_if(troubles_, [&](const auto& each) {
    const Trouble& trouble = each.second;
    const bool is_pools = definition_ && trouble.said.executor == definition_->executor;
    return now - trouble.at > k_trouble_kept || (is_whole && is_pools && trouble.said.is_ending) || is_back(trouble);
  });
}

void Coordinator::look_after(Self self, Duration wait) { self.send_after(wait, self.pid(), Look{++looks_}); }

Async<void> Coordinator::look(Self self) {
  if (!is_begun_) find_agents(self);
  is_begun_ = true;
  const Pid dispatcher = self.whereis(setup_->dispatcher);
  if (!dispatcher) {
    look_after(self, setup_->look_every);
    co_return;
  }
  dispatch::GetSwarmLoad question{swarm_};
  auto answer = co_await self.call<dispatch::Dispatcher>(dispatcher, std::move(question), setup_->answer_limit);
  if (!answer || !answer->has_state) {
    look_after(self, setup_->look_every);
    co_return;
  }
  if (!answer->load) {
    // Removed. It had no tasks, so its agents have nothing to return.
    for (const Pid agent : core_.pids()) self.exit(agent, ExitReason::shutdown());
    end(self);
    co_return;
  }
  take(self, *answer->load);
  if (is_over()) {
    end(self);
    co_return;
  }
  co_await follow(self);
}

bool Coordinator::is_over() const {
  if (!load_ || core_.agents() > 0) return false;
  return load_->swarm.state == ledger::SwarmState::stopped || !dispatch::has_own_agents(load_->swarm);
}

std::uint64_t Coordinator::mark_for(const Definition& definition) const {
  const std::uint64_t executor = setup_->executor_mark ? setup_->executor_mark(definition.executor, swarm_) : 0;
  const std::uint64_t mark = stable_hash(fmt::format("{}\n{}", agent_mark(definition), executor));
  return mark == 0 ? 1 : mark;  // 0 is the mark of those that no coordinator has started
}

void Coordinator::take_definition(const ledger::Swarm& swarm) {
  faults_.clear();
  if (!dispatch::has_own_agents(swarm)) return core_.let_all_go();
  auto definition = definition_of(swarm);
  if (!definition) {
    faults_ = std::move(definition.error());  // the last good one stays in force
    return;
  }
  const bool is_first = !definition_;
  if (definition_ != *definition) core_.on_definition(*definition);
  definition_ = std::move(*definition);
  has_executor_ = !setup_->executor_mark || setup_->executor_mark(definition_->executor, swarm_) != 0;
  const std::uint64_t mark = mark_for(*definition_);
  if (mark != std::exchange(mark_, mark) && !is_first) {
    core_.replace_all();
    troubles_.clear();  // of programs that are started no more
    failing_.reset();
  }
  if (is_first) part_from_others();
}

void Coordinator::take(Self self, const dispatch::SwarmLoad& load) {
  load_ = load;
  take_definition(load_->swarm);
  for (const auto& agent : load_->agents) {
    if (agent.is_managed && !core_.has(agent.pid)) {
      watch(self, agent.pid);
      core_.on_started(agent.pid, self.now());
      if (!is_made_for_this(agent.name)) core_.on_other_definition(agent.pid);
    }
    last_number_ = std::max(last_number_, number_of(agent.name, swarm_));
  }
  core_.on_load(*load_, self.now());
}

std::vector<std::string> Coordinator::kept_agents() const {
  if (!setup_->registry) return {};
  auto names =
      setup_->registry->query_agents({dispatch::swarm_capability(swarm_)}).value_or(std::vector<std::string>{});
  std::erase_if(names, [&](const std::string& name) { return setup_->registry->mark_of(name).value_or(0) == 0; });
  return names;
}

// Those a coordinator before this one has started.
void Coordinator::find_agents(Self self) {
  for (const std::string& name : kept_agents()) {
    last_number_ = std::max(last_number_, number_of(name, swarm_));
    const auto pid = setup_->registry->find_agent(name);
    if (!pid || core_.has(*pid)) continue;
    watch(self, *pid);
    core_.on_started(*pid, self.now());
  }
}

// Of those found, whom a coordinator before this one started for another definition: it ended before it saw the change.
void Coordinator::part_from_others() {
  if (core_.agents() == 0) return;
  for (const std::string& name : kept_agents()) {
    const auto pid = setup_->registry->find_agent(name);
    if (pid && !is_made_for_this(name)) core_.on_other_definition(*pid);
  }
}

bool Coordinator::is_made_for_this(const std::string& name) const {
  if (!setup_->registry || !definition_) return true;
  return setup_->registry->mark_of(name).value_or(mark_) == mark_;
}

void Coordinator::watch(Self self, Pid agent) { watched_.emplace(self.monitor(agent).id, agent); }

// One that nobody has and nobody is to have.
std::string Coordinator::next_name() {
  for (;;) {
    std::string name = fmt::format("{}-{}", swarm_, ++last_number_);
    if (setup_->is_reserved && setup_->is_reserved(name)) continue;
    if (setup_->registry && setup_->registry->find_agent(name)) continue;
    return name;
  }
}

AgentSeed Coordinator::next_seed() {
  AgentSeed seed;
  seed.name = next_name();
  seed.swarm = swarm_;
  seed.executor = definition_->executor;
  seed.role = definition_->role;
  seed.capabilities = definition_->capabilities;
  seed.prefetch = definition_->prefetch;
  return seed;
}

// Does what the core says should be done now.
Async<void> Coordinator::follow(Self self) {
  const Plan plan = core_.plan(self.now());
  for (const Pid agent : plan.end) self.exit(agent, ExitReason::shutdown());
  for (const Pid agent : plan.retire) self.send(agent, dispatch::PauseAgent{});
  const Pid pool = self.whereis(setup_->agent_pool);
  if (plan.start > 0 && !has_executor_) {
    failing_ = fmt::format(
        "its executor '{}' is no longer in the config: put it back and run 'skein reload', or cancel "
        "its tasks",
        definition_->executor);
    core_.on_start_failed(self.now());
  }
  for (std::uint32_t i = 0; i < plan.start && has_executor_; ++i) {
    agent::AgentMaker maker = [setup = setup_, seed = next_seed(), mark = mark_] {
      auto made = setup->make_agent(seed);
      if (!made) return made;
      made->is_managed = true;
      made->made_for = mark;
      return made;
    };
    std::any arguments = pool_arguments(std::move(maker));
    auto starting = start_pool_child(self, pool, std::move(arguments), setup_->answer_limit);
    const StartChildResult started = co_await starting;
    if (!started || !started->pid) {
      // A pool that has gone is restarted, or goes down with the node: nothing is wrong with the swarm.
      const bool has_gone = !pool || self.whereis(setup_->agent_pool) != pool;
      if (!has_gone) failing_ = why_not_started(started);
      core_.on_start_failed(self.now());
      break;
    }
    watch(self, started->pid);
    core_.on_started(started->pid, self.now());
  }
  if (plan.is_whole) failing_.reset();
  forget_troubles(plan.is_whole, self.now());
  gather_problems();
  tell_problems();
  const bool is_quiet = plan.start == 0 && plan.end.empty() && plan.retire.empty() && load_ && load_->tasks == 0;
  Duration wait = is_quiet ? setup_->look_idle : setup_->look_every;
  if (plan.look_at != Instant::max()) wait = std::min(wait, std::max(plan.look_at - self.now(), Duration(0)));
  if (is_over()) wait = Duration(0);  // as it was known; it may have been resumed meanwhile
  look_after(self, wait);
}

void Coordinator::gather_problems() {
  problems_ = faults_;
  // An agent that could say what is wrong has said it better.
  if (failing_ && troubles_.empty()) problems_.push_back(*failing_);
  for (const auto& [executor, trouble] : troubles_) {
    if (problems_.size() >= k_problems_told) break;
    const std::string who = executor.empty() ? "" : fmt::format("executor '{}', ", executor);
    problems_.push_back(
        fmt::format("{}agent '{}': {}; tasks wait, it is tried again", who, trouble.said.agent, trouble.said.why));
  }
  for (std::vector<std::string> need : core_.unmet()) {
    if (problems_.size() >= k_problems_told) break;
    std::erase(need, dispatch::swarm_capability(swarm_));
    problems_.push_back(
        fmt::format("tasks wait that need {}, and none of its agents can do that: give it agents that can, or cancel "
                    "the tasks",
                    fmt::join(need, " and ")));
  }
}

void Coordinator::tell_problems() {
  if (told_ == problems_) return;
  const auto before = std::exchange(told_, problems_).value_or(std::vector<std::string>{});
  if (setup_->on_problems) setup_->on_problems(swarm_, problems_, before);
}

// Of a swarm that is not there, or is stopped, nothing is wrong.
void Coordinator::end(Self self) {
  problems_.clear();
  tell_problems();
  self.stop(ExitReason::normal());
}

Async<bool> Coordinator::handle_call(Self self, LookNow) {
  auto looking = look(self);
  co_await looking;
  co_return true;
}

SwarmStatus Coordinator::handle_call(Self, GetSwarmState) {
  SwarmStatus status;
  status.name = swarm_;
  status.status = load_ ? std::string(status_of(load_->swarm)) : "starting";
  status.agents = core_.agents();
  status.agents_started = core_.refilled();
  status.agents_crashed = core_.crashed();
  status.definition = definition_;
  status.problems = problems_;
  if (load_) {
    status.ready = load_->ready;
    status.tasks = load_->tasks;
    status.running = load_->running;
    status.crashes = load_->crashes;
  }
  return status;
}

std::string Coordinator::describe() const {
  return fmt::format("swarm {}: {}, {} agents, {} tasks", swarm_,
                     load_ ? std::string(status_of(load_->swarm)) : "starting", core_.agents(),
                     load_ ? load_->tasks : 0);
}

}  // namespace skein::inline v0::swarm
