// The workloads of agents that are OS processes. os_crash_* SIGKILL the Python program of a stdio agent at work and
// count to the moment at which that of another agent has read the task; both use the same monotonic clock.
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "bench/agent_node.hpp"
#include "bench/bench_disk.hpp"
#include "bench/workload.hpp"
#include "skein/agent/command_executor.hpp"
#include "skein/agent/stdio_executor.hpp"
#include "skein/launcher/os_processes.hpp"

namespace skein::bench {
namespace {

constexpr std::size_t k_os_crashes = 100;
constexpr std::size_t k_stdio_tasks = 5'000;
constexpr std::size_t k_command_tasks = 2'000;
constexpr std::size_t k_command_agents = 8;
constexpr int k_patience_ms = 20'000;

constexpr const char* k_echo = R"(
import json, sys
print('{"type":"hello","protocol":1}', flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "task":
        print(json.dumps({"type": "result", "task": message["task"], "result": message["params"]}), flush=True)
)";
// Says on the pipe who read the task, and when, and never answers.
constexpr const char* k_reader = R"(
import json, os, sys, time
pipe = os.open(sys.argv[1], os.O_WRONLY)
print('{"type":"hello","protocol":1}', flush=True)
for line in sys.stdin:
    now = time.monotonic_ns()
    if json.loads(line)["type"] == "task":
        os.write(pipe, f"{os.getpid()} {now}\n".encode())
)";

// A node whose agents are OS processes. They end before what they run on.
class OsAgentNode {
 public:
  explicit OsAgentNode(const std::string& dir, dispatch::DispatcherOptions options = {})
      : node_(dir, std::move(options)),
        os_(std::make_shared<launcher::OsProcesses>(node_.runtime(), launcher::Launcher::fork_early())) {}
  OsAgentNode(const OsAgentNode&) = delete;
  OsAgentNode& operator=(const OsAgentNode&) = delete;
  ~OsAgentNode() {
    node_.runtime().shutdown();
    os_.reset();
  }

  // Until the dispatcher knows it.
  template <class Executor>
  void start(std::vector<std::string> command, std::uint32_t slots) {
    agent::OsExecutorOptions options;
    options.command = std::move(command);
    options.environment = {"PATH=/usr/bin:/bin"};
    auto setup = std::make_unique<agent::AgentSetup>();
    setup->name = "agent-" + std::to_string(++agents_);
    setup->capabilities = {"work"};
    setup->prefetch = slots - 1;
    setup->executor =
        std::make_unique<Executor>(os_, std::make_shared<const agent::OsExecutorOptions>(std::move(options)));
    setup->registry = node_.registry();
    const std::string id = setup->name;
    node_.runtime().spawn<agent::Agent>(std::move(setup));
    node_.wait_for_agent(id);
  }
  [[nodiscard]] AgentNode& node() { return node_; }

 private:
  AgentNode node_;
  std::shared_ptr<launcher::OsProcesses> os_;
  std::uint64_t agents_ = 0;
};

// The pipe on which programs say that they have read a task.
class Readings {
 public:
  Readings()
      : path_((std::filesystem::temp_directory_path() / ("skein-bench-" + std::to_string(::getpid()))).string()) {
    ::unlink(path_.c_str());
    if (::mkfifo(path_.c_str(), S_IRUSR | S_IWUSR) != 0) throw std::runtime_error("no pipe at " + path_);
    // Both ways: it does not end when the last writer does.
    pipe_.reset(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
  }
  Readings(const Readings&) = delete;
  Readings& operator=(const Readings&) = delete;
  ~Readings() { ::unlink(path_.c_str()); }

  struct Reading {
    pid_t pid = 0;
    std::int64_t at_ns = 0;
  };
  Reading next() {
    pollfd wait{pipe_.get(), POLLIN, 0};
    if (::poll(&wait, 1, k_patience_ms) <= 0) throw std::runtime_error("nobody has read the task in time");
    char text[128];
    const ssize_t got = ::read(pipe_.get(), text, sizeof text);
    Reading reading;
    std::istringstream words(std::string(text, static_cast<std::size_t>(std::max<ssize_t>(got, 0))));
    if (!(words >> reading.pid >> reading.at_ns)) throw std::runtime_error("what was read is no reading");
    return reading;
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  Fd pipe_;
};

// ms, `rounds` times.
std::vector<double> os_crashes(const std::string& dir, std::size_t rounds) {
  dispatch::DispatcherOptions options;
  options.breaker_crashes = 1'000'000;  // nothing but crashes is what it is there to stop
  Readings readings;
  OsAgentNode os(dir, options);
  const auto start = [&] {
    os.start<agent::StdioExecutor>({"python3", "-S", "-E", "-c", k_reader, readings.path()}, 1);
  };
  start();
  start();
  std::vector<double> samples;
  for (std::size_t i = 0; i < rounds; ++i) {
    const auto task = os.node().submit("work", "null");
    const auto first = readings.next();
    const auto begin = Clock::now().time_since_epoch();
    ::kill(first.pid, SIGKILL);
    const auto second = readings.next();
    if (second.pid == first.pid) throw std::runtime_error("the dead read it again");
    samples.push_back(static_cast<double>(second.at_ns) / 1e6 -
                      std::chrono::duration<double, std::milli>(begin).count());
    // The second one ends as well, once nobody else can get the task; two fresh ones wait for the next round.
    os.node().cancel(task);
    ::kill(second.pid, SIGKILL);
    start();
    start();
  }
  return samples;
}

template <std::size_t Percent>
double os_crash_memory() {
  return percentile(os_crashes("", k_os_crashes), Percent / 100.0);
}

template <std::size_t Percent>
double os_crash_durable() {
  const BenchDir dir("os-agents");
  return percentile(os_crashes(dir.path(), k_os_crashes), Percent / 100.0);
}

// What the disk takes three times at its 99th percentile: what the durable ones may take on top.
double three_syncs_p99() {
  const BenchDir dir("os-agents");
  std::vector<double> syncs;
  SyncProbe probe(dir.path() + "/probe");
  probe.run(1'000, syncs);
  return 3 * percentile(std::move(syncs), 0.99) / 1000;
}

// Through one long-lived Python program.
double stdio_tasks() {
  OsAgentNode os("");
  os.start<agent::StdioExecutor>({"python3", "-S", "-E", "-c", k_echo}, 2);
  os.node().run_tasks("work", R"({"n":1})", 100);
  const auto begin = Clock::now();
  os.node().run_tasks("work", R"({"n":1})", k_stdio_tasks);
  return static_cast<double>(k_stdio_tasks) * 1e6 / us_since(begin);
}

// Of /bin/true, an OS process each, by eight agents.
double command_tasks() {
  OsAgentNode os("");
  for (std::size_t i = 0; i < k_command_agents; ++i) os.start<agent::CommandExecutor>({"/bin/true"}, 2);
  os.node().run_tasks("work", "null", 100);
  const auto begin = Clock::now();
  os.node().run_tasks("work", "null", k_command_tasks);
  return static_cast<double>(k_command_tasks) * 1e6 / us_since(begin);
}

const Registrar k_os_p50{{"agents", "os_crash_to_reassigned_p50", "ms", &os_crash_memory<50>}};
const Registrar k_os_p99{{"agents", "os_crash_to_reassigned_p99", "ms", &os_crash_memory<99>}};
const Registrar k_os_durable_p50{{"agents", "os_crash_to_reassigned_durable_p50", "ms", &os_crash_durable<50>}};
const Registrar k_os_durable_p99{{"agents", "os_crash_to_reassigned_durable_p99", "ms", &os_crash_durable<99>}};
const Registrar k_three_syncs{{"agents", "os_crash_three_syncs_p99", "ms", &three_syncs_p99}};
const Registrar k_stdio{{"agents", "stdio_tasks", "tasks/s", &stdio_tasks}};
const Registrar k_command{{"agents", "command_tasks", "tasks/s", &command_tasks}};

}  // namespace
}  // namespace skein::bench
