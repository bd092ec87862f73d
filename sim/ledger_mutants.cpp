// Bugs planted in the ledger, the dispatcher, the archiver and the operations, and the stories that must find them:
// those of the whole stack, and steps against the ledger's model where a rule of the ledger alone is broken. See
// mutants.hpp.
#include <optional>

#include "sim/ledger_model.hpp"
#include "sim/mutants.hpp"
#include "sim/stack_world.hpp"
#include "skein/archive/planted.hpp"
#include "skein/dispatch/planted.hpp"
#include "skein/ledger/planted.hpp"
#include "skein/operations/planted.hpp"

namespace skein::sim {
namespace {

// The one that is planted, in whichever layer.
template <class Bug>
std::optional<Bug>& the_planted() {
  static std::optional<Bug> bug;
  return bug;
}

}  // namespace
}  // namespace skein::sim

namespace skein::inline v0 {

bool ledger::planted(Bug bug) noexcept { return sim::the_planted<Bug>() == bug; }
bool dispatch::planted(Bug bug) noexcept { return sim::the_planted<Bug>() == bug; }
bool archive::planted(Bug bug) noexcept { return sim::the_planted<Bug>() == bug; }
bool operations::planted(Bug bug) noexcept { return sim::the_planted<Bug>() == bug; }

}  // namespace skein::inline v0

namespace skein::sim {
namespace {

constexpr std::uint64_t k_stories_max = 200;
constexpr std::uint64_t k_walks_max = 1000;
constexpr std::size_t k_steps = 400;

template <class Bug>
PlantedBug in_the_stack(Bug bug, const char* what) {
  return {what, k_stories_max,
          [bug](bool is_planted) { the_planted<Bug>() = is_planted ? std::optional(bug) : std::nullopt; },
          [](std::uint64_t seed) { return tell_stack_story(seed, false).violation; }};
}

// The same bug once more, found by the ledger's model alone.
PlantedBug in_the_model(ledger::Bug bug, const char* what) {
  auto mutant = in_the_stack(bug, what);
  mutant.seeds_max = k_walks_max;
  mutant.violation = [](std::uint64_t seed) { return run_ledger_steps(ledger_steps(seed, k_steps)); };
  return mutant;
}

const bool k_registered = [] {
  using enum ledger::Bug;
  auto& all = all_mutants();
  constexpr std::pair<ledger::Bug, const char*> k_ledger[] = {
      {stale_fence_accepted, "an outcome with a stale fence is accepted"},
      {completion_applied_twice, "a completion is applied twice"},
      {apply_counts_outside_state, "apply reads what is not in the state"},
      {requeue_loses_attempts, "a requeue after a crash costs no attempt"},
      {key_forgotten_at_snapshot, "idempotency keys are left out of snapshots"},
      {cancel_reopens_finished, "a cancel opens a finished task again"},
      {queue_limit_off_by_one, "a swarm takes one task more than its limit"},
      {hop_forgotten, "a task that is handed on forgets the swarm it came from"},
      {handed_on_past_limit, "a task is handed on into a swarm that is full"},
  };
  for (const auto& [bug, what] : k_ledger) {
    all.push_back(in_the_stack(bug, what));
    all.push_back(in_the_model(bug, what));
  }
  all.push_back(in_the_stack(dispatch::Bug::drop_on_agent_crash, "tasks of a crashed agent are dropped"));
  all.push_back(in_the_stack(dispatch::Bug::acknowledged_before_commit, "an outcome is settled before it is decided"));
  all.push_back(in_the_stack(dispatch::Bug::lease_not_renewed, "heartbeats renew no lease"));
  all.push_back(
      in_the_stack(dispatch::Bug::assign_without_waiting, "a task is handed out before its assign is applied"));
  all.push_back(in_the_stack(dispatch::Bug::requeue_twice, "a failed attempt is requeued once more"));
  all.push_back(in_the_stack(dispatch::Bug::lost_when_handed_on, "the dispatcher forgets a task that is handed on"));
  all.push_back(
      in_the_stack(archive::Bug::archived_before_insert, "a task leaves the ledger although its insert failed"));
  all.push_back(
      in_the_stack(operations::Bug::acknowledged_before_commit, "a submit is acknowledged before it is applied"));
  all.push_back(in_the_stack(operations::Bug::doubt_forgotten, "a submit in doubt is answered as refused"));
  return true;
}();

}  // namespace
}  // namespace skein::sim
