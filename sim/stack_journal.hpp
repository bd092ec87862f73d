// The real journal engine on a simulated disk, as a Journal of a deterministic runtime: a process does what the
// journal's thread does, in single steps (write, sync, apply, work beside the log) with virtual time between them, so
// that a crash can come between any two, and the power can go inside each.
//
// When the power goes or the engine stops, on_death is called and nothing more happens; the world then takes the node
// down, between two steps of the scheduler. What waited for an answer never gets one. One thread.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "sim/sim_disk.hpp"
#include "skein/base/random.hpp"
#include "skein/journal/embedded_core.hpp"
#include "skein/runtime/runtime.hpp"

namespace skein::sim {

class StackJournal final : public journal::Journal {
 public:
  static constexpr const char* k_dir = "/journal";

  StackJournal(Runtime& runtime, SimDisk& disk, std::uint64_t seed);
  ~StackJournal() override;

  // Opens it; throws PowerCut when the power goes meanwhile.
  [[nodiscard]] journal::StoreResult<void> open(journal::MachineRef machine, const journal::JournalLimits& limits);
  // From here on it is gone: reads are answered at once, so that those who listen to the ledger can leave it.
  void crash();
  // Reads are answered at once, as if their turn had come; for callers that wait for the journal's thread.
  void answer_reads_at_once(bool at_once) { at_once_ = at_once; }
  // Every sync takes so many times as long.
  void slow_down(std::uint64_t factor) { slowness_ = factor; }
  void check_disk();
  // Until then callers are answered `unknown`, whatever became of their commands, and some are turned away as
  // `not_leader`; as by an engine that has just lost its leader.
  void doubt_until(Instant until) { doubt_until_ = until; }
  std::function<void()> on_doubt;

  void append(journal::Batch batch, journal::AnswerFn done, journal::Urgency urgency) override;
  void read(journal::Read what, journal::ReadFn fn) override;
  void snapshot(journal::SnapshotFn done) override;
  void trim(journal::Position up_to) override;
  void set_trim_limit(journal::Position limit) override;
  std::uint64_t subscribe(journal::EventFn fn) override;
  void unsubscribe(std::uint64_t subscription) override { listeners_.erase(subscription); }
  [[nodiscard]] std::optional<std::string> leader() const override { return journal::k_self; }
  [[nodiscard]] bool has_quorum() const override { return !is_dead_; }
  [[nodiscard]] bool wait_leader(std::chrono::milliseconds) override { return !is_dead_; }
  [[nodiscard]] journal::JournalStatus status() const override { return {}; }
  void close() override;

  [[nodiscard]] bool is_dead() const { return is_dead_; }
  [[nodiscard]] const journal::EmbeddedCore& core() const { return *core_; }
  std::function<void(bool is_power_cut)> on_death;

 private:
  enum class Step { write, sync, apply, reads, idle, job, job_done, die };
  struct Due {
    Step step;
  };
  struct Driver {
    StackJournal* journal;
    explicit Driver(StackJournal* owner) : journal(owner) {}
    void handle_info(Self self, Message message);
  };
  struct Plan {
    Duration after;
    Step step;
  };

  [[nodiscard]] journal::AnswerFn doubted(journal::AnswerFn done);
  void later_do(Duration after, Step step);
  void ring();
  void do_step(Step step);
  void take_jobs();
  // Runs what may lose power or stop the engine.
  template <class Fn>
  void guarded(Fn fn);
  [[nodiscard]] Duration some(std::uint64_t us_max) { return std::chrono::microseconds(1 + random_.below(us_max)); }

  Runtime& runtime_;
  SimDisk& disk_;
  Random random_;
  std::unique_ptr<journal::EmbeddedCore> core_;
  Pid driver_;
  bool is_busy_ = false;
  bool is_reading_ = false;
  bool is_working_ = false;
  bool is_idle_due_ = false;
  bool is_dead_ = false;
  bool is_stopping_ = false;
  bool is_gone_ = false;
  bool at_once_ = false;
  Instant doubt_until_{};
  std::uint64_t slowness_ = 1;
  std::vector<std::pair<journal::Read, journal::ReadFn>> reads_;
  std::deque<journal::AsideJob> jobs_;
  std::deque<journal::AsideResult> results_;
  std::vector<journal::AnswerFn> unanswered_;
  std::map<std::uint64_t, journal::EventFn> listeners_;
  std::uint64_t next_listener_ = 1;
};

}  // namespace skein::sim
