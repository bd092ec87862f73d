// The judge of the whole stack: sees every entry on its way into the ledger, every answer a client gets, every order an
// agent gets and every word it says, and finds what must not be.
//
// 1. What was applied once is there after every restart, with the same answer.
// 2. Every answer of the ledger is right by the books (stack_account.hpp), and the ledger stands as they do.
// 3. A second replica fed the same entries, and one restored from a snapshot on the way, answer and stand alike.
// 4. A client that was told yes has the task, one that was told no has not, and one key has one task.
// 5. An agent is given only what the ledger assigned to it, its outcome is settled only when the ledger decided, and a
//    result that was accepted is one that was said with its fence.
// 6. Leases and timeouts end no run before their time, and no agent counts as crashed that lives. Time in which the
// node
//    stood still, or its dispatcher had no turn, counts against nobody.
// 7. What has passed its deadline is given to nobody, also when it passed it while the node stood still.
// One thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/stack_account.hpp"
#include "skein/archive/memory_store.hpp"
#include "skein/archive/store.hpp"
#include "skein/base/random.hpp"
#include "skein/dispatch/agent_protocol.hpp"
#include "skein/ledger/ledger.hpp"
#include "skein/operations/requests.hpp"

namespace skein::sim {

class StackOracle {
 public:
  StackOracle(std::uint64_t seed, archive::Store& store);

  // Somebody has harmed the archive, which was this before; nullptr: it is whole again.
  void archive_is_harmed(const archive::MemoryStore::Image* before) { whole_archive_ = before; }
  void violated(std::string what);
  [[nodiscard]] const std::optional<std::string>& violation() const { return violation_; }
  [[nodiscard]] const StackAccount& account() const { return account_; }
  void count(std::string_view what, std::uint64_t by = 1) { counts_[std::string(what)] += by; }
  [[nodiscard]] Counts counts() const;

  // Of the machine: before and after an entry reaches it, when it takes a snapshot's state, and when it is open again.
  void entry_comes(journal::Position position, std::string_view bytes);
  void entry_applied(journal::Position position, const std::string& answer, ledger::Ledger& real);
  void opened(journal::Position position, ledger::Ledger& real);

  // Of clients. A send is known by its params, which no other has.
  void sends(const std::string& params, const std::string& key);
  void told(const std::string& params, const operations::Result<operations::SubmitAnswer>& answer);
  void told_status(ledger::TaskId id, const operations::TaskStatus& status);
  void told_retry(ledger::TaskId id, const operations::RetryAnswer& answer);
  // In the end: what was refused must never have been accepted.
  void judge_refusals();
  // An error to a question about a task that was acknowledged.
  void told_error(ledger::TaskId id, std::string_view question, const operations::Error& error);

  // Of agents.
  void ordered(const std::string& agent, const dispatch::Order& order);
  void settled(const std::string& agent, dispatch::TaskRef ref);
  void says(dispatch::TaskRef ref, const std::string& result);
  void agent_lives(const std::string& agent) { deaths_.try_emplace(agent, 0); }
  void agent_died(const std::string& agent, ledger::WallMs at) { deaths_[agent] = at; }
  // It named this assignment in a message that arrived.
  void named(dispatch::TaskRef ref, ledger::WallMs at);

  // The node, or its dispatcher, had no turn in this time.
  void stood_still(ledger::WallMs from, ledger::WallMs until) { pauses_.emplace_back(from, until); }

  ledger::WallMs lease_ms = 0;
  ledger::WallMs timeout_ms_min = 0;  // the shortest that a task without one of its own may get
  std::function<void(std::string)> note;

 private:
  struct Seen {
    std::string bytes;
    std::string answer;
  };
  struct Sent {
    std::string key;
    bool was_refused = false;
  };
  void judge_accepted(const BookedTask& task, const ledger::Op& op);
  // How much of this time was nobody's, for sure.
  [[nodiscard]] ledger::WallMs nobodys_time(ledger::WallMs from, ledger::WallMs until) const;
  void judge_archived(const BookedTask& task);
  const archive::MemoryStore::Image* whole_archive_ = nullptr;
  void compare_replicas(ledger::Ledger& real);
  void restore_late_replica(ledger::Ledger& real);

  Random random_;
  archive::Store& store_;
  std::optional<std::string> violation_;
  StackAccount account_;
  std::map<journal::Position, Seen> log_;
  bool is_replay_ = false;
  ledger::Ledger replica_;
  std::shared_ptr<const ledger::FrozenLedger> before_;  // the ledger as it was before the last new entry
  std::unique_ptr<ledger::Ledger> late_;                // restored from a snapshot on the way
  std::map<std::string, Sent> sent_;
  std::map<std::pair<std::string, std::string>, ledger::TaskId> keys_;  // what clients were told
  std::map<ledger::TaskId, ledger::TaskId> retries_;                    // likewise
  std::map<dispatch::TaskRef, std::set<std::string>> said_;
  std::map<dispatch::TaskRef, std::vector<ledger::WallMs>> named_;
  std::map<std::string, ledger::WallMs> deaths_;  // the last of each agent that tells of them
  std::vector<std::pair<ledger::WallMs, ledger::WallMs>> pauses_;
  Counts counts_;
};

// The ledger as the journal's machine, with the oracle looking on.
class WatchedLedger {
 public:
  explicit WatchedLedger(StackOracle& oracle) : oracle_(oracle) {}
  std::string apply(journal::Position position, std::string_view bytes) {
    oracle_.entry_comes(position, bytes);
    auto answer = real.apply(position, bytes);
    oracle_.entry_applied(position, answer, real);
    return answer;
  }
  std::shared_ptr<const ledger::FrozenLedger> freeze() { return real.freeze(); }
  bool restore(std::string_view bytes) {
    oracle_.count("snapshots restored");
    return real.restore(bytes);
  }
  [[nodiscard]] Digest digest() const { return real.digest(); }

  ledger::Ledger real;

 private:
  StackOracle& oracle_;
};

}  // namespace skein::sim
