// A node in small, for tests that run agents as OS processes: real journal on a real disk, ledger, dispatcher,
// registry, operations, launcher, and a supervisor under which the agents live. To be used from one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/os_host.hpp"
#include "skein/agent/agent.hpp"
#include "skein/agent/os_executor.hpp"

namespace skein::sim {

class AgentHost : public OsHost {
 public:
  // Makes its folder under the system's temporary one, and removes it in the end.
  AgentHost();
  ~AgentHost();

  enum class Kind : std::uint8_t { command, stdio };
  // A permanent agent that can do `capability`; returns when it is registered. What it runs has `mark` in its
  // environment, so that its OS processes can be found.
  void start_agent(const std::string& id, Kind kind, const std::string& capability, agent::OsExecutorOptions options,
                   std::uint32_t prefetch = 0);
  // Its process, nobody while it is being restarted.
  [[nodiscard]] Pid agent(const std::string& id) const;
  [[nodiscard]] std::optional<agent::AgentState> state(const std::string& id);
  // Waits until it is connected to the dispatcher and its executor has been ready; false when it was not in time.
  [[nodiscard]] bool wait_connected(const std::string& id);
  // Ends it for good.
  void stop_agent(const std::string& id);

  [[nodiscard]] ledger::TaskId submit(operations::SubmitRequest request);
  [[nodiscard]] ledger::TaskId submit(const std::string& type, const std::string& params);
  // As it stands when it has finished, or when the time was up.
  [[nodiscard]] operations::TaskStatus wait(ledger::TaskId id,
                                            std::chrono::milliseconds timeout = std::chrono::seconds(40));
  [[nodiscard]] operations::TaskStatus status(ledger::TaskId id);
  void cancel(ledger::TaskId id);
  // A function agent does a task: everything that a task passes through works.
  [[nodiscard]] bool is_healthy();

  // Living OS processes that this host has started, however they were started in turn.
  [[nodiscard]] std::vector<pid_t> os_processes() const;
  // Why agents crashed, in order.
  [[nodiscard]] std::vector<std::string> crashes() const;
  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] const std::string& mark() const { return mark_; }
  Runtime& runtime() { return *runtime_; }

 private:
  struct Crashes;

  void start_dispatcher();

  std::shared_ptr<Crashes> crashes_;
  Pid supervisor_;
};

}  // namespace skein::sim
