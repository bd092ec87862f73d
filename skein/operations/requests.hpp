// What can be asked of a node, and what it answers: the words behind CLI, MCP and REST alike. Plain values.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skein/archive/archiver.hpp"
#include "skein/dispatch/passed_over.hpp"
#include "skein/journal/journal.hpp"
#include "skein/ledger/ledger.hpp"
#include "skein/operations/error.hpp"
#include "skein/operations/gate.hpp"
#include "skein/operations/why_waits.hpp"
#include "skein/runtime/pid.hpp"

namespace skein::inline v0::operations {

using ledger::Fields;
using ledger::State;
using ledger::TaskId;
using ledger::WallMs;

struct SubmitRequest {
  std::string swarm = "default";
  std::string type{};
  std::string params{};             // one JSON value; empty: none
  std::string priority = "normal";  // low, normal, high or critical
  std::string key{};                // of idempotency: the same key again finds the first task
  std::vector<std::string> capabilities{};
  std::vector<TaskId> dependencies{};     // it waits until all of these are completed
  std::uint32_t attempts = 4;             // at most so many, the first included
  std::chrono::milliseconds timeout{0};   // of each attempt; zero: the type's or the executor's
  std::chrono::milliseconds delay{0};     // not before this has passed
  std::chrono::milliseconds deadline{0};  // from now, all attempts together; zero: none
  std::string trace{};                    // a W3C traceparent
  std::string agent{};                    // the only one that may do it; empty: any
  std::string agent_fallback{};  // none: it waits for the agent; any: others may after agent_wait; empty: by type
  std::chrono::milliseconds agent_wait{0};  // zero: by type, else by config
  std::string route_key{};  // of consistent_hash: the same key, the same agent; empty: the key, else the id
  Pid notify{};             // a process that is told when it ends, see TaskComplete
  std::optional<ledger::ChildOf> child_of{};  // the task that submits it; nothing: none does
  bool only_own_agents = false;               // the agent it names must be one of its swarm
};
struct SubmitAnswer {
  TaskId id;
  State state = State::queued;
  bool existing = false;                      // the key had this task already
  bool is_gone = false;                       // and its result is kept no more: lost, or removed by retention
  std::shared_ptr<const WaitReason> waits{};  // no agent can do it now: why, and which swarms could; else null
};

// What the process named in SubmitRequest::notify is sent when the task has ended, once, as long as this node runs: who
// must know after a restart of the node asks for the status. It gets into a full mailbox too.
struct TaskComplete {
  TaskId id;
  ledger::Body result;
};
struct TaskFailed {
  TaskId id;
  State state = State::failed;  // or cancelled
  ledger::Ending ending = ledger::Ending::attempts_spent;
  std::string message;
};

struct TaskStatus {
  ledger::Task task;
  std::shared_ptr<const ledger::FinishedTask> finished;  // when it is
  bool archived = false;                                 // it is in the archive alone
  std::string waits{};                                   // why it does not run yet; empty: it does, or has ended
  WaitCause waits_for = WaitCause::none;                 // the same for programs
  std::vector<std::string> able_swarms{};                // of no_able_agent: see WaitReason
};

// By id, or else by swarm and key.
struct StatusRequest {
  TaskId id{};
  std::string swarm = "default";
  std::string key{};
};

// Kept by a client that may stop waiting before the time is up, for Operations::give_up().
struct WaitTicket {
  std::atomic<bool> is_given_up{false};
};
struct WaitRequest {
  TaskId id{};
  std::chrono::milliseconds timeout{50'000};  // at most OperationsLimits::wait_max
  std::shared_ptr<WaitTicket> ticket{};       // null: it is waited for in any case
};
struct WaitAnswer {
  TaskStatus status;
  bool finished = false;     // false: the time was up, or the node is stopping
  bool is_stopping = false;  // the node answers before it goes: ask again when the node is running again
};
// Called on the journal's thread with each progress mark; must not block.
using ProgressFn = std::function<void(TaskId, const ledger::Body& mark)>;

// All that is given must hold. Open tasks come first, the last submitted at the top, then finished ones, the last
// finished at the top.
struct ListRequest {
  std::optional<State> state{};
  std::string swarm{};
  std::string type{};
  std::string id_prefix{};  // the ids begin like this; dashes and case do not matter
  std::string text{};       // every word begins a word of the params, the result or the message
  WallMs finished_from = 0;
  WallMs finished_before = 0;
  std::string cursor{};  // of the answer before
  std::size_t limit = 100;
};
// Walked to its end, a list has each task that was there at its beginning once, whatever finishes meanwhile. Those from
// the archive come without params, result and history.
struct ListAnswer {
  std::vector<TaskStatus> tasks;
  std::string cursor;  // empty at the end
};

struct CancelRequest {
  TaskId id{};
  std::string reason{};
};
struct RetryAnswer {
  TaskId id;              // of the new task
  bool existing = false;  // it had been retried before
};

struct TokenRequest {
  std::string name{};
  ledger::Rank rank = ledger::Rank::read;
  std::chrono::milliseconds ttl{0};  // zero: it does not expire
  ledger::TokenBounds bounds{};
};
struct RotateRequest {
  std::string name{};
  std::chrono::milliseconds overlap{0};  // for so long the secret before works too
};
// A token and its secret, which is shown this once.
struct MadeToken {
  ledger::Token token;
  std::string secret;
};
struct TokensAnswer {
  std::vector<ledger::Token> tokens;  // by name; the first one among them, where there is one
  WallMs now = 0;                     // by which they are judged
};

// What a request of a bound token must be about: this task and its children, or the tasks of this swarm.
struct Scope {
  TaskId task{};
  ledger::Fence fence = 0;  // of the attempt that asks; 0: any
  std::string swarm{};
};

// What people may call a swarm or an agent: it is typed, printed, and part of paths and capabilities.
[[nodiscard]] constexpr bool is_plain_name(std::string_view name) {
  for (const char c : name) {
    const bool is_plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
    if (!is_plain) return false;
  }
  return !name.empty();
}
inline constexpr std::string_view k_plain_name_advice = "a name has letters, digits, '-', '_' and '.'";

// A swarm as the ledger has it, and what its coordinator finds wrong with it.
struct SwarmView : ledger::Swarm {
  std::vector<std::string> problems{};
  std::vector<dispatch::PassedOver> passed_over{};  // types of its tasks that are held back
  ledger::Limits limits{};                          // of the node
};

struct SwarmRequest {
  std::string name{};
  Fields fields{};
};
inline constexpr const char* k_field_agents_min = "agents_min";
inline constexpr const char* k_field_agents_max = "agents_max";
// Values that are not given keep what is in force.
struct ScaleRequest {
  std::string name{};
  std::optional<std::uint32_t> agents_min{};
  std::optional<std::uint32_t> agents_max{};
};
// What is in force now.
struct ScaleAnswer {
  std::string name;
  std::uint32_t agents_min = 0;
  std::uint32_t agents_max = 0;
};

// What the layer that runs agents knows of the one that a task is for. Any thread; must not block.
class AgentKnowledge {
 public:
  AgentKnowledge() = default;
  AgentKnowledge(const AgentKnowledge&) = delete;
  AgentKnowledge& operator=(const AgentKnowledge&) = delete;
  virtual ~AgentKnowledge() = default;
  // Whether it runs or will: a name nobody has is a mistake, where the task may go to no other agent.
  [[nodiscard]] virtual bool is_known(const std::string& agent) const = 0;
  // A name like it that is known, in words to be put behind a message; or nothing.
  [[nodiscard]] virtual std::string suggestion(const std::string& agent) const = 0;
  // The swarm of a known agent; nothing when the agent is unknown, or nothing is known of agents.
  [[nodiscard]] virtual std::optional<std::string> swarm_of(const std::string& /*agent*/) const { return std::nullopt; }
  [[nodiscard]] virtual bool may_unpin(std::string_view type, const ledger::Placement& where) const = 0;
  // Why a pinned task that is queued is not at its agent, and what will happen.
  [[nodiscard]] virtual std::string why_it_waits(const ledger::Task& task) const = 0;
  // The agents that could do an open task; nothing when unknown. `has_own_agents`: only those of its swarm may have it.
  [[nodiscard]] virtual std::optional<AbleAgents> able_agents(const ledger::Shape& /*shape*/, bool /*has_own_agents*/,
                                                              const PausedNames& /*paused*/) const {
    return std::nullopt;
  }
  // The node is on its way down and starts nothing more.
  [[nodiscard]] virtual bool is_stopping() const { return false; }
  // False: nobody may be able to do such a task, and able_agents() should be asked. Cheap: it is asked at every submit,
  // and its answer may be a second old.
  [[nodiscard]] virtual bool is_likely_able(std::string_view /*swarm*/, std::span<const std::string> /*required*/,
                                            const PausedNames& /*paused*/) const {
    return true;
  }
};

// Everything in it was measured; counts are since the start.
struct NodeStatus {
  ledger::Counters ledger;
  ledger::Limits limits;
  ledger::Epoch epoch = 0;
  journal::JournalStatus journal;
  GateStatus submits;
  GateStatus controls;
  std::uint64_t submitted = 0;  // tasks made
  std::uint64_t repeated = 0;   // submits and retries that were answered with a task that was there
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t fell_back = 0;                         // to a fallback swarm
  std::vector<std::pair<Code, std::uint64_t>> errors;  // those that occurred
  std::size_t waiters = 0;
  std::size_t notices = 0;  // processes to be told of ends to come
  std::uint64_t events = 0;
  std::uint64_t events_missed = 0;  // by all subscribers together
  std::size_t subscribers = 0;
  std::optional<std::uint64_t> archived;  // tasks in the archive; nothing when it cannot be read
  std::optional<archive::ArchiverStatus> archiver;
  std::optional<archive::Marks> archive_marks;
  std::vector<archive::Loss> losses;  // results that were accepted as lost, the last ones
  std::string archive_error;          // why it cannot be read
};

}  // namespace skein::inline v0::operations
