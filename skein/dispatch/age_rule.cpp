#include "skein/dispatch/age_rule.hpp"

#include "skein/base/must_hold.hpp"

#include <algorithm>

namespace skein::inline v0::dispatch {
namespace {

std::uint16_t next_class(std::uint16_t priority) {
  for (const std::uint16_t each : {ledger::k_low, ledger::k_normal, ledger::k_high}) {
    if (priority < each) return each;
  }
  return priority;
}

}  // namespace

void AgeRule::wait(SlotNumber slot, Instant since, std::size_t ready) {
  if (tables_.tasks[slot].effective_priority < ledger::k_high) add(slot, since);
  waiting_.sweep(ready, [this](const Ageing::Entry& each) { return is_waiting(each); });
}

std::vector<std::pair<ledger::TaskId, std::uint16_t>> AgeRule::take_due(Instant now) {
  std::vector<std::pair<ledger::TaskId, std::uint16_t>> risen;
  while (risen.size() < options_.ages_at_once) {
    const auto first = waiting_.take_due(now);
    if (!first) break;
    if (!is_waiting(*first)) continue;
    const TaskRecord& task = tables_.tasks[first->slot];
    // What is usual for its type may have become known, or longer, since it began to wait.
    if (now - first->since < step_of(task)) {
      add(first->slot, first->since);
      continue;
    }
    const std::uint16_t raised = next_class(task.effective_priority);
    if (raised <= task.effective_priority) continue;
    risen.emplace_back(task.id, raised);
    if (next_class(raised) > raised) add(first->slot, now);
  }
  must_hold(risen.size() <= options_.ages_at_once, "age_rule.hpp 3: at most ages_at_once rise at a time");
  return risen;
}

bool AgeRule::is_waiting(const Ageing::Entry& entry) const {
  const TaskRecord& task = tables_.tasks[entry.slot];
  return task.phase == TaskPhase::ready && task.order == entry.order;
}

Duration AgeRule::step_of(const TaskRecord& task) {
  const auto usual = options_.age_runs == 0 ? std::nullopt : lanes_.usual_run(task);
  if (!usual) return options_.age_step;
  const bool is_long = *usual > k_forever / options_.age_runs;
  return std::max(options_.age_step, is_long ? k_forever : *usual * options_.age_runs);
}

void AgeRule::add(SlotNumber slot, Instant since) {
  const TaskRecord& record = tables_.tasks[slot];
  waiting_.add({later(since, step_of(record)), since, record.order, slot});
}

}  // namespace skein::inline v0::dispatch
