// What clients, operators and agents do in a DispatchWorld.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "sim/dispatch_world.hpp"
#include "skein/base/time_text.hpp"

namespace skein::sim {

using dispatch::AgentReport;
using dispatch::TaskRef;

// Clients and operators.

void DispatchWorld::client(const ledger::Op& op) {
  const auto answer = run(op);
  if (answer.refused()) line(fmt::format("refused: {}", ledger::name_of(answer.verdict)));
  settle();
}

void DispatchWorld::submit(const std::string& name, ledger::Submit op) {
  if (std::ranges::find(task_names_, name) != task_names_.end()) {
    throw std::invalid_argument(fmt::format("a task is called '{}' already", name));
  }
  task_names_.push_back(name);
  op.id = task_id(name);
  op.at = moment_.wall;
  const auto answer = run(op);
  if (answer.refused()) {
    // Its number is given to the next one, and so must its name be.
    task_names_.pop_back();
    line(fmt::format("refused: {}", ledger::name_of(answer.verdict)));
  }
  settle();
}

void DispatchWorld::cancel(std::string_view task) { client(ledger::Cancel{task_id(task), moment_.wall, ""}); }

void DispatchWorld::put_swarm(const std::string& name, const ledger::Fields& fields) {
  client(ledger::SwarmPut{name, ledger::Origin::api, fields});
}

void DispatchWorld::set_swarm_state(const std::string& name, ledger::SwarmState state) {
  client(ledger::SwarmSetState{name, state});
}

void DispatchWorld::pause(const std::string& agent, bool is_paused) {
  ledger::Fields fields;
  if (is_paused) fields.emplace(dispatch::k_agent_field_paused, dispatch::k_agent_is_paused);
  client(ledger::AgentPut{agent, fields});
}

void DispatchWorld::tell_tasks() {
  for (const auto& name : task_names_) {
    const auto found = ledger_.find(task_id(name));
    if (!found) continue;
    const ledger::Task& task = found->finished ? found->finished->task : found->task;
    std::string text = fmt::format("{} {}", name, ledger::name_of(task.state));
    if (ledger::is_running(task.state)) {
      text += fmt::format(" at {} (fence {})", ledger::view_of(task.agent), task.fence);
    } else if (!found->finished) {
      text += fmt::format(" in {} ({})", task.shape->swarm, priority_word(task.effective_priority));
    }
    line(fmt::format("{}, {} of {} attempts failed", text, task.attempts, task.attempts_max));
  }
}

// Agents.

DispatchWorld::Agent& DispatchWorld::living(std::string_view name) {
  const auto at = agents_.find(name);
  if (at == agents_.end()) throw std::invalid_argument(fmt::format("no agent is called '{}'", name));
  if (!at->second.is_alive) throw std::invalid_argument(fmt::format("{} is gone", name));
  return at->second;
}

const TaskRef& DispatchWorld::known(std::string_view agent, std::string_view task) {
  const auto& all = living(agent).known;
  const auto at = all.find(task);
  if (at == all.end()) throw std::invalid_argument(fmt::format("{} was never told to run {}", agent, task));
  return at->second;
}

void DispatchWorld::announce(const std::string& name, dispatch::AgentReady ready) {
  Agent& agent = agents_[name];
  const bool is_new = !agent.pid || !agent.is_alive;
  if (is_new) agent = Agent{};
  if (is_new) agent.pid = Pid(1, ++processes_, 1);
  agent.ready = std::move(ready);
  agent.ready.name = name;
  announce_again(name);
}

void DispatchWorld::announce_again(std::string_view name) {
  Agent& agent = living(name);
  agent.seen = 0;
  agent.is_silent = false;
  dispatch::AgentReady ready = agent.ready;
  ready.held = agent.held;
  core_->on_ready(agent.pid, std::move(ready), moment_);
  settle();
}

void DispatchWorld::report(const Agent& agent, AgentReport report) {
  core_->on_report(agent.pid, std::move(report), moment_);
  settle();
}

void DispatchWorld::started(std::string_view agent, std::string_view task) {
  AgentReport said;
  said.started.push_back({known(agent, task)});
  report(living(agent), std::move(said));
}

void DispatchWorld::progressed(std::string_view agent, std::string_view task, std::string_view mark) {
  AgentReport said;
  said.progress.push_back({known(agent, task), ledger::body_of(mark)});
  report(living(agent), std::move(said));
}

void DispatchWorld::completed(std::string_view agent, std::string_view task, std::optional<ledger::Fence> fence) {
  AgentReport said;
  TaskRef ref = known(agent, task);
  ref.fence = fence.value_or(ref.fence);
  said.complete.push_back({ref, ledger::body_of("done")});
  report(living(agent), std::move(said));
}

void DispatchWorld::failed(std::string_view agent, std::string_view task, dispatch::RunFailed failure) {
  AgentReport said;
  failure.ref = known(agent, task);
  said.failed.push_back(std::move(failure));
  report(living(agent), std::move(said));
}

void DispatchWorld::returned(std::string_view agent, std::string_view task) {
  AgentReport said;
  const TaskRef ref = known(agent, task);
  std::erase(living(agent).held, ref);
  said.returned.push_back(ref);
  report(living(agent), std::move(said));
}

void DispatchWorld::said_last_words(std::string_view agent, std::string_view task, std::string_view text) {
  AgentReport said;
  said.last_words.push_back({known(agent, task), std::string(text)});
  report(living(agent), std::move(said));
}

void DispatchWorld::forgot(std::string_view agent, std::string_view task) {
  std::erase(living(agent).held, known(agent, task));
}

void DispatchWorld::send_beat(Agent& agent) {
  core_->on_heartbeat(agent.pid, dispatch::AgentHeartbeat{agent.seen, agent.held, false}, moment_);
}

void DispatchWorld::beat(std::string_view name) {
  Agent& agent = living(name);
  agent.is_silent = false;
  send_beat(agent);
  settle();
}

void DispatchWorld::beat_all() {
  for (auto& [name, agent] : agents_) {
    if (agent.is_alive && !agent.is_silent) send_beat(agent);
  }
}

void DispatchWorld::fell_silent(std::string_view agent) { living(agent).is_silent = true; }

void DispatchWorld::went_down(std::string_view name, bool is_graceful) {
  Agent& agent = living(name);
  agent.is_alive = false;
  agent.held.clear();
  core_->on_down(agent.pid, is_graceful, moment_);
  settle();
}

}  // namespace skein::sim
