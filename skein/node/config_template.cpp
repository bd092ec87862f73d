#include "skein/node/config.hpp"
#include "skein/node/executor_kinds.hpp"

namespace skein::inline v0::node {
namespace {

constexpr std::string_view k_head =
    R"(# skein.toml: what this node runs. 'skein config check' says what is wrong with it, 'skein up' runs it.
# Everything may be left out; docs/config.md has every key, docs/limits.md every limit.

[node]
name = "node"
# data = "data"             # journal, archive, lock and socket; else SKEIN_DATA or $XDG_STATE_HOME/skein
drain = "30s"               # how long SIGTERM lets work finish
log_level = "info"          # debug, info, warning, error

# ---- What runs a task. Only this file can bring a command line in. ----

# C++ functions in the program itself. The executor 'function' is always there; its functions are
# echo (gives its params back), sleep (params: milliseconds), fail and crash.

)";

constexpr std::string_view k_tail =
    R"(# ---- Who runs it. A task goes to an agent that has its type among the capabilities. ----

[swarms.default]
executor = "function"
min = 5
max = 20

# skein submit bytes --swarm counters --params '"how long am I?"' --wait
[swarms.counters]
executor = "count"
capabilities = ["bytes"]
min = 1
max = 4

# skein submit ask --swarm lines --wait
[swarms.lines]
executor = "lines"
capabilities = ["ask"]
min = 1
max = 4

# An agent with a name, restarted for ever:
# [[agents]]
# id = "ada"
# capabilities = ["echo"]

[dispatch]
strategy = "round_robin"
)";

}  // namespace

std::string_view config_template() {
  static const std::string k_text = [] {
    std::string text(k_head);
    for (const ExecutorKind& each : executor_kinds()) {
      if (!each.example.empty()) text.append(each.example).append("\n");
    }
    return text.append(k_tail);
  }();
  return k_text;
}

}  // namespace skein::inline v0::node
