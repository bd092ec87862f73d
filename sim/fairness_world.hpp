// One scenario of the fairness laboratory, played on virtual time: the real ledger, dispatcher and agents over a memory
// journal; only the executors inside the agents and the clients are made up, as the plan says. What they see goes to
// the judge. Single-threaded; the same plan and seed give the same story.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/fairness_judge.hpp"
#include "sim/fairness_plan.hpp"
#include "skein/base/random.hpp"
#include "skein/dispatch/local_journal.hpp"
#include "skein/ledger/ledger.hpp"
#include "skein/runtime/runtime.hpp"

namespace skein::sim {

class LabWorld final : private ledger::ChangeSink {
 public:
  LabWorld(LabPlan plan, std::uint64_t seed, bool trace);
  ~LabWorld() override;

  // Until everything is over, or the plan's horizon.
  [[nodiscard]] LabFigures play();
  [[nodiscard]] const std::vector<std::string>& trace() const { return trace_; }

  // For the parts.
  [[nodiscard]] const LabPlan& plan() const { return plan_; }
  [[nodiscard]] Duration elapsed() const { return runtime_.now() - start_; }
  void saw(LabStep step, std::uint32_t agent, std::uint32_t task = 0);
  [[nodiscard]] Duration length_of(std::uint32_t task) const { return tasks_[task].length; }
  [[nodiscard]] Pid start_agent(std::uint32_t agent);
  // Submits whatever is due by now; when the next is, or never.
  [[nodiscard]] Instant submit_due();

 private:
  struct Planned {
    Duration at{};
    LabTask task;
    std::uint32_t attempts = 4;
    std::size_t order = 0;
  };

  void take(const std::shared_ptr<const ledger::ChangeBatch>& batch) override;
  void make_tasks(Random& random);
  void declare_swarms();
  void start_dispatcher();
  void append(const ledger::Op& op);
  void tell(std::string text);
  [[nodiscard]] ledger::WallMs wall() const;
  [[nodiscard]] Instant instant_of(ledger::WallMs at) const;
  [[nodiscard]] ledger::TaskId id_of(std::size_t task) const;
  // Nothing for what is not of the plan.
  [[nodiscard]] static std::uint32_t task_of(const ledger::TaskId& id);

  LabPlan plan_;
  Random random_;
  bool is_tracing_;
  ledger::Ledger ledger_;
  dispatch::LocalJournal journal_;
  Runtime runtime_;
  Instant start_{};
  std::vector<Planned> planned_;  // by time
  std::vector<LabTask> tasks_;
  std::size_t submitted_ = 0;
  std::size_t over_ = 0;
  std::uint64_t commands_ = 0;
  std::vector<LabEvent> events_;
  std::vector<std::string> trace_;
};

}  // namespace skein::sim
