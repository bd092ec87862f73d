// Bugs planted in the ledger, the dispatcher, the archiver and the operations, and the stories that must find them:
// those of the whole stack, steps against the ledger's model where a rule of the ledger alone is broken, and scenarios
// of the fairness laboratory. See mutants.hpp.
#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "sim/archive_walk.hpp"
#include "sim/fairness_scenarios.hpp"
#include "sim/fairness_world.hpp"
#include "sim/ledger_model.hpp"
#include "sim/mutants.hpp"
#include "sim/stack_world.hpp"

namespace skein::sim {
namespace {

constexpr std::uint64_t k_stories_max = 200;
constexpr std::uint64_t k_walks_max = 1000;
constexpr std::size_t k_steps = 400;
constexpr std::uint64_t k_lab_seeds_max = 3;

std::optional<std::string> in_the_stack(std::uint64_t seed) { return tell_stack_story(seed, false).violation; }

// What the ledger's model alone finds.
std::optional<std::string> in_the_model(std::uint64_t seed) { return run_ledger_steps(ledger_steps(seed, k_steps)); }

// What a scenario of the fairness laboratory finds too long, too much or too little.
std::optional<std::string> unfairness(std::string_view scenario, std::uint64_t seed) {
  for (const FairnessScenario& each : fairness_scenarios()) {
    if (each.name != scenario) continue;
    LabWorld world(each.plan(), seed, false);
    const LabFindings findings = each.judge(world.play());
    for (const LabFinding& finding : findings.all()) {
      if (finding.holds()) continue;
      return fmt::format("{}: {} is {:.2f}, the bound {:.2f}", scenario, finding.what, finding.value, finding.limit);
    }
  }
  return std::nullopt;
}

void in_the_laboratory(Bug bug, const char* scenario, const char* what) {
  add_mutants(k_lab_seeds_max, [scenario](std::uint64_t seed) { return unfairness(scenario, seed); }, {{bug, what}});
}

const bool k_registered = [] {
  using enum Bug;
  // The dispatcher gives no pinned task to another agent, so the stack's stories cannot show the first.
  add_mutants(k_walks_max, in_the_model,
              {
                  {pin_not_checked, "a pinned task is assigned to another agent"},
                  {retry_forgets_agent, "a retried task forgets the agent it was for"},
              });
  // Rules of the ledger: both find each.
  for (const auto& [seeds_max, story] : {std::pair(k_stories_max, Story(in_the_stack)), {k_walks_max, in_the_model}}) {
    add_mutants(seeds_max, story,
                {
                    {stale_fence_accepted, "an outcome with a stale fence is accepted"},
                    {completion_applied_twice, "a completion is applied twice"},
                    {apply_counts_outside_state, "apply reads what is not in the state"},
                    {requeue_loses_attempts, "a requeue after a crash costs no attempt"},
                    {key_forgotten_at_snapshot, "idempotency keys are left out of snapshots"},
                    {cancel_reopens_finished, "a cancel opens a finished task again"},
                    {queue_limit_off_by_one, "a swarm takes one task more than its limit"},
                    {fallback_forgotten, "a task that is handed on forgets the swarm it came from"},
                    {fallback_past_limit, "a task falls back to a swarm that is full"},
                    {placement_left_out_of_snapshot, "where a task should run is left out of snapshots"},
                });
  }
  in_the_laboratory(busy_before_idle, "ill_and_idle", "a busy agent is preferred to an idle one that can do the task");
  in_the_laboratory(ages_above_critical, "critical_in_a_long_queue",
                    "tasks that wait become as urgent as critical ones");
  in_the_laboratory(half_open_by_completion_only, "half_open_with_long_tasks",
                    "a half-open type gives out the next task only when one has ended");
  in_the_laboratory(shared_executor_by_age, "late_swarm", "places of a shared executor go by age over all swarms");
  in_the_laboratory(permanent_counts_for_nobody, "black_hole",
                    "permanent errors of an agent that is alone with them count for nothing");
  in_the_laboratory(probe_times_out, "breaker_of_an_agent_with_long_tasks",
                    "a probe that takes longer than a call counts as failed");
  add_mutants(k_stories_max, in_the_stack,
              {
                  {drop_on_agent_crash, "tasks of a crashed agent are dropped"},
                  {acknowledged_before_commit, "an outcome is settled before it is decided"},
                  {lease_not_renewed, "heartbeats renew no lease"},
                  {assign_without_waiting, "a task is handed out before its assign is applied"},
                  {requeue_twice, "a failed attempt is requeued once more"},
                  {lost_in_fallback, "the dispatcher forgets a task that falls back"},
                  {no_grace_when_late, "after a pause leases are over at once"},
                  {short_grace_when_late, "after a pause leases are over before what agents said is read"},
                  {timeout_counts_pauses, "a pause counts for the timeouts of attempts"},
                  {deadline_sleeps_in_pauses, "a deadline passes a pause later"},
                  {pinned_to_anybody, "the dispatcher gives a pinned task to any agent"},
                  {pinned_for_good, "a task that may fall back waits for its agent for ever"},
                  {archived_before_insert, "a task leaves the ledger although its insert failed"},
                  {archived_before_seal, "a task leaves the ledger before it is sealed"},
                  {discord_overlooked, "an archive that was harmed is not noticed"},
                  {submit_acknowledged_before_commit, "a submit is acknowledged before it is applied"},
                  {doubt_forgotten, "a submit in doubt is answered as refused"},
              });
  // What the stories of the archive alone find.
  return add_mutants(k_stories_max, [](std::uint64_t seed) { return tell_archive_story(seed); },
                     {
                         {discord_overlooked, "journal and archive are not compared"},
                         {numbers_begin_again, "finish numbers go on below those of the archive"},
                         {row_replaced, "a record takes the place of another task's"},
                         {damaged_row_served, "a damaged record is handed out"},
                         {loss_not_counted, "a loss that was accepted is not counted"},
                         {retention_by_one_look, "retention believes the clock at the first look"},
                     });
}();

}  // namespace
}  // namespace skein::sim
