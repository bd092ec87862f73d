// skein chaos: breaks a running node on purpose (kill), or one of its own (collapse, run).
#include <fmt/format.h>

#include "cli/chaos.hpp"
#include "cli/operation_verbs.hpp"
#include "cli/session.hpp"
#include "cli/verbs.hpp"

namespace skein::cli {
namespace {

void add_own_nodes(Verb& chaos) {
  constexpr std::uint64_t k_collapse_limit_ms = 300'000;
  const auto timeout_ms = std::make_shared<std::uint64_t>(k_collapse_limit_ms);
  Verb collapse = chaos.verb("collapse", "Start a separate node, break it phase by phase, and watch it recover");
  collapse.time("--timeout", *timeout_ms, "Time limit of the whole run");
  const auto is_json = std::make_shared<bool>(false);
  collapse.flag("--json", *is_json, "Print JSON, one object per line");
  collapse.run([timeout_ms, is_json] { return chaos_collapse(*timeout_ms, *is_json); });

  const auto options = std::make_shared<ChaosRunOptions>();
  Verb run = chaos.verb("run", "Start a separate node, kill its processes at random, and report what was lost");
  run.option("--seconds", options->seconds, "Duration in seconds");
  run.option("--kills", options->kills, "Number of kills, instead of a duration");
  run.option("--agents", options->agents, "Agents in each of the three swarms");
  run.option("--seed", options->seed, "Seed for the choice of processes; 0: a random one");
  run.time("--timeout", options->timeout_ms, "Time limit of the whole run");
  run.flag("--json", options->json, "Print JSON");
  run.run([options] { return chaos_run(*options); });
}

}  // namespace

void add_chaos(Verb& root) {
  Verb chaos = root.verb("chaos", "Inject failures to watch a node recover");
  chaos.needs_verb();
  add_own_nodes(chaos);
  add_operation(root, "chaos_kill", {.show = [](const json::value& answer) {
                  for (const json::value& each : list_of(answer, "killed")) {
                    fmt::print("{}\n", std::string_view(each.get_string()));
                  }
                }});
}

}  // namespace skein::cli
