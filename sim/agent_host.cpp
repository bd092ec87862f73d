#include "sim/agent_host.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>

#include "skein/agent/command_executor.hpp"
#include "skein/agent/function_agent.hpp"
#include "skein/agent/stdio_executor.hpp"
#include "skein/launcher/proc_tree.hpp"
#include "skein/supervision/events.hpp"
#include "skein/supervision/supervisor_api.hpp"

namespace skein::sim {
namespace {

using namespace std::chrono_literals;
using operations::ask;

constexpr const char* k_healthy_type = "are_you_well";
constexpr auto k_connect_limit = 20s;

}  // namespace

struct AgentHost::Crashes {
  std::mutex mutex;
  std::vector<std::string> reasons;
};

AgentHost::AgentHost() : OsHost("skein-agents", "SKEIN_TEST_MARK"), crashes_(std::make_shared<Crashes>()) {
  begin();
  start_dispatcher();
  SupervisorSpec spec;
  spec.name = "agents";
  spec.flags.intensity = 1'000;
  spec.flags.period = 1s;
  spec.sink = std::make_shared<const EventSink>([crashes = crashes_](const SupervisionEvent& event) {
    if (event.kind != EventKind::child_terminated) return;
    const std::lock_guard lock(crashes->mutex);
    crashes->reasons.push_back(event.reason.text());
  });
  const auto supervisor = start_supervisor(*runtime_, std::move(spec));
  if (!supervisor) throw std::runtime_error("no supervisor: " + supervisor.error().reason.text());
  supervisor_ = supervisor->pid;
  auto healthy = std::make_unique<agent::FunctionAgentOptions>();
  healthy->name = "healthy";
  healthy->capabilities = {k_healthy_type};
  healthy->function = agent::echo;
  runtime_->spawn<agent::FunctionAgent>(std::move(healthy));
}

AgentHost::~AgentHost() { end(); }

void AgentHost::start_dispatcher() {
  SpawnOptions options;
  options.name = dispatch::k_dispatcher_name;
  runtime_->spawn_with<dispatch::Dispatcher>(options, dispatcher_setup());
}

void AgentHost::start_agent(const std::string& id, Kind kind, const std::string& capability,
                            agent::OsExecutorOptions options, std::uint32_t prefetch) {
  options.environment.push_back(mark_);
  // The system's own programs first: what a person has put before them may be a script around them.
  const char* path = std::getenv("PATH");
  options.environment.push_back(fmt::format("PATH=/usr/bin:/bin:{}", path == nullptr ? "" : path));
  if (options.directory.empty()) options.directory = folder_;
  const auto shared = std::make_shared<const agent::OsExecutorOptions>(std::move(options));
  const agent::AgentMaker make = [=, this] {
    auto setup = std::make_unique<agent::AgentSetup>();
    setup->name = id;
    setup->capabilities = {capability};
    setup->prefetch = prefetch;
    setup->registry = registry_;
    if (kind == Kind::command) {
      setup->executor = std::make_unique<agent::CommandExecutor>(os_, shared);
    } else {
      setup->executor = std::make_unique<agent::StdioExecutor>(os_, shared);
    }
    return setup;
  };
  const auto started = start_child(*runtime_, supervisor_, child<agent::Agent>(id, make).with(Shutdown::after(2s)));
  if (!started) throw std::runtime_error(fmt::format("agent {}: {}", id, started.error().text()));
}

Pid AgentHost::agent(const std::string& id) const { return registry_->find_agent(id).value_or(Pid{}); }

std::optional<agent::AgentState> AgentHost::state(const std::string& id) {
  auto answer = runtime_->call<agent::Agent>(agent(id), agent::GetAgentState{});
  if (!answer) return std::nullopt;
  return std::move(*answer);
}

bool AgentHost::wait_connected(const std::string& id) {
  const auto until = std::chrono::steady_clock::now() + k_connect_limit;
  while (std::chrono::steady_clock::now() < until) {
    const auto now = state(id);
    if (now && now->is_connected) return true;
    std::this_thread::sleep_for(1ms);
  }
  return false;
}

void AgentHost::stop_agent(const std::string& id) {
  if (!terminate_child(*runtime_, supervisor_, id)) return;
  if (const auto forgotten = delete_child(*runtime_, supervisor_, id); !forgotten) {
    throw std::runtime_error(fmt::format("agent {}: {}", id, forgotten.error().text()));
  }
}

ledger::TaskId AgentHost::submit(operations::SubmitRequest request) {
  const auto answer = ask<operations::SubmitAnswer>(
      [&](auto reply) { operations_->task_submit(std::move(request), std::move(reply)); });
  if (!answer) throw std::runtime_error(answer.error().describe());
  return answer->id;
}

ledger::TaskId AgentHost::submit(const std::string& type, const std::string& params) {
  operations::SubmitRequest request;
  request.type = type;
  request.params = params;
  return submit(std::move(request));
}

operations::TaskStatus AgentHost::wait(ledger::TaskId id, std::chrono::milliseconds timeout) {
  operations::WaitRequest request;
  request.id = id;
  request.timeout = timeout;
  const auto answer =
      ask<operations::WaitAnswer>([&](auto reply) { operations_->task_wait(request, nullptr, std::move(reply)); });
  if (!answer) throw std::runtime_error(answer.error().describe());
  return answer->status;
}

operations::TaskStatus AgentHost::status(ledger::TaskId id) {
  operations::StatusRequest request;
  request.id = id;
  const auto answer =
      ask<operations::TaskStatus>([&](auto reply) { operations_->task_status(request, std::move(reply)); });
  if (!answer) throw std::runtime_error(answer.error().describe());
  return *answer;
}

void AgentHost::cancel(ledger::TaskId id) {
  const auto answer = ask<operations::State>([&](auto reply) {
    operations_->task_cancel(operations::CancelRequest{id, "a test wants it"}, std::move(reply));
  });
  if (!answer) throw std::runtime_error(answer.error().describe());
}

bool AgentHost::is_healthy() {
  const auto done = wait(submit(k_healthy_type, "\"yes\""), 10s);
  return done.task.state == ledger::State::completed && ledger::view_of(done.finished->result) == "\"yes\"";
}

std::vector<pid_t> AgentHost::os_processes() const { return launcher::processes_with(mark_); }

std::vector<std::string> AgentHost::crashes() const {
  const std::lock_guard lock(crashes_->mutex);
  return crashes_->reasons;
}

}  // namespace skein::sim
