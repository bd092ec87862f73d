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
  Verb collapse = chaos.verb("collapse", "Bring a node of its own down, phase by phase, and see it mend itself");
  collapse.time("--timeout", *timeout_ms, "It takes no longer than this");
  const auto is_json = std::make_shared<bool>(false);
  collapse.flag("--json", *is_json, "Print JSON, an object a line");
  collapse.run([timeout_ms, is_json] { return chaos_collapse(*timeout_ms, *is_json); });

  const auto options = std::make_shared<ChaosRunOptions>();
  Verb run = chaos.verb("run", "Kill everything in a node of its own at random, and say what was lost");
  run.option("--seconds", options->seconds, "For so long");
  run.option("--kills", options->kills, "So many kills, instead of a time");
  run.option("--agents", options->agents, "In each of three swarms");
  run.option("--seed", options->seed, "Of the choice of victims; 0: a new one");
  run.time("--timeout", options->timeout_ms, "It takes no longer than this");
  run.flag("--json", options->json, "Print JSON");
  run.run([options] { return chaos_run(*options); });
}

}  // namespace

void add_chaos(Verb& root) {
  Verb chaos = root.verb("chaos", "Break a running node on purpose, to see it mend itself");
  chaos.needs_verb();
  add_own_nodes(chaos);
  add_operation(root, "chaos_kill", {.show = [](const json::value& answer) {
                  for (const json::value& each : list_of(answer, "killed")) {
                    fmt::print("{}\n", std::string_view(each.get_string()));
                  }
                }});
}

}  // namespace skein::cli
