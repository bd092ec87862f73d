#include "cli/demo_agents.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace skein::cli {
namespace {

using Kind = DemoTask::Kind;

constexpr int k_think_step_ms = 20;
constexpr std::uint64_t k_thinks_per_agent = 4;  // at most; the rest are quick ones
constexpr std::uint64_t k_measures_per_agent = 6;

// Sums squares step by step, says how far it is, and goes on from there when another agent got no further.
constexpr const char* k_think_py = R"(import json, sys, time
def send(**message):
    print(json.dumps(message), flush=True)
send(type="hello", protocol=1)
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "shutdown":
        break
    if message["type"] != "task":
        continue
    task, fence, steps = message["task"], message["fence"], message["params"]["steps"]
    at = message.get("mark") or {"step": 0, "sum": 0}
    begun = at["step"]
    for step in range(begun + 1, steps + 1):
        time.sleep(message["params"]["ms"] / 1000)
        at = {"step": step, "sum": at["sum"] + step * step}
        send(type="progress", task=task, fence=fence, mark=at)
    send(type="result", task=task, fence=fence, result={"sum": at["sum"], "begun_at": begun})
)";

// The same in plain shell, without the memory of earlier attempts.
constexpr const char* k_think_sh = R"sh(echo '{"type":"hello","protocol":1}'
number() { printf '%s\n' "$1" | sed -n "s/.*\"$2\":\([0-9]*\).*/\1/p"; }
while IFS= read -r line; do
  case $line in
    '{"type":"task",'*)
      task=$(printf '%s\n' "$line" | sed -n 's/.*"task":"\([^"]*\)".*/\1/p')
      steps=$(number "$line" steps); fence=$(number "$line" fence); step=0; sum=0
      while [ "$step" -lt "$steps" ]; do
        sleep 0.02; step=$((step + 1)); sum=$((sum + step * step))
      done
      printf '{"type":"result","task":"%s","fence":%s,"result":{"sum":%s,"begun_at":0}}\n' "$task" "$fence" "$sum" ;;
    '{"type":"shutdown"'*) exit 0 ;;
  esac
done
)sh";

// One run per task: counts the words of a text.
constexpr const char* k_measure_sh = R"sh(text=$(sed -n 's/.*"text":"\([^"]*\)".*/\1/p')
sleep 0.1
printf '{"words":%s}\n' "$(printf '%s' "$text" | wc -w)"
)sh";

constexpr std::array k_priorities{"normal", "low", "critical", "high"};
constexpr std::array k_texts{"a skein is a flock in flight", "whoever leads tires and falls back",
                             "another takes the lead", "and the flock flies on"};

bool is_there(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (folder.empty()) continue;
    folder.append("/").append(program);
    if (::access(folder.c_str(), X_OK) == 0) return true;
  }
  return false;
}

std::size_t words_in(const std::string& text) {
  std::istringstream stream(text);
  std::size_t count = 0;
  for (std::string word; stream >> word;) ++count;
  return count;
}

DemoTask make(Kind kind, std::uint64_t number) {
  DemoTask task;
  task.kind = kind;
  task.priority = k_priorities[number % k_priorities.size()];
  boost::json::object& request = task.request;
  request["priority"] = task.priority;
  request["key"] = fmt::format("demo-{}", number);
  request["attempts"] = 10;
  switch (kind) {
    case Kind::think: {
      const int sum = k_think_steps * (k_think_steps + 1) * (2 * k_think_steps + 1) / 6;
      request["type"] = "think";
      request["swarm"] = "thinkers";
      request["params"] = fmt::format(R"({{"steps":{},"ms":{}}})", k_think_steps, k_think_step_ms);
      task.expected = fmt::format("\"sum\":{},", sum);
      break;
    }
    case Kind::measure: {
      const std::string text = k_texts[number % k_texts.size()];
      request["type"] = "measure";
      request["swarm"] = "shells";
      request["params"] = fmt::format(R"({{"text":"{}"}})", text);
      task.expected = fmt::format(R"({{"words":{}}})", words_in(text));
      break;
    }
    case Kind::echo:
      request["type"] = "echo";
      request["swarm"] = "functions";
      task.expected = fmt::format(R"({{"number":{}}})", number);
      request["params"] = task.expected;
      break;
    case Kind::fails:
      request["type"] = "fail";
      request["swarm"] = "functions";
      request["params"] = "\"as it was asked to\"";
      request["attempts"] = 1;
      break;
    case Kind::cancelled:
      request["type"] = "echo";
      request["swarm"] = "functions";
      request["delay_ms"] = 3'600'000;
      break;
  }
  return task;
}

std::string config_text(const std::string& folder, const std::string& mark, const DemoOptions& options,
                        const std::string& thinker) {
  const std::size_t equals = mark.find('=');
  const std::string common = fmt::format("directory = \"{}\"\nset_env = {{ {} = \"{}\" }}\n", folder,
                                         mark.substr(0, equals), mark.substr(equals + 1));
  const std::string size = fmt::format("min = {0}\nmax = {0}\nprefetch = 0\n", options.agents);
  return fmt::format(R"([node]
name = "demo"
log_level = "{0}"

[journal]
disk_low_water_bytes = "1MiB"

[executors.think]
kind = "stdio"
command = {1}
kill_after = "500ms"
{2}
[executors.measure]
kind = "command"
command = ["/bin/sh", "measure.sh"]
kill_after = "500ms"
{2}
[swarms.thinkers]
executor = "think"
capabilities = ["think"]
{3}
[swarms.shells]
executor = "measure"
capabilities = ["measure"]
{3}
[swarms.functions]
executor = "function"
{3})",
                     options.log_level, thinker, common, size);
}

}  // namespace

const char* name_of(DemoTask::Kind kind) {
  static constexpr std::array k_names{"think", "measure", "echo", "fail", "cancel"};
  return k_names[static_cast<std::size_t>(kind)];
}

std::vector<DemoTask> demo_tasks(const DemoOptions& options) {
  static constexpr std::array k_turns{Kind::think, Kind::measure, Kind::echo};
  std::vector<DemoTask> tasks;
  std::uint64_t thinks = 0;
  std::uint64_t measures = 0;
  const std::uint64_t half = options.tasks / 2;
  for (std::uint64_t i = 0; i < options.tasks; ++i) {
    Kind kind = k_turns[i % k_turns.size()];
    if (options.tasks >= 5 && i == 1) kind = Kind::fails;
    if (options.tasks >= 5 && i == 2) kind = Kind::cancelled;
    // Before the first kill one thinker stays free, to show how fast it takes over.
    const std::uint64_t thinks_max = i < half ? options.agents - 1 : k_thinks_per_agent * options.agents;
    if (kind == Kind::think && ++thinks > thinks_max) kind = Kind::echo;
    if (kind == Kind::measure && ++measures > k_measures_per_agent * options.agents) kind = Kind::echo;
    if (i == 0 || i == half) kind = Kind::think;
    tasks.push_back(make(kind, i));
  }
  return tasks;
}

DemoPrograms write_demo(const std::string& folder, const std::string& mark, const DemoOptions& options) {
  DemoPrograms programs;
  programs.has_python = is_there("python3");
  programs.config = folder + "/skein.toml";
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream(folder + "/" + name) << text;
  };
  write(programs.has_python ? "think.py" : "think.sh", programs.has_python ? k_think_py : k_think_sh);
  write("measure.sh", k_measure_sh);
  const std::string thinker =
      programs.has_python ? R"(["python3", "-S", "-E", "think.py"])" : R"(["/bin/sh", "think.sh"])";
  write("skein.toml", config_text(folder, mark, options, thinker));
  return programs;
}

}  // namespace skein::cli
