#include "skein/node/config.hpp"

namespace skein::inline v0::node {

std::string_view config_template() {
  return R"(# skein.toml: what this node runs. 'skein config check' says what is wrong with it, 'skein up' runs it.
# Everything may be left out; docs/config.md has every key, docs/limits.md every limit.

[node]
name = "node"
# data = "data"             # journal, archive, lock and socket; else SKEIN_DATA or $XDG_STATE_HOME/skein
drain = "30s"               # how long SIGTERM lets work finish
log_level = "info"          # debug, info, warning, error

# ---- What runs a task. Only this file can bring a command line in. ----

# C++ functions in the program itself. The executor 'function' is always there; its functions are
# echo (gives its params back), sleep (params: milliseconds), fail and crash.

# One OS process per task: params on standard input as JSON, the result from standard output.
# Exit code 0: completed. Any other: the attempt failed, and standard error says why.
[executors.count]
kind = "command"
command = ["wc", "-c"]
timeout = "1min"

# A long-lived OS process, one JSON message per line. This one always gives the same answer.
[executors.lines]
kind = "stdio"
command = ["/bin/sh", "-c", '''
echo '{"type":"hello","protocol":1}'
while read -r line; do
  id=${line#*\"task\":\"}; id=${id%%\"*}
  fence=${line#*\"fence\":}; fence=${fence%%,*}
  case $line in *'"type":"task"'*)
    printf '{"type":"result","task":"%s","fence":%s,"result":{"answer":42}}\n' "$id" "$fence" ;;
  esac
done
''']

# ---- Who runs it. A task goes to an agent that has its type among the capabilities. ----

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
}

}  // namespace skein::inline v0::node
