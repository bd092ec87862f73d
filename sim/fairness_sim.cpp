// skein-sim fairness: plays the scenarios of the fairness laboratory and fails when a bound is not kept.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "sim/fairness_scenarios.hpp"
#include "sim/fairness_world.hpp"
#include "sim/simulation.hpp"

namespace skein::sim {
namespace {

constexpr const char* k_fairness_usage =
    "fairness [--scenario NAME] [--seed X | --seeds N] [--trace] | fairness --list";
constexpr std::size_t k_story_lines_max = 60;  // of the task that waited longest

struct FairnessArgs {
  std::string scenario;  // empty: all
  std::uint64_t seed = 1;
  std::uint64_t seeds = 1;
  bool trace = false;
  bool list = false;
};

std::optional<std::uint64_t> fairness_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<FairnessArgs> read_fairness_args(std::span<const std::string> args) {
  FairnessArgs read;
  for (std::size_t at = 0; at < args.size(); ++at) {
    const std::string& name = args[at];
    if (name == "--trace" || name == "--list") {
      (name == "--trace" ? read.trace : read.list) = true;
      continue;
    }
    if (at + 1 == args.size()) return std::nullopt;
    const std::string& value = args[++at];
    if (name == "--scenario") {
      read.scenario = value;
      continue;
    }
    const auto number = fairness_number(value);
    if (!number || (name != "--seed" && name != "--seeds")) return std::nullopt;
    (name == "--seed" ? read.seed : read.seeds) = *number;
  }
  return read;
}

std::string fairness_text(const LabFinding& finding) {
  const auto number = [](double value) {
    return value == static_cast<double>(static_cast<std::int64_t>(value)) ? fmt::format("{:.0f}", value)
                                                                          : fmt::format("{:.2f}", value);
  };
  const char* sign = finding.bound == LabFinding::Bound::at_most ? "<=" : ">=";
  std::string text = fmt::format("{} {}", finding.what, number(finding.value));
  if (finding.bound == LabFinding::Bound::none) return text;
  return text + fmt::format(" ({} {}{})", sign, number(finding.limit), finding.holds() ? "" : ", NOT KEPT");
}

// Of the whole trace what concerns the task that waited longest beside an idle agent.
void print_story(const LabWorld& world, std::uint32_t task) {
  const std::string name = fmt::format("task {} ", task + 1);
  std::size_t lines = 0;
  for (const std::string& line : world.trace()) {
    const bool is_its = line.find(name) != std::string::npos;
    if (is_its && ++lines <= k_story_lines_max) fmt::print("    {}\n", line);
  }
}

bool play_fairness(const FairnessScenario& scenario, const FairnessArgs& args, std::uint64_t seed) {
  LabWorld world(scenario.plan(), seed, args.trace);
  const LabFigures figures = world.play();
  if (args.trace) {
    for (const std::string& line : world.trace()) fmt::print("{}\n", line);
  }
  const LabFindings findings = scenario.judge(figures);
  std::string line;
  for (const LabFinding& each : findings.all()) line += (line.empty() ? "" : "; ") + fairness_text(each);
  fmt::print("{:<36} {:<4} {}\n", scenario.name, findings.hold() ? "ok" : "RED", line);
  if (findings.hold()) return true;
  LabWorld again(scenario.plan(), seed, true);
  const LabFigures same = again.play();
  fmt::print("  {}\n  the task that waited longest beside an idle agent:\n", scenario.about);
  print_story(again, same.worst_task());
  fmt::print("  again: skein-sim fairness --scenario {} --seed {} --trace\n", scenario.name, seed);
  return false;
}

int run_fairness(std::span<const std::string> args) {
  const auto asked = read_fairness_args(args);
  auto scenarios = fairness_scenarios();
  if (asked && !asked->scenario.empty()) {
    std::erase_if(scenarios, [&](const auto& each) { return each.name != asked->scenario; });
  }
  if (!asked || scenarios.empty()) {
    fmt::print(stderr, "skein-sim: '{}' is not understood\nusage: skein-sim {}\n", fmt::join(args, " "),
               k_fairness_usage);
    return k_bad_usage;
  }
  std::size_t red = 0;
  for (const FairnessScenario& scenario : scenarios) {
    if (asked->list) {
      fmt::print("{:<36} {}\n", scenario.name, scenario.about);
      continue;
    }
    for (std::uint64_t seed = asked->seed; seed < asked->seed + asked->seeds; ++seed) {
      red += play_fairness(scenario, *asked, seed) ? 0 : 1;
    }
  }
  if (asked->list) return k_nothing_violated;
  fmt::print("{} scenarios, seeds {} to {}: {} not kept\n", scenarios.size(), asked->seed,
             asked->seed + asked->seeds - 1, red);
  return red == 0 ? k_nothing_violated : k_violated;
}

const Registrar k_fairness{{.name = "fairness", .usage = k_fairness_usage, .run = run_fairness}};

}  // namespace

bool LabFindings::hold() const {
  return std::ranges::all_of(all_, [](const LabFinding& each) { return each.holds(); });
}

std::vector<FairnessScenario> fairness_scenarios() {
  auto all = length_scenarios();
  for (const auto& more : {bad_agent_scenarios(), swarm_scenarios()}) all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace skein::sim
