// Examples at the end of --help, for verbs that are no operations of the table, which has those of its own.
#include "cli/verbs.hpp"

#include <array>
#include <string>
#include <string_view>

namespace skein::cli {
namespace {

struct VerbExample {
  std::string_view path;
  std::string_view text;
};

constexpr std::array k_examples{
    VerbExample{"init", "skein init"},
    VerbExample{"up", "skein up skein.toml --http 127.0.0.1:7770"},
    VerbExample{"mcp", "skein mcp --data ./data"},
    VerbExample{"demo", "skein demo --agents 4 --tasks 40"},
    VerbExample{"status", "skein status --json"},
    VerbExample{"top", "skein top --every 500ms"},
    VerbExample{"doctor", "skein doctor"},
    VerbExample{"events", "skein events --kind task_failed --since 1h --follow"},
    VerbExample{"operations", "skein operations"},
    VerbExample{"task logs", "skein task logs 01a1eba1-1f35"},
    VerbExample{"config check", "skein config check skein.toml"},
    VerbExample{"config limits", "skein config limits"},
    VerbExample{"backup", "skein backup /var/backups/skein-monday"},
    VerbExample{"restore", "skein restore /var/backups/skein-monday ./data"},
    VerbExample{"log verify", "skein log verify ./data"},
    VerbExample{"log dump", "skein log dump ./data --from 1000"},
    VerbExample{"log repair", "skein log repair ./data"},
    VerbExample{"log skip", "skein log skip ./data 1234"},
    VerbExample{"archive rebuild", "skein archive rebuild --data ./data"},
    VerbExample{"archive verify", "skein archive verify --data ./data"},
    VerbExample{"chaos collapse", "skein chaos collapse"},
    VerbExample{"chaos run", "skein chaos run --seconds 30"},
    VerbExample{"completion", "skein completion bash > ~/.local/share/bash-completion/completions/skein"},
    VerbExample{"version", "skein version"},
};

}  // namespace

void add_examples(Verb& root, std::string_view only) {
  for (const VerbExample& each : k_examples) {
    if (only.empty() || each.path == only) root.below(std::string(each.path)).example(std::string(each.text));
  }
}

}  // namespace skein::cli
