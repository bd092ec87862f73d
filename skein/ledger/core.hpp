// The ledger's state and what each operation does to it; the inside of ledger.hpp. One thread.
//
// Two kinds of members: those that are written to snapshots (head_, tasks_, finished_, keys_, swarms_, agents_,
// tokens_) and those that are derived from them (index_, key_index_, swarm_index_, dependents_, counters, caches),
// which restore() makes again. Nothing may depend on the order of a hash map, nor on which slot a task is in.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skein/ledger/change.hpp"
#include "skein/ledger/ledger.hpp"
#include "skein/ledger/tables.hpp"

namespace skein::inline v0::ledger {

// The single values of the state.
struct Head {
  std::uint64_t version = k_first_ledger_version;
  Epoch epoch = 0;
  std::string dispatcher;  // the node that holds the epoch
  WallMs dispatch_at = 0;
  TaskNumber last_number = 0;
  Fence last_fence = 0;
  std::int64_t last_order = 0;   // of tasks queued at the back
  std::int64_t front_order = 0;  // of tasks queued at the front; goes down
  Limits limits;
};

struct KeyRecord {
  std::shared_ptr<const std::string> key;  // see full_key()
  TaskId task;
  WallMs at = 0;
  std::optional<State> ended;  // set when the task is archived; before that the task itself knows
};

struct SwarmSlot {
  std::shared_ptr<const Swarm> info;  // null when the slot is free; its counters are not used
  std::uint64_t open_tasks = 0;
  std::uint64_t open_bytes = 0;
  std::optional<std::uint64_t> tasks_max;  // from the definition and its overrides
  std::optional<std::uint64_t> bytes_max;
};

using Finished = std::shared_ptr<const FinishedTask>;

// What a snapshot is written from.
struct FrozenCore {
  Head head;
  Counters counters;
  std::vector<std::shared_ptr<const Chunk<Task>>> tasks;
  FrozenQueue<Finished> finished;
  FrozenQueue<KeyRecord> keys;
  std::vector<SwarmSlot> swarms;                         // by name
  std::vector<std::shared_ptr<const AgentNote>> agents;  // by name
  std::vector<std::shared_ptr<const Token>> tokens;      // by name

  // By number.
  [[nodiscard]] std::vector<const Task*> sorted_tasks() const;
};
void write_snapshot(const FrozenCore& state, journal::SnapshotSink& sink);

// The swarm with its counters.
[[nodiscard]] Swarm shown(const SwarmSlot& slot);
// True when the fields that the ledger reads are numbers, in the definition and in the overrides.
[[nodiscard]] bool numbers_are_good(const Swarm& swarm);
// False when a zero would make the ledger useless, or let no name in to mend it.
[[nodiscard]] bool usable(const Limits& limits);

class Reader;

// The extras of a pinned task when any agent may have it.
[[nodiscard]] std::shared_ptr<const Extras> unpinned(const Extras& extras, WallMs at);

// When an attempt began, and what is said of one that ended without a word.
[[nodiscard]] WallMs began_at(const Task& task);
struct CrashWords {
  ErrorClass error;
  std::string_view message;
};
[[nodiscard]] CrashWords words_for(RequeueReason reason);

// The answer of an operation that changes nothing.
inline OpResult refuse(Verdict verdict, std::uint64_t number = 0) { return {verdict, std::nullopt, number, {}}; }

class LedgerCore {
 public:
  static constexpr std::string_view k_default_swarm = "default";
  // Of names and shapes kept to be shared; a cache, emptied when full.
  static constexpr std::size_t k_interned_max = 4096;

  LedgerCore();

  OpResult apply(journal::Position position, Op& op);
  // Changes are collected only while someone listens. Mostly there is one per operation.
  void listen(bool on, std::size_t operations) {
    listening_ = on;
    if (on) changes_.reserve(operations);
  }
  [[nodiscard]] std::vector<Change> take_changes() { return std::exchange(changes_, {}); }

  [[nodiscard]] FrozenCore freeze();
  // The same without copying what is changed from here on: to be used before the next apply.
  [[nodiscard]] FrozenCore view() const;
  // For a new core only. False when the bytes are no snapshot.
  [[nodiscard]] bool restore(std::string_view bytes);

  [[nodiscard]] std::optional<TaskView> find(TaskId id) const;
  [[nodiscard]] const Task* peek(TaskId id) const;
  [[nodiscard]] std::optional<std::pair<TaskId, State>> find_key(std::string_view swarm, std::string_view key) const;
  [[nodiscard]] std::optional<Swarm> find_swarm(std::string_view name) const;
  [[nodiscard]] std::vector<Finished> finished_after(FinishNumber after, std::size_t at_most) const;
  [[nodiscard]] std::vector<Swarm> swarms() const;
  [[nodiscard]] std::vector<AgentNote> agents() const;
  [[nodiscard]] std::vector<Token> tokens() const;
  [[nodiscard]] Counters counters() const;
  [[nodiscard]] const Head& head() const { return head_; }

 private:
  using Slot = SlotTable<Task>::Slot;
  // Where a task is: its slot, or k_finished and its finish number.
  using Where = std::uint64_t;
  static constexpr Where k_finished = 1ULL << 63U;
  struct Found {
    Slot slot = 0;
    std::optional<OpResult> refusal;
  };

  // core_tasks.cpp
  OpResult on(Submit& op);
  OpResult on(const Assign& op);
  OpResult on(const Start& op);
  OpResult on(const Progress& op);
  OpResult on(const Complete& op);
  OpResult on(const Fail& op);
  OpResult on(const Requeue& op);
  OpResult on(const Cancel& op);
  OpResult on(const Retry& op);
  OpResult on(const Expire& op);
  OpResult on(const Unpin& op);
  OpResult on(const Age& op);
  // core_fallback.cpp
  OpResult on(const FallBack& op);
  // core_swarms.cpp
  OpResult on(const TakeDispatch& op);
  OpResult on(const SwarmPut& op);
  OpResult on(const SwarmOverride& op);
  OpResult on(const SwarmDropOverrides& op);
  OpResult on(const SwarmSetState& op);
  OpResult on(const SwarmSetBreaker& op);
  OpResult on(const SwarmRemove& op);
  OpResult on(const AgentPut& op);
  OpResult on(const AgentRemove& op);
  OpResult on(const EvictKeys& op);
  OpResult on(const Archived& op);
  OpResult on(const SetLimits& op);
  OpResult on(const LedgerVersion& op);

  // core_tokens.cpp
  OpResult on(const TokenPut& op);
  OpResult on(const TokenRevoke& op);
  // The parent of a child to be: its slot, or why it may have none.
  [[nodiscard]] Found parent_of(const ChildOf& child) const;
  [[nodiscard]] std::optional<OpResult> check_child(const ChildOf& child, Slot parent) const;

  // Refusals; nothing when all is well.
  [[nodiscard]] std::optional<OpResult> check_name(std::string_view name) const;
  [[nodiscard]] std::optional<OpResult> check_spec(const TaskSpec& spec) const;
  [[nodiscard]] std::optional<OpResult> check_placement(const Placement& where) const;
  [[nodiscard]] std::optional<OpResult> check_fields(const Fields& fields) const;
  [[nodiscard]] std::optional<OpResult> check_room(const SwarmSlot& swarm, std::uint64_t bytes) const;
  [[nodiscard]] std::optional<OpResult> check_queue(const SwarmSlot& swarm, std::uint64_t bytes) const;
  [[nodiscard]] std::optional<OpResult> check_epoch(Epoch epoch) const;
  // The running task with this fence. `ends_as`: the outcome that may have been taken before.
  [[nodiscard]] Found running(TaskId id, Fence fence, std::optional<State> ends_as = std::nullopt) const;
  [[nodiscard]] Found open(TaskId id) const;

  // Puts a checked task in and gives it its number. Afterwards it is queued, blocked, or failed for a dependency.
  OpResult accept(Task task, std::uint32_t swarm_slot, WallMs at, TaskQueued::Why why);
  void queue(Slot slot, WallMs not_before, bool front, TaskQueued::Why why);
  // A failed attempt: back to the queue, to the next swarm where there is one, or the end.
  struct Again {
    WallMs not_before = 0;
    bool front = false;
    TaskQueued::Why why = TaskQueued::Why::failed_attempt;
  };
  OpResult attempt_failed(Slot slot, Attempt attempt, const Again& again, const FallBack* onward = nullptr);
  OpResult fall_back(Slot slot, const FallBack& op, const std::string& failure);
  // Why swarm `to` does not get the task; empty when it does.
  [[nodiscard]] std::string why_no_fallback(const Task& task, const std::string& to) const;
  // Ends a task, and those that wait for it in vain; sets free those that wait for nothing else.
  void finish(Slot slot, State state, Ending ending, WallMs at, Body result, std::string message);
  Finished finish_one(Slot slot, State state, Ending ending, WallMs at, Body result, std::string message);

  void link(Slot slot);
  void unlink(const Task& task);
  void remember_key(std::string_view swarm, std::string_view key, TaskId task, WallMs at);
  void forget_oldest_key();
  [[nodiscard]] State state_at(Where where) const;
  [[nodiscard]] static std::string full_key(std::string_view swarm, std::string_view key);

  [[nodiscard]] std::optional<std::uint32_t> swarm_slot(std::string_view name) const;
  void change_swarm(std::uint32_t slot, Swarm next);
  [[nodiscard]] std::uint32_t new_swarm(Swarm swarm);
  void set_swarm(SwarmSlot& slot, Swarm swarm);

  [[nodiscard]] std::shared_ptr<const Shape> shape_of(const std::string& swarm, const std::string& type,
                                                      const std::vector<std::string>& capabilities);
  [[nodiscard]] Body interned(const std::string& name);
  template <class C>
  void tell(C&& change) {
    changes_.emplace_back(std::forward<C>(change));
  }

  // snapshot.cpp
  [[nodiscard]] bool restore_swarms(Reader& r);
  [[nodiscard]] bool restore_agents(Reader& r);
  [[nodiscard]] bool restore_tokens(Reader& r);
  [[nodiscard]] bool restore_keys(Reader& r);
  [[nodiscard]] bool restore_finished(Reader& r);
  [[nodiscard]] bool restore_tasks(Reader& r);
  [[nodiscard]] bool read_task(Reader& r, Task& task);
  [[nodiscard]] bool numbers_are_single() const;

  Head head_;
  SlotTable<Task> tasks_;
  QueueTable<Finished> finished_;
  QueueTable<KeyRecord> keys_;
  std::vector<SwarmSlot> swarms_;
  std::map<std::string, std::shared_ptr<const AgentNote>, std::less<>> agents_;
  std::map<std::string, std::shared_ptr<const Token>, std::less<>> tokens_;

  boost::unordered_flat_map<TaskId, Where, TaskIdHash> index_;
  boost::unordered_flat_map<std::string_view, std::uint64_t> key_index_;  // views of the records' own strings
  std::map<std::string, std::uint32_t, std::less<>> swarm_index_;
  std::vector<std::uint32_t> free_swarms_;
  // By the task that is waited for, those that wait, by number.
  boost::unordered_flat_map<TaskId, std::map<TaskNumber, Slot>, TaskIdHash> dependents_;
  std::uint64_t open_tasks_ = 0;
  std::uint64_t open_bytes_ = 0;
  std::uint64_t finished_bytes_ = 0;

  boost::unordered_flat_map<std::string, std::shared_ptr<const Shape>> shapes_;
  boost::unordered_flat_map<std::string, Body> names_;
  std::string scratch_;

  journal::Position position_ = 0;  // of the entry that is being applied
  std::vector<Change> changes_;
  bool listening_ = false;
};

}  // namespace skein::inline v0::ledger
