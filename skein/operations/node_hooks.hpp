// What can be asked of a node beside its tasks: agents, the tree, processes, logs, chaos. The node fills it in; every
// way in calls it. Like Operations, but it is there also while the engine restarts.
//
// Any thread; nothing blocks, and every Reply is answered once.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "skein/operations/operations.hpp"
#include "skein/operations/reply.hpp"
#include "skein/operations/requests.hpp"
#include "skein/runtime/process_info.hpp"
#include "skein/runtime/trace.hpp"
#include "skein/supervision/tree_view.hpp"

namespace skein::inline v0::operations {

struct AgentDetail {
  std::string id{};
  std::string role{};
  // idle, assigned, executing, done, paused, failed, stuck; unreachable: it did not answer; stopped, parked,
  // restarting: of [[agents]], and has no process
  std::string status{};
  std::string swarm{};
  std::string executor{};
  std::vector<std::string> capabilities{};
  std::uint32_t slots = 0;  // on every wire: 1 + prefetch
  std::uint64_t load = 0;   // tasks assigned to it
  std::uint64_t queue_length = 0;
  std::optional<TaskId> executing_task{};
  std::string executing_type{};
  std::uint64_t executing_ms = 0;
  std::uint64_t heartbeat_age_ms = 0;
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;
  std::uint64_t returned = 0;
  bool is_named = false;  // in the config; restarted for ever
  Pid pid{};
  std::uint64_t os_pid = 0;                         // of the program that it runs; 0: none
  std::vector<dispatch::PassedOver> passed_over{};  // why it gets nothing, or comes last; empty: it gets its share
};

struct PastTaskInfo {
  TaskId id;
  std::string type;
  std::string end;  // completed or failed
  std::uint32_t attempt = 1;
  double took_ms = 0;
};
struct AgentStatusAnswer {
  AgentDetail agent;
  std::optional<double> success_rate;  // nothing while nothing has ended there
  double avg_latency_ms = 0;
  std::vector<PastTaskInfo> past;  // the last ones, the newest first
};

struct SpawnAgentRequest {
  std::string id{};  // empty: one is made
  std::string executor{};
  std::string role = "worker";
  std::string swarm = "default";
  std::vector<std::string> capabilities{};
  std::uint32_t prefetch = 1;
};

// The given values are changed, until the agent is restarted.
struct UpdateAgentRequest {
  std::string id{};
  std::optional<std::uint32_t> prefetch{};
  std::vector<std::string> capabilities{};  // empty: as they are
};
struct CancelAgentAnswer {
  std::optional<TaskId> task{};  // whose attempt was cut short; nothing: it ran none
};

// What chaos kills: a process by its path in the tree ("agents_sup/agent_pool/*", "engine_sup"), its name or its Pid.
struct KillRequest {
  std::string target{};
  std::string signal = "kill";  // kill, or crash: the reason "chaos"
  std::uint32_t count = 1;      // of those that match, chosen at random
};
struct KillAnswer {
  std::vector<std::string> killed;  // what they were
};

struct TraceRequest {
  std::string target{};  // a name or a Pid
  std::uint32_t messages = 100;
  std::chrono::milliseconds within{1000};
};

// What supervisors had to do since the start of the program.
struct SupervisionFigures {
  std::uint64_t restarts = 0;
  std::uint64_t failed_starts = 0;
  std::uint64_t parkings = 0;
  std::uint64_t intensity_warnings = 0;  // a supervisor had used 80% of its restarts
  std::uint64_t gave_up = 0;             // it had used them up
};

// The node's descriptors: those for connections and OS processes, and those held back for the journal.
struct DescriptorInfo {
  std::uint64_t total = 0;
  std::uint64_t used = 0;
  std::uint64_t unauthenticated = 0;  // connections that have not shown a token
  std::uint64_t unauthenticated_max = 0;
  std::uint64_t sent_away = 0;  // of those, to make room
  std::uint64_t refused = 0;    // times there was no room
  std::uint64_t spare = 0;
};

struct NodeInfo {
  std::string name;
  std::string version;
  std::string data;
  std::string config;  // its file, or empty
  std::string log;     // where its log can be read, for people
  std::string state;   // starting, running, draining, stopping
  int os_pid = 0;
  std::uint64_t uptime_ms = 0;
  std::uint32_t processes = 0;
  std::uint64_t memory_bytes = 0;          // resident
  std::uint64_t cpu_ms = 0;                // processor time since the program began
  std::uint64_t disk_low_water_bytes = 0;  // with less room than this only completions are taken
  SupervisionFigures supervision{};
  std::vector<std::string> exposed{};  // what agents can reach of the node, in plain words, an executor each
  std::string launcher_problem{};      // why no OS process can be started, and what to do; empty: all is well
  std::uint64_t time_lost_ms = 0;      // in which the whole program stood still; no time limit counts it
  std::uint32_t mcp_clients = 0;       // on the Unix socket
  DescriptorInfo descriptors{};
};

struct ReloadAnswer {
  std::vector<std::string> changed;
  std::vector<std::string> needs_restart;  // keys that differ and were not taken over
};

struct BackupAnswer {
  std::string folder{};
  std::uint64_t last = 0;                   // position up to which the journal's copy goes
  std::optional<std::uint64_t> archived{};  // tasks in the archive's copy; nothing: there is no archive
  std::string text{};                       // the same for people
};

class NodeHooks {
 public:
  using Nothing = Operations::Nothing;

  NodeHooks() = default;
  NodeHooks(const NodeHooks&) = delete;
  NodeHooks& operator=(const NodeHooks&) = delete;
  virtual ~NodeHooks() = default;

  // Null while the engine is not there. Let go of it soon: the engine waits for that when it restarts.
  [[nodiscard]] virtual std::shared_ptr<Operations> operations() = 0;
  // Notes a process that is sent OperationsGone when those of now end.
  virtual void watch_operations(Pid watcher) = 0;

  // It is going down and takes no new work.
  [[nodiscard]] virtual bool is_draining() const = 0;
  [[nodiscard]] virtual NodeInfo info() = 0;
  [[nodiscard]] virtual Result<TreeEntry> tree() = 0;
  [[nodiscard]] virtual std::vector<ProcessInfo> processes() = 0;
  virtual void describe(std::string target, Reply<std::string> reply) = 0;
  virtual void trace(TraceRequest request, Reply<std::vector<TracedMessage>> reply) = 0;
  // Writes it into the data folder; answers the path.
  virtual void dump(Reply<std::string> reply) = 0;
  [[nodiscard]] virtual std::string log_level() = 0;
  [[nodiscard]] virtual Result<Nothing> set_log_level(const std::string& level) = 0;

  // Those that have all of these capabilities; none: all agents.
  virtual void agents(std::vector<std::string> capabilities, Reply<std::vector<AgentDetail>> reply) = 0;
  virtual void agent_status(std::string id, Reply<AgentStatusAnswer> reply) = 0;
  virtual void agent_set_paused(std::string id, bool is_paused, Reply<Nothing> reply) = 0;
  virtual void agent_stop(std::string id, Reply<Nothing> reply) = 0;
  // One of [[agents]] that was stopped, or is parked.
  virtual void agent_start(std::string id, Reply<Nothing> reply) = 0;
  virtual void agent_update(UpdateAgentRequest request, Reply<Nothing> reply) = 0;
  // Cuts short what it runs: that attempt fails for good.
  virtual void agent_cancel(std::string id, Reply<CancelAgentAnswer> reply) = 0;
  // Answers its id.
  virtual void agent_spawn(SpawnAgentRequest request, Reply<std::string> reply) = 0;
  // Restarts a child by its path in the tree, also one that is down or parked; answers the path and its new Pid.
  virtual void tree_restart(std::string path, Reply<std::string> reply) = 0;

  [[nodiscard]] virtual Result<KillAnswer> chaos_kill(const KillRequest& request) = 0;
  virtual void reload(Reply<ReloadAnswer> reply) = 0;
  // A copy of the journal of the running node in a new folder; answers what it holds.
  virtual void backup(std::string dest, Reply<BackupAnswer> reply) = 0;
  // As SIGTERM does.
  virtual void stop() = 0;
};

struct OperationsGone {};

}  // namespace skein::inline v0::operations
