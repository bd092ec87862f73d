#include "skein/supervision/stop_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "skein/supervision/supervisor_api.hpp"
#include "skein/supervision/tree_view.hpp"

namespace skein::inline v0 {
namespace {

void collect(const TreeEntry& entry, const std::string& above, std::vector<LateProcess>& found) {
  const std::string name = entry.id.empty() ? entry.pid.text() : entry.id;
  const std::string path = above.empty() ? name : above + "/" + name;
  if (entry.pid) found.push_back(LateProcess{path, entry.pid, {}});
  for (const TreeEntry& child : entry.children) collect(child, path, found);
}

// Keeps those that live, with what they do.
std::vector<LateProcess> living(Runtime& runtime, const std::vector<LateProcess>& among) {
  std::vector<LateProcess> alive;
  std::ranges::copy_if(among, std::back_inserter(alive),
                       [&](const LateProcess& each) { return runtime.is_alive(each.pid); });
  if (alive.empty()) return alive;
  const std::vector<ProcessInfo> all = runtime.processes();
  for (LateProcess& each : alive) {
    const auto found = std::ranges::find(all, each.pid, &ProcessInfo::pid);
    if (found == all.end()) continue;
    each.doing = std::string(state_name(found->state));
    if (!found->handling.empty()) each.doing += fmt::format(", handling {}", found->handling);
  }
  return alive;
}

}  // namespace

StopReport stop_tree(Runtime& runtime, Pid root, Duration deadline) {
  StopReport report;
  const Instant end = later(runtime.now(), deadline);
  const ChildResult stopped = stop_supervisor(runtime, root, ExitReason::shutdown(), deadline / 4 * 3);
  if (stopped || stopped.error().failure == ChildFailure::noproc) {
    report.clean = true;
    return report;
  }
  TreeLimits everything;
  everything.children = SIZE_MAX;
  std::vector<LateProcess> all;
  if (const auto tree = read_tree(runtime, root, everything)) collect(*tree, {}, all);
  report.late = living(runtime, all);
  // From the top: nothing is started again by a supervisor that is dead.
  for (const LateProcess& each : report.late) runtime.exit(each.pid, ExitReason::kill());
  for (const LateProcess& each : report.late) {
    const Duration left = std::max(end - runtime.now(), Duration::zero());
    runtime.wait_for_end(each.pid, left);
  }
  report.stuck = living(runtime, report.late);
  return report;
}

std::string StopReport::text() const {
  if (clean) return "stopped";
  std::string text = fmt::format("not stopped in time: {} killed, {} stuck", late.size(), stuck.size());
  for (const LateProcess& each : late) {
    const bool remains = std::ranges::any_of(stuck, [&](const LateProcess& other) { return other.pid == each.pid; });
    text += fmt::format("\n  {} {} ({}): {}", each.path, each.pid.text(), each.doing, remains ? "stuck" : "killed");
  }
  return text;
}

}  // namespace skein::inline v0
