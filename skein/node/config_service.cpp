#include "skein/node/config_service.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "skein/base/spare_descriptors.hpp"
#include "skein/dispatch/dispatcher_core.hpp"
#include "skein/node/agents_tree.hpp"
#include "skein/node/config_check.hpp"
#include "skein/node/config_reload.hpp"
#include "skein/supervision/supervisor_api.hpp"
#include "skein/swarm/coordinator.hpp"

namespace skein::inline v0::node {
namespace {

using operations::ReloadAnswer;

constexpr Duration k_health_every = std::chrono::seconds(1);

constexpr Duration k_settle_every = std::chrono::milliseconds(200);
constexpr Duration k_idle_wait = std::chrono::milliseconds(500);

// In words, as answers and the log have it.
std::string unit_text(const std::string& name, const Unit& unit) {
  return fmt::format("{} '{}'", unit.is_supervisor ? "supervisor" : "agent", child_id_of(name));
}

std::string_view supervisor_of(const Unit& unit) {
  return unit.is_supervisor ? k_agents_sup_name : k_named_agents_name;
}

struct Read {
  ReloadAnswer answer;
  std::shared_ptr<const Config> config;  // in force from now on
  bool needs_dispatcher = false;
  std::vector<std::string> swarms;  // whose agents may have to be replaced
  std::string error;
};

// Everything that can be refused is, before anything is changed. May block.
void read_again(NodeContext& context, const Config& before, Read& read) {
  ReloadAnswer& answer = read.answer;
  auto loaded = load_config(before.file, before.settings);
  if (!loaded) {
    read.error = loaded.error().describe();
    while (read.error.ends_with('\n')) read.error.pop_back();
    return;
  }
  // It is compared as it was written: the one in force is absolute.
  if (!before.data_of_file || *before.data_of_file == loaded->node.data) loaded->node.data = before.node.data;
  ReloadPlan plan = plan_reload(before, *loaded);
  const auto executors = context.executors->ready(plan.config);
  const auto shared = context.executors->shared();
  const dispatch::DispatcherCore judge(plan.config.dispatch, 0);  // throws what is wrong with them
  for (const ConfigFault& each : check_surroundings(plan.config, context.executors->own_functions())) {
    context.log.warning(fmt::format("{}:{}: {}", before.file, each.line, each.message));
  }
  answer.needs_restart = std::move(plan.needs_restart);
  answer.changed = changed_executors(before, plan.config);
  const bool has_other_executors = !answer.changed.empty();
  context.executors->take(executors);
  for (const std::string& each : context.executors->unenforced()) context.log.warning(each);
  read.needs_dispatcher = plan.config.dispatch != before.dispatch || shared != context.executors->shared();
  if (plan.config.dispatch != before.dispatch) answer.changed.emplace_back("dispatch");
  if (plan.config.node.drain != before.node.drain) answer.changed.emplace_back("drain");
  read.config = std::make_shared<const Config>(std::move(plan.config));
  const auto work = context.work.get();
  if (!work) return;  // the next task service declares the config in force then
  const auto declaring = work->declaring();
  // Before the swarms change: a client that sees the change then looks which of them the config has.
  context.config_slot.set(read.config);
  work->operations().know_executors(context.executors->names());
  const auto add = [&](std::vector<std::string> more) {
    answer.changed.insert(answer.changed.end(), more.begin(), more.end());
  };
  add(work->declare(*read.config));
  add(work->withdraw(*read.config));
  add(work->drop_overrides());
  if (has_other_executors) read.swarms = work->swarm_names();
}

}  // namespace

ConfigService::ConfigService(Self self, ContextPtr context) : context_(std::move(context)) { settle_again(self); }

std::string ConfigService::describe() const {
  const auto config = context_->config();
  return fmt::format("{}, {} reloads", config->file.empty() ? "defaults" : config->file, reloads_);
}

Async<operations::Result<ReloadAnswer>> ConfigService::handle_call(Self self, ReloadConfig) {
  const auto before = context_->config();
  if (before->file.empty()) {
    co_return operations::Result<ReloadAnswer>(ReloadAnswer{});
  }
  auto reading = self.blocking([context = context_, before] {
    Read made;
    try {
      read_again(*context, *before, made);
    } catch (const std::exception& failure) {
      made.error = failure.what();
    }
    return made;
  });
  Read read = co_await reading;
  if (read.config) context_->config_slot.set(read.config);
  if (!read.error.empty()) {
    co_return std::unexpected(operations::invalid(
        read.error, read.config ? "the changes in the log above this line were made; correct the file and reload"
                                : "nothing was changed; correct the file and reload"));
  }
  const auto answer = std::make_shared<ReloadAnswer>(std::move(read.answer));
  const auto level = log_level_named(read.config->node.log_level);
  if (level && *level != context_->log.level()) {
    context_->log.set_level(*level);
    answer->changed.emplace_back("log_level");
  }
  const auto format = log_format_named(read.config->node.log_format);
  if (format && *format != context_->log.format()) {
    context_->log.set_format(*format);
    answer->changed.emplace_back("log_format");
  }
  if (read.needs_dispatcher) {
    auto replacing = replace_dispatcher(self);
    co_await replacing;
  }
  // So that what is submitted from now on is done with the new settings.
  for (const std::string& swarm : read.swarms) {
    const Pid coordinator = self.whereis(swarm::coordinator_name(swarm));
    if (!coordinator) continue;
    auto looking = self.call<swarm::Coordinator>(coordinator, swarm::LookNow{}, k_call_timeout);
    [[maybe_unused]] const auto looked = co_await looking;  // else it looks by itself, soon
  }
  auto settling = settle(self, answer);
  co_await settling;
  ++reloads_;
  co_return operations::Result<ReloadAnswer>(*answer);
}

Async<void> ConfigService::handle_info(Self self, Message message) {
  const auto* due = message.get_if<Settle>();
  if (due == nullptr || due->number != settles_) co_return;
  auto settling = settle(self, nullptr);
  co_await settling;
}

// A new one starts with the options of the config. Agents outlive it, and so does what they run.
Async<void> ConfigService::replace_dispatcher(Self self) {
  const Pid supervisor = self.whereis(k_work_sup_name);
  if (!supervisor) co_return;  // it comes, and with it a dispatcher
  const std::string child = "dispatcher";
  auto ending = terminate_child(self, supervisor, child, k_call_timeout);
  const auto ended = co_await ending;
  if (!ended) co_return;
  auto starting = restart_child(self, supervisor, child, k_call_timeout);
  const auto started = co_await starting;
  if (started) co_return;
  context_->log.error("reload: the dispatcher could not be started: " + started.error().text());
  self.exit(supervisor, ExitReason::custom("it has no dispatcher"));  // its supervisor starts it again with all of it
}

void ConfigService::settle_again(Self self) { self.send_after(k_settle_every, self.pid(), Settle{++settles_}); }

void ConfigService::tell(const AnswerPtr& answer, std::string text) {
  if (answer) {
    answer->changed.push_back(std::move(text));
  } else {
    context_->log.info(text);
  }
}

Async<void> ConfigService::settle(Self self, AnswerPtr answer) {
  if (!self.whereis(k_named_agents_name) || !self.whereis(k_agents_sup_name)) {
    settle_again(self);  // they have yet to start
    co_return;
  }
  const Units there = context_->deployment.units();
  const Units wanted = wanted_units(
      *context_->config(), [this](const std::string& executor) { return context_->executors->mark_of(executor); });
  DeploymentPlan plan = plan_deployment(there, wanted);
  for (const std::string& name : plan.keep) {
    auto keeping = keep_unit(self, name, there.at(name), answer);
    co_await keeping;
  }
  bool is_settled = true;
  std::vector<std::string> leaving = plan.end;
  leaving.insert(leaving.end(), plan.replace.begin(), plan.replace.end());
  for (const std::string& name : leaving) {
    const Unit& unit = there.at(name);
    const bool is_wanted = wanted.contains(name);
    auto ending = end_unit(self, name, unit);
    const bool has_ended = co_await ending;
    is_settled = is_settled && has_ended;
    if (!has_ended) {
      if (answer) tell(answer, unit_text(name, unit) + (is_wanted ? " is replaced once idle" : " ends once idle"));
    } else if (is_wanted) {
      plan.start.push_back(name);
    } else {
      tell(answer, unit_text(name, unit) + " ended");
    }
  }
  for (const std::string& name : plan.start) {
    auto starting = start_unit(self, name, wanted.at(name), answer);
    co_await starting;
  }
  if (!is_settled) settle_again(self);
}

// None of them runs or holds anything, and none will begin.
Async<bool> ConfigService::is_idle(Self self, std::vector<std::string> agents) {
  bool are_idle = true;
  for (const std::string& id : agents) {
    const Pid pid = context_->registry->find_agent(id).value_or(Pid{});
    if (!pid) continue;
    self.send(pid, dispatch::PauseAgent{});
    auto asking = self.call<agent::Agent>(pid, agent::GetAgentState{}, k_idle_wait);
    const auto state = co_await asking;
    if (!state) {
      are_idle = are_idle && !context_->runtime.is_alive(pid);
      continue;
    }
    are_idle = are_idle && !state->executing_task && state->queue_length == 0 && state->unsettled == 0;
  }
  co_return are_idle;
}

Async<bool> ConfigService::end_unit(Self self, std::string name, Unit unit) {
  retiring_.insert(name);
  auto looking = is_idle(self, unit.agents);
  const bool may_end = co_await looking;
  if (!may_end) co_return false;
  const Pid supervisor = self.whereis(supervisor_of(unit));
  const std::string child = child_id_of(name);
  auto ending = terminate_child(self, supervisor, child, k_call_timeout);
  const auto ended = co_await ending;
  if (!ended && ended.error().failure != ChildFailure::not_found) co_return false;
  auto removing = delete_child(self, supervisor, child, k_call_timeout);
  const auto removed = co_await removing;
  if (!removed && removed.error().failure != ChildFailure::not_found) co_return false;
  retiring_.erase(name);
  context_->deployment.forget(name);
  if (!unit.is_supervisor) context_->troubles.forget(child);
  co_return true;
}

Async<void> ConfigService::start_unit(Self self, std::string name, Unit unit, AnswerPtr answer) {
  const auto config = context_->config();
  const std::string id = child_id_of(name);
  std::optional<ChildSpec> spec;
  if (unit.is_supervisor) {
    spec = declared_supervisor_child(context_, *config, id);
  } else {
    const auto agent = std::ranges::find(config->agents, id, &AgentConfig::id);
    if (agent != config->agents.end()) spec = named_agent_child(context_, *agent);
  }
  if (!spec) co_return;
  if (!unit.is_supervisor) context_->deployment.set_stopped(id, false);
  auto starting = start_child(self, self.whereis(supervisor_of(unit)), std::move(*spec), k_call_timeout);
  const auto started = co_await starting;
  // One that could not be started is tried again by its supervisor, or by the next reload.
  if (started || started.error().failure == ChildFailure::already_present) context_->deployment.note(name, unit);
  tell(answer, started ? unit_text(name, unit) + " started"
                       : fmt::format("{} could not be started: {}", unit_text(name, unit), started.error().text()));
}

Async<void> ConfigService::keep_unit(Self self, std::string name, Unit unit, AnswerPtr answer) {
  if (retiring_.erase(name) > 0) {
    // It was to be replaced, and now it is as the config has it again.
    for (const std::string& id : unit.agents) {
      self.send(context_->registry->find_agent(id).value_or(Pid{}), dispatch::ResumeAgent{});
    }
  }
  if (!answer || unit.is_supervisor || context_->registry->find_agent(child_id_of(name))) co_return;
  context_->deployment.set_stopped(child_id_of(name), false);
  auto starting = restart_child(self, self.whereis(k_named_agents_name), child_id_of(name), k_call_timeout);
  const auto started = co_await starting;
  if (started) tell(answer, unit_text(name, unit) + " started again");
}

DescriptorWatch::DescriptorWatch(Self self, ContextPtr context) : context_(std::move(context)) {
  failures_ = spare_descriptors().failures();
  self.send_interval(k_health_every, self.pid(), Beat{});
}

void DescriptorWatch::handle_info(Self, Message message) {
  if (message.is<Beat>()) look_at_descriptors();
}

void DescriptorWatch::look_at_descriptors() {
  SpareDescriptors& spares = spare_descriptors();
  const std::size_t held = spares.refill();
  const std::uint64_t failures = spares.failures();
  if (failures != std::exchange(failures_, failures)) {
    if (!std::exchange(is_wanting_, true)) {
      context_->log.error(
          "no descriptor is free, not even for the journal's files: operations that need another file are refused "
          "until some are; raise the limit on open files (ulimit -n, LimitNOFILE=)");
    }
  } else if (is_wanting_ && held > 0) {
    is_wanting_ = false;
    context_->log.info("descriptors are free again");
  }
}

std::string DescriptorWatch::describe() const { return is_wanting_ ? "no descriptor is free" : "descriptors are free"; }

}  // namespace skein::inline v0::node
