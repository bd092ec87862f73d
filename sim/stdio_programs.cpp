#include "sim/stdio_programs.hpp"

#include <fmt/format.h>

#include "skein/agent/stdio_protocol.hpp"

namespace skein::sim {

std::string python_stdio_program(std::string_view work) {
  return fmt::format(R"(import json, os, random, sys, time
def send(**message):
    print(json.dumps(message), flush=True)
def done(task, result):
    send(type="result", task=task["task"], fence=task["fence"], result=result)
{}
send(type="hello", protocol={})
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "shutdown":
        break
    if message["type"] == "task":
        work(message)
)",
                     work, agent::k_stdio_protocol);
}

std::string shell_stdio_program(std::string_view work) {
  return fmt::format(R"sh(number() {{ printf '%s\n' "$line" | sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p"; }}
answer() {{ printf '{{"type":"result","task":"%s","fence":%s,"result":%s}}\n' "$task" "$fence" "$1"; }}
{}
echo '{{"type":"hello","protocol":{}}}'
while IFS= read -r line; do
  case $line in
    '{{"type":"task",'*)
      task=${{line#*\"task\":\"}}; task=${{task%%\"*}}
      fence=$(number fence)
      work ;;
    '{{"type":"shutdown"'*) exit 0 ;;
  esac
done
)sh",
                     work, agent::k_stdio_protocol);
}

}  // namespace skein::sim
