// `skein-sim dispatch-mutants`: which transcripts of the dispatcher turn red when a bug is planted in it. Every bug of
// sim/planted/dispatch.patch must turn one red, or the transcripts show less than they claim.
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "sim/dispatch_script.hpp"
#include "sim/planted.hpp"
#include "sim/simulation.hpp"

namespace skein::sim {
namespace {

constexpr const char* k_dispatch_mutants_usage = "dispatch-mutants FILE...";

struct NamedBug {
  Bug bug;
  std::string_view name;
};

constexpr std::array<NamedBug, 15> k_dispatch_bugs{{
    {Bug::drop_on_agent_crash, "drop_on_agent_crash"},
    {Bug::acknowledged_before_commit, "acknowledged_before_commit"},
    {Bug::lease_not_renewed, "lease_not_renewed"},
    {Bug::assign_without_waiting, "assign_without_waiting"},
    {Bug::requeue_twice, "requeue_twice"},
    {Bug::lost_in_fallback, "lost_in_fallback"},
    {Bug::ages_above_critical, "ages_above_critical"},
    {Bug::half_open_by_completion_only, "half_open_by_completion_only"},
    {Bug::shared_executor_by_age, "shared_executor_by_age"},
    {Bug::no_grace_when_late, "no_grace_when_late"},
    {Bug::short_grace_when_late, "short_grace_when_late"},
    {Bug::timeout_counts_pauses, "timeout_counts_pauses"},
    {Bug::deadline_sleeps_in_pauses, "deadline_sleeps_in_pauses"},
    {Bug::pinned_to_anybody, "pinned_to_anybody"},
    {Bug::pinned_for_good, "pinned_for_good"},
}};

struct Transcript {
  std::string name;
  std::string text;
};

bool is_red(const Transcript& transcript) {
  try {
    const auto said = run_dispatch_script(transcript.text);
    return !said.problem.empty() || said.text != transcript.text;
  } catch (const std::logic_error&) {
    return true;  // the core or the ledger contradicts itself
  }
}

bool is_caught(const NamedBug& mutant, const std::vector<Transcript>& transcripts) {
  std::vector<std::string_view> red;
  plant(mutant.bug);
  for (const auto& each : transcripts) {
    if (is_red(each)) red.push_back(each.name);
  }
  plant(std::nullopt);
  fmt::print("{} {}: {}\n", red.empty() ? "NOT CAUGHT" : "caught", mutant.name, fmt::join(red, ", "));
  return !red.empty();
}

int run_dispatch_mutants(std::span<const std::string> args) {
  if (args.empty()) {
    fmt::print(stderr, "skein-sim dispatch-mutants: which files?\nusage: skein-sim {}\n", k_dispatch_mutants_usage);
    return k_bad_usage;
  }
  std::vector<Transcript> transcripts;
  for (const std::string& path : args) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
      fmt::print(stderr, "skein-sim dispatch-mutants: {} cannot be read\n", path);
      return k_bad_usage;
    }
    transcripts.push_back(
        {std::filesystem::path(path).stem().string(), std::string(std::istreambuf_iterator<char>(file), {})});
    if (!is_red(transcripts.back())) continue;
    fmt::print("{} is red without any bug; see it with: skein-sim dispatch {}\n", transcripts.back().name, path);
    return k_violated;
  }
  std::size_t caught = 0;
  for (const auto& mutant : k_dispatch_bugs) caught += is_caught(mutant, transcripts) ? 1U : 0U;
  fmt::print("{} of {} caught\n", caught, k_dispatch_bugs.size());
  return caught == k_dispatch_bugs.size() ? k_nothing_violated : k_violated;
}

const Registrar k_dispatch_mutants{
    {.name = "dispatch-mutants", .usage = k_dispatch_mutants_usage, .run = run_dispatch_mutants}};

}  // namespace
}  // namespace skein::sim
