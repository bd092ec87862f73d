// What the entries of a ledger's journal add up to, kept by a second set of books: for each operation and the answer it
// got, was that answer right, and how does each task stand now? Written from the rules in docs/internals/ledger.md; it
// shares the bytes of commands with the ledger, and nothing else.
//
// A refusal is right when what it claims holds; an acceptance is right when no ground for a refusal does. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skein/journal/entry.hpp"
#include "skein/ledger/command.hpp"
#include "skein/ledger/ledger.hpp"

namespace skein::sim {

// How agents of the simulation begin what they say of a failure; what begins otherwise is the dispatcher's.
inline constexpr std::string_view k_agents_own = "agent says: ";

using Counts = std::map<std::string, std::uint64_t, std::less<>>;

// A task as the books have it.
struct BookedTask {
  ledger::TaskId id;
  ledger::TaskNumber number = 0;
  std::string swarm;        // that has it now
  std::string first_swarm;  // that it was submitted to
  std::string key;
  std::string params;
  ledger::State state = ledger::State::queued;
  ledger::Fence fence = 0;  // of the last assignment
  std::string agent;        // of the last assignment
  std::uint32_t attempts = 0;
  std::uint32_t attempts_max = 0;
  std::uint32_t deliveries = 0;
  std::uint32_t fallbacks = 0;
  std::string for_agent;  // as submitted; empty: any
  std::string route_key;
  ledger::AgentFallback fallback = ledger::AgentFallback::by_config;
  bool is_unpinned = false;
  std::uint64_t timeout_ms = 0;
  ledger::WallMs not_before = 0;
  ledger::WallMs deadline = 0;
  ledger::WallMs assigned_at = 0;
  std::vector<ledger::TaskId> waits_for;
  std::uint64_t bytes = 0;             // charged, those of dependencies included
  std::uint64_t dependency_bytes = 0;  // of those
  std::string result;
  ledger::TaskId retry_of;
  ledger::TaskId retried_as;
  std::uint64_t finish_number = 0;
  bool is_expired = false;
  bool is_archived = false;

  [[nodiscard]] bool is_open() const { return !ledger::is_finished(state); }
  [[nodiscard]] bool is_pinned() const { return !for_agent.empty() && !is_unpinned; }
};

class StackAccount {
 public:
  // What is wrong with the answer; nothing when it is right. The books then follow it.
  [[nodiscard]] std::optional<std::string> judge(journal::Position position, std::string_view command,
                                                 std::string_view answer);
  // Where the ledger stands otherwise than the books; nothing when nowhere.
  [[nodiscard]] std::optional<std::string> difference(const ledger::Ledger& real) const;

  [[nodiscard]] const BookedTask* find(ledger::TaskId id) const;
  [[nodiscard]] const BookedTask* numbered(ledger::TaskNumber number) const;
  [[nodiscard]] const BookedTask* with_params(std::string_view params) const;
  [[nodiscard]] const std::map<ledger::TaskId, BookedTask>& tasks() const { return tasks_; }
  // The agent that was given the fence, and the task.
  struct Assignment {
    ledger::TaskNumber task = 0;
    std::string agent;
    std::uint32_t attempts = 0;  // failed before it
  };
  [[nodiscard]] const Assignment* assignment(ledger::Fence fence) const;
  [[nodiscard]] ledger::Fence last_fence() const { return last_fence_; }
  [[nodiscard]] ledger::Epoch epoch() const { return epoch_; }
  [[nodiscard]] const Counts& counts() const { return counts_; }
  // The tasks an archived operation drops are handed to this before they go.
  std::function<void(const BookedTask&)> on_archived;
  // An accepted outcome, requeue or failure, before the books follow it.
  std::function<void(const BookedTask&, const ledger::Op&)> on_accepted;

 private:
  struct Swarm {
    ledger::SwarmState state = ledger::SwarmState::active;
    ledger::Breaker breaker = ledger::Breaker::closed;
    ledger::Fields definition;
    ledger::Fields overrides;
  };
  struct Key {
    std::string swarm;
    std::string key;
    ledger::TaskId task;
    ledger::WallMs at = 0;
  };

  void on(const ledger::Submit& op, const ledger::OpResult& answer);
  void on(const ledger::Assign& op, const ledger::OpResult& answer);
  void on(const ledger::Start& op, const ledger::OpResult& answer);
  void on(const ledger::Progress& op, const ledger::OpResult& answer);
  void on(const ledger::Complete& op, const ledger::OpResult& answer);
  void on(const ledger::Fail& op, const ledger::OpResult& answer);
  void on(const ledger::Requeue& op, const ledger::OpResult& answer);
  void on(const ledger::Cancel& op, const ledger::OpResult& answer);
  void on(const ledger::Retry& op, const ledger::OpResult& answer);
  void on(const ledger::Expire& op, const ledger::OpResult& answer);
  void on(const ledger::Age& op, const ledger::OpResult& answer);
  void on(const ledger::TakeDispatch& op, const ledger::OpResult& answer);
  void on(const ledger::SwarmPut& op, const ledger::OpResult& answer);
  void on(const ledger::SwarmOverride& op, const ledger::OpResult& answer);
  void on(const ledger::SwarmDropOverrides& op, const ledger::OpResult& answer);
  void on(const ledger::SwarmSetState& op, const ledger::OpResult& answer);
  void on(const ledger::SwarmSetBreaker& op, const ledger::OpResult& answer);
  void on(const ledger::SwarmRemove& op, const ledger::OpResult& answer);
  void on(const ledger::AgentPut& op, const ledger::OpResult& answer);
  void on(const ledger::AgentRemove& op, const ledger::OpResult& answer);
  void on(const ledger::EvictKeys& op, const ledger::OpResult& answer);
  void on(const ledger::Archived& op, const ledger::OpResult& answer);
  void on(const ledger::SetLimits& op, const ledger::OpResult& answer);
  void on(const ledger::LedgerVersion& op, const ledger::OpResult& answer);
  void on(const ledger::FallBack& op, const ledger::OpResult& answer);
  void on(const ledger::Unpin& op, const ledger::OpResult& answer);
  void on(const ledger::TokenPut& op, const ledger::OpResult& answer);
  void on(const ledger::TokenRevoke& op, const ledger::OpResult& answer);
  void expect(bool holds, std::string_view what);
  [[nodiscard]] bool is_ok(const ledger::OpResult& answer) const { return answer.verdict == ledger::Verdict::ok; }
  // Judges the refusals all operations on a task share. Null when it was one of them, or the task is not open.
  BookedTask* open_task(ledger::TaskId id, const ledger::OpResult& answer);
  // The same for those that need the present fence.
  BookedTask* running_task(ledger::TaskId id, ledger::Fence fence, const ledger::OpResult& answer,
                           std::optional<ledger::State> outcome);
  bool right_epoch(ledger::Epoch epoch, const ledger::OpResult& answer);
  [[nodiscard]] bool is_full(const std::string& swarm, std::uint64_t bytes);
  bool judge_room(const std::string& swarm, std::uint64_t bytes, const ledger::OpResult& answer);
  [[nodiscard]] std::uint64_t swarm_limit(const std::string& swarm, std::string_view field, std::uint64_t otherwise);
  void accept(BookedTask task, const ledger::OpResult& answer);
  void attempt_failed(BookedTask& task, bool is_permanent, ledger::WallMs not_before, const ledger::OpResult& answer);
  void last_attempt_failed(BookedTask& task, const ledger::FallBack& op, const ledger::OpResult& answer);
  void end(BookedTask& task, ledger::State how);
  [[nodiscard]] const Key* find_key(const std::string& swarm, const std::string& key) const;

  std::map<ledger::TaskId, BookedTask> tasks_;
  std::map<ledger::TaskNumber, ledger::TaskId> numbers_;
  std::map<std::string, ledger::TaskId, std::less<>> by_params_;
  std::map<ledger::Fence, Assignment> assignments_;
  std::vector<ledger::TaskId> ended_;  // in the order of their ends
  std::uint64_t last_finish_ = 0;      // the number of the last, or one that an archive was ahead by
  std::size_t archived_ = 0;           // of those
  std::map<std::string, Swarm> swarms_{{"default", {}}};
  std::vector<Key> keys_;
  ledger::Limits limits_;
  ledger::Fence last_fence_ = 0;
  ledger::Epoch epoch_ = 0;
  std::uint64_t version_ = 1;
  journal::Position position_ = 0;
  std::string wrong_;
  Counts counts_;
};

}  // namespace skein::sim
