// The ledger: tasks, swarms, named agents, tokens and idempotency keys as they stand. A deterministic machine over the
// journal (journal/machine.hpp): what apply() does depends on the state and the command alone.
//
// Everything here is called on the journal's thread: by the journal itself, or inside a callback of Journal::read. The
// frozen states and the tasks it hands out may go to any thread. While the journal replays at its start nobody listens;
// a new listener begins with freeze(), see change.hpp.
//
// Invariants:
// 1. A task has one terminal state and keeps it. At most one outcome is accepted, the one with the present fence.
// 2. A fence is issued when an assignment is applied and is larger than every one before.
// 3. attempts <= attempts_max, in each swarm; the last failed attempt ends the task as FAILED, or lets it fall back to
//    another swarm. That happens k_fallbacks_max times at most, so no task fails more than
//    attempts_max * (k_fallbacks_max + 1) times.
// 4. The counters of swarms and of the ledger are exactly the sums over the open tasks, and within the limits.
// 5. A blocked task waits for at least one open task. No cycles: a dependency must exist before.
// 6. A refusal changes nothing.
// 7. A task has at most k_children_max children, in all its attempts, and is at most k_child_depth_max deep.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skein/base/sha256.hpp"
#include "skein/journal/machine.hpp"
#include "skein/ledger/change.hpp"
#include "skein/ledger/command.hpp"
#include "skein/ledger/limits.hpp"
#include "skein/ledger/task.hpp"

namespace skein::inline v0::ledger {

struct Counters {
  std::uint64_t open_tasks = 0;
  std::uint64_t open_bytes = 0;
  std::uint64_t finished_tasks = 0;  // not yet archived
  std::uint64_t finished_bytes = 0;
  std::uint64_t keys = 0;
  std::uint64_t swarms = 0;
  std::uint64_t agents = 0;
  std::uint64_t tokens = 0;
  TaskNumber last_number = 0;
  FinishNumber last_finished = 0;
  FinishNumber archived_up_to = 0;
  Fence last_fence = 0;

  friend bool operator==(const Counters&, const Counters&) = default;
};

// The state at one moment; it no longer changes and may be read on any thread.
class FrozenLedger : public journal::Frozen {
 public:
  // By number.
  [[nodiscard]] virtual std::vector<Task> open_tasks() const = 0;
  // By finish number.
  [[nodiscard]] virtual std::vector<std::shared_ptr<const FinishedTask>> finished_tasks() const = 0;
  // By name.
  [[nodiscard]] virtual std::vector<Swarm> swarms() const = 0;
  [[nodiscard]] virtual std::vector<AgentNote> agents() const = 0;
  [[nodiscard]] virtual const Counters& counters() const = 0;
  [[nodiscard]] virtual const Limits& limits() const = 0;
  [[nodiscard]] virtual Epoch epoch() const = 0;
  [[nodiscard]] virtual const std::string& dispatcher() const = 0;
  [[nodiscard]] virtual std::uint64_t version() const = 0;
};

// A task, open or finished.
struct TaskView {
  Task task;
  std::shared_ptr<const FinishedTask> finished;  // when it is
};

class LedgerCore;

class Ledger {
 public:
  Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;
  ~Ledger();

  // The machine. apply() answers what begin_results() and append_result() write; it throws UnknownEntry and nothing
  // else of its own.
  std::string apply(journal::Position position, std::string_view bytes);
  std::shared_ptr<const FrozenLedger> freeze();
  bool restore(std::string_view bytes);
  [[nodiscard]] Digest digest() const;

  // Sinks are called in the order they were added, and must outlive their stay.
  void add_sink(ChangeSink& sink);
  void remove_sink(ChangeSink& sink);

  [[nodiscard]] std::optional<TaskView> find(TaskId id) const;
  // The same without a copy, for reading a field or two; valid until the next apply(). Null when there is none.
  [[nodiscard]] const Task* peek(TaskId id) const;
  // The task of an idempotency key of a swarm, and its state, also when that one is archived.
  [[nodiscard]] std::optional<std::pair<TaskId, State>> find_key(std::string_view swarm, std::string_view key) const;
  [[nodiscard]] std::optional<Swarm> find_swarm(std::string_view name) const;
  // Finished tasks after a number, in order; for an archive that catches up.
  [[nodiscard]] std::vector<std::shared_ptr<const FinishedTask>> finished_after(FinishNumber after,
                                                                                std::size_t at_most) const;
  [[nodiscard]] std::vector<Swarm> swarms() const;      // by name
  [[nodiscard]] std::vector<AgentNote> agents() const;  // by name
  [[nodiscard]] std::vector<Token> tokens() const;      // by name
  [[nodiscard]] Counters counters() const;
  [[nodiscard]] const Limits& limits() const;
  [[nodiscard]] Epoch epoch() const;
  [[nodiscard]] std::uint64_t version() const;

 private:
  std::unique_ptr<LedgerCore> core_;
  std::vector<ChangeSink*> sinks_;
};

}  // namespace skein::inline v0::ledger
