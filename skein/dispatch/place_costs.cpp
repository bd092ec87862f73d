#include "skein/dispatch/place_costs.hpp"

#include <chrono>
#include <utility>

namespace skein::inline v0::dispatch {
namespace {

constexpr double k_first_cost_s = 1;  // of an unknown type; corrected when the first run ends

}  // namespace

double PlaceCosts::charge(const TaskRecord& task, std::uint32_t group) {
  // With one swarm there is nobody to share with.
  if (group == 0 || tables_.swarms.size() < 2) return 0;
  Run& run = tables_.runs[task.run];
  const auto usual = lanes_.usual_run(task);
  run.share_group = group;
  run.share_swarm = task.swarm;
  run.charged = usual ? std::chrono::duration<double>(*usual).count() : k_first_cost_s;
  return run.charged / tables_.swarms[task.swarm].weight;
}

void PlaceCosts::correct(Run& run, Instant now) {
  const std::uint32_t group = std::exchange(run.share_group, 0);
  if (group == 0) return;
  const bool is_begun = has_worked(run, tables_.agents[run.agent]);
  const double took = is_begun ? std::chrono::duration<double>(between(run.since, now)).count() : 0;
  queue_.corrected(group, run.share_swarm, (took - run.charged) / tables_.swarms[run.share_swarm].weight);
}

}  // namespace skein::inline v0::dispatch
