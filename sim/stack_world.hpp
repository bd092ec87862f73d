// One simulated life story of a whole node, from a seed: the real journal engine on a simulated disk, the real ledger,
// dispatcher, archiver and operations, agents that behave badly and clients that want things, on the deterministic
// scheduler. Every part is killed now and then, the node as a whole too; disk and archive fail. Then the faults stop,
// and within a minute of virtual time every task must have ended. An oracle watches every step.
// Single-threaded; the same seed gives the same story.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/sim_disk.hpp"
#include "sim/stack_client.hpp"
#include "sim/stack_jobs.hpp"
#include "sim/stack_journal.hpp"
#include "sim/stack_oracle.hpp"
#include "skein/archive/archiver.hpp"
#include "skein/base/random.hpp"
#include "skein/dispatch/dispatcher.hpp"
#include "skein/operations/operations.hpp"
#include "skein/runtime/runtime.hpp"

namespace skein::sim {

struct StackResult {
  std::optional<std::string> violation;
  std::vector<std::string> trace;  // only when asked for
  Counts counts;                   // what was exercised
};

[[nodiscard]] StackResult tell_stack_story(std::uint64_t seed, bool trace);

class StackWorld {
 public:
  StackWorld(std::uint64_t seed, bool trace);
  StackWorld(const StackWorld&) = delete;
  StackWorld& operator=(const StackWorld&) = delete;
  ~StackWorld();

  [[nodiscard]] StackResult run();

  // For the parts.
  [[nodiscard]] StackOracle& oracle() { return oracle_; }
  [[nodiscard]] operations::Operations* ops() { return node_ && !is_dying() ? node_->ops.get() : nullptr; }
  [[nodiscard]] bool is_healed() const { return is_healed_; }
  // How often an attempt fails by itself while times are bad.
  [[nodiscard]] double failing() const { return failing_; }
  [[nodiscard]] std::uint64_t life() const { return life_; }
  // One of its agents, the first of which can do everything.
  [[nodiscard]] const std::string& agent_name(std::uint64_t any) const { return agents_[any % agents_.size()].id; }
  // The power is gone or the disk has failed; the node is taken down at the next step.
  [[nodiscard]] bool is_dying() const { return !node_ || node_->journal->is_dead() || is_cut_; }
  [[nodiscard]] ledger::WallMs wall() const;
  template <class Fn>
  void note(Fn text) {
    if (is_tracing_) tell(text());
  }

 private:
  struct Node {
    std::unique_ptr<WatchedLedger> ledger;
    std::unique_ptr<StackJournal> journal;
    std::unique_ptr<StackJobs> timers;
    std::unique_ptr<StackJobs> reads;
    std::shared_ptr<operations::Operations> ops;
    std::unique_ptr<archive::Archiver> archiver;
    Pid dispatcher;
    bool may_end = false;  // the dispatcher, by itself
    Instant dispatcher_at{};
  };
  struct Agent {
    std::string id;
    std::vector<std::string> capabilities;
    bool is_function = false;
    bool is_inside = false;  // dies with its node
    Pid pid;
    Instant start_at{};
  };
  enum class End { killed, power_cut, closed };

  void tell(std::string text);
  [[nodiscard]] bool violated() const { return oracle_.violation().has_value(); }
  [[nodiscard]] std::uint64_t pick(std::initializer_list<std::uint64_t> from);

  // Runs until then, or until so many steps were made; takes the node down when it must be.
  void run_until(Instant until, std::uint64_t steps_max);
  void keep_alive();
  void start_node();
  void start_parts();
  [[nodiscard]] bool goes_with_archive();
  void harm_archive();
  [[nodiscard]] std::uint64_t account_of_archived() const;
  void start_dispatcher();
  void start_agent(Agent& agent);
  void start_archiver();
  void end_node(End how);
  void close_node();
  void arm_disk();
  [[nodiscard]] journal::JournalLimits make_limits();
  [[nodiscard]] ledger::Limits make_ledger_limits();
  [[nodiscard]] std::map<std::string, std::string> make_fallbacks();
  [[nodiscard]] dispatch::DispatcherOptions make_options();
  void declare_swarms();

  void bad_times();
  void do_harm();
  // One of these each; some harm the agent that is named, others something else.
  void node_ends(Agent& agent);
  void dispatcher_is_killed(Agent& agent);
  void archiver_begins_anew(Agent& agent);
  void agent_is_killed(Agent& agent);
  void agent_is_cut_off(Agent& agent);
  void agent_is_cut_off_long(Agent& agent);
  void agent_is_paused(Agent& agent);
  void archive_fails(Agent& agent);
  void archive_loses_power(Agent& agent);
  void disk_slows_down(Agent& agent);
  void disk_fills_up(Agent& agent);
  void snapshot_is_taken(Agent& agent);
  void is_deposed(Agent& agent);
  void late_word_comes(Agent& agent);
  void answers_are_lost(Agent& agent);
  void fill_disk();
  void stand_still();
  void change_scarcity();
  void depose();
  void say_something_late();
  void heal();
  void await_the_end();
  void check_the_end();
  void check_list();
  [[nodiscard]] bool has_all_ended() const;
  [[nodiscard]] std::string what_is_left() const;

  Random random_;
  Random luck_;  // what pauses and descriptors depend on, and no other draw
  double stands_still_ = 0;
  bool is_scarce_ = false;
  bool is_tracing_;
  StackResult result_;
  SimDisk disk_;
  StackStore store_;
  StackOracle oracle_;
  Runtime runtime_;
  std::uint64_t in_flight_bytes_;  // of the journal
  journal::JournalLimits journal_limits_;
  ledger::Limits ledger_limits_;
  std::map<std::string, std::string> fallbacks_;  // of swarms, by name
  double failing_ = 0.2;
  dispatch::DispatcherOptions options_;
  std::unique_ptr<Node> node_;
  std::deque<std::unique_ptr<Node>> dead_;  // their processes may still be on their way out
  std::vector<Agent> agents_;
  std::vector<std::unique_ptr<StackClient>> clients_;
  Instant start_at_{};
  std::optional<archive::MemoryStore::Image> put_back_;  // the archive as it was before somebody harmed it
  std::uint64_t life_ = 0;
  std::uint64_t crashes_left_ = 0;
  std::uint64_t steps_ = 0;
  bool is_healed_ = false;
  bool is_cut_ = false;
};

}  // namespace skein::sim
