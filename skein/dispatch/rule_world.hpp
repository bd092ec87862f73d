// Tables of the dispatcher filled by hand, for tests of the values that decide one thing each (preemption.hpp,
// returning.hpp, fallback.hpp). No ledger, no router, no time but what the test says.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "skein/dispatch/dispatcher_options.hpp"
#include "skein/dispatch/dispatcher_tables.hpp"

namespace skein::inline v0::dispatch {

struct RuleWorld {
  static constexpr Instant at(int seconds) { return Instant(std::chrono::seconds(seconds)); }

  SlotNumber swarm(const std::string& name) {
    const SlotNumber slot = tables.swarm_named(name, Balance::round_robin);
    tables.swarms[slot].is_known = true;
    return slot;
  }
  // Announced, and says what it begins.
  SlotNumber agent(const std::string& id) {
    const SlotNumber slot = tables.agent_named(id);
    AgentRecord& record = tables.agents[slot];
    record.pid = Pid(1, slot + 1, 1);
    record.become(AgentState::here);
    record.reports_starts = true;
    record.capabilities = std::make_shared<const std::vector<std::string>>(std::vector<std::string>{"work"});
    tables.agent_pids[record.pid] = slot;
    return slot;
  }
  SlotNumber task(SlotNumber its_swarm, const std::string& type = "work", std::uint16_t priority = ledger::k_normal) {
    const SlotNumber slot = tables.task_numbered(++numbers_);
    TaskRecord& record = tables.tasks[slot];
    record.number = numbers_;
    record.swarm = its_swarm;
    record.priority = priority;
    record.effective_priority = priority;
    record.attempts_max = 3;
    auto shape = std::make_shared<ledger::Shape>();
    shape->swarm = tables.swarms[its_swarm].name;
    shape->type = type;
    shapes_.push_back(std::make_unique<std::shared_ptr<const ledger::Shape>>(std::move(shape)));
    record.shared_shape = shapes_.back().get();
    return slot;
  }
  // The task at the agent, held and not begun.
  SlotNumber run(SlotNumber its_task, SlotNumber its_agent) {
    const SlotNumber index = tables.add_run(its_task, its_agent);
    tables.runs[index].ref.fence = ++fences_;
    tables.runs[index].become(RunState::held);
    tables.tasks[its_task].become(TaskPhase::running);
    return index;
  }

  DispatcherOptions options;
  DispatcherTables tables;

 private:
  std::vector<std::unique_ptr<std::shared_ptr<const ledger::Shape>>> shapes_;
  ledger::TaskNumber numbers_ = 0;
  ledger::Fence fences_ = 0;
};

}  // namespace skein::inline v0::dispatch
