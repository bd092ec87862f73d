// skein-sim agent-chaos: agents that are OS processes under load, and random kills of everything around them, for real
// and in real time. Nothing acknowledged may be lost, and every task ends once, with its own result.
//
// Killed or stopped are OS processes of agents (SIGKILL; SIGSTOP, after which some go on and some do not), agents'
// processes, coordinators, the dispatcher, keepers (SIGSTOP), and the launcher (SIGSTOP; SIGKILL, with all it has
// started). Some tasks crash the agent that runs them first.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <mutex>
#include <optional>
#include <thread>

#include "sim/chaos_host.hpp"
#include "sim/simulation.hpp"
#include "skein/base/random.hpp"

namespace skein::sim {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr const char* k_chaos_usage = "agent-chaos [--kills N] [--agents N] [--seed S]";
constexpr std::uint64_t k_open_max = 512;
constexpr auto k_end_limit = 180s;            // for all that was accepted, once nobody is killed any more
constexpr std::uint64_t k_pause_max_ms = 40;  // between two kills
constexpr std::uint64_t k_keepers_max = 1'000;

struct Options {
  std::uint64_t kills = 2'000;
  std::uint32_t agents = 64;  // in both swarms together
  std::uint64_t seed = 1;
};

std::optional<Options> parse(std::span<const std::string> args) {
  if (args.size() % 2 != 0) return std::nullopt;
  Options options;
  for (std::size_t i = 0; i < args.size(); i += 2) {
    std::uint64_t value = 0;
    const auto& text = args[i + 1];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    if (args[i] == "--kills") {
      options.kills = value;
    } else if (args[i] == "--agents" && value >= 2 && value <= 1'000) {
      options.agents = static_cast<std::uint32_t>(value);
    } else if (args[i] == "--seed") {
      options.seed = value;
    } else {
      return std::nullopt;
    }
  }
  return options;
}

// Submits tasks by turns to both swarms, as many as may be open at once, until it is told to end.
class Submitter {
 public:
  explicit Submitter(ChaosHost& host) : host_(host), thread_([this] { run(); }) {}
  ~Submitter() { end(); }
  Submitter(const Submitter&) = delete;
  Submitter& operator=(const Submitter&) = delete;

  // After this every submit has its answer.
  void end() {
    if (!thread_.joinable()) return;
    is_over_ = true;
    thread_.join();
    std::unique_lock lock(mutex_);
    all_answered_.wait(lock, [this] { return under_way_ == 0; });
  }
  // The number in the params of each accepted task.
  [[nodiscard]] std::map<ledger::TaskId, std::uint64_t> accepted() {
    const std::scoped_lock lock(mutex_);
    return accepted_;
  }
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  void run() {
    for (std::uint64_t n = 1; !is_over_;) {
      if (n > host_.endings().count() + k_open_max) {
        std::this_thread::sleep_for(1ms);
        continue;
      }
      submit(n++);
    }
  }
  void submit(std::uint64_t n) {
    operations::SubmitRequest request;
    request.swarm = n % 2 == 0 ? k_talkers : k_commands;
    request.type = "work";
    request.params = fmt::format(R"({{"n":{}}})", n);
    request.attempts = 100;
    request.timeout = 5s;  // of an attempt; one that was stopped for good must not hold it for minutes
    {
      const std::scoped_lock lock(mutex_);
      ++under_way_;
    }
    host_.ops().task_submit(std::move(request), [this, n](const operations::Result<operations::SubmitAnswer>& answer) {
      const std::scoped_lock lock(mutex_);
      if (answer) {
        accepted_.emplace(answer->id, n);
      } else {
        ++refused_;
      }
      if (--under_way_ == 0) all_answered_.notify_all();
    });
  }

  ChaosHost& host_;
  std::mutex mutex_;
  std::condition_variable all_answered_;
  std::map<ledger::TaskId, std::uint64_t> accepted_;
  std::uint64_t under_way_ = 0;
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

class Killer {
 public:
  Killer(ChaosHost& host, std::uint64_t seed) : host_(host), random_(seed) {}

  void run(std::uint64_t kills) {
    while (total() < kills) {
      std::this_thread::sleep_for(std::chrono::milliseconds(random_.below(k_pause_max_ms)));
      once();
    }
  }
  [[nodiscard]] std::string account() const {
    std::string text;
    for (const auto& [what, count] : done_) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, what);
    return text;
  }

 private:
  [[nodiscard]] std::uint64_t total() const {
    std::uint64_t sum = 0;
    for (const auto& [what, count] : done_) sum += count;
    return sum;
  }
  void count(const char* what, bool was_done) { done_[what] += was_done ? 1 : 0; }
  bool signal_one(int number) {
    if (random_.below(4) == 0 || processes_.empty()) processes_ = host_.os_processes();
    if (processes_.empty()) return false;
    const std::size_t which = random_.below(processes_.size());
    const pid_t pid = processes_[which];
    processes_.erase(processes_.begin() + static_cast<std::ptrdiff_t>(which));
    return is_ours(pid) && ::kill(pid, number) == 0;
  }
  // Its number may belong to somebody else by now.
  [[nodiscard]] bool is_ours(pid_t pid) const {
    const auto all = host_.os_processes();
    return std::find(all.begin(), all.end(), pid) != all.end();
  }
  void once() {
    const std::uint64_t dice = random_.below(100);
    if (dice < 50) {
      count("OS processes SIGKILLed", signal_one(SIGKILL));
    } else if (dice < 60) {
      count("OS processes SIGSTOPped", signal_one(SIGSTOP));
    } else if (dice < 65) {
      for (const pid_t pid : host_.os_processes()) ::kill(pid, SIGCONT);
    } else if (dice < 80) {
      const auto names = host_.agents();
      count("agents killed", !names.empty() && host_.kill_agent(names[random_.below(names.size())]));
    } else if (dice < 87) {
      count("coordinators killed", host_.kill_coordinator(random_.below(2) == 0 ? k_talkers : k_commands));
    } else if (dice < 92) {
      count("dispatchers killed", host_.kill_dispatcher());
    } else if (dice < 95) {
      count("keepers SIGSTOPped", host_.stop_keeper(random_.below(k_keepers_max)));
    } else if (dice < 97) {
      count("launchers SIGSTOPped", host_.stop_launcher());
    } else {
      count("launchers SIGKILLed", host_.kill_launcher());
    }
  }

  ChaosHost& host_;
  Random random_;
  std::vector<pid_t> processes_;
  std::map<std::string, std::uint64_t> done_;
};

// What does not hold, a line each.
std::vector<std::string> wrong_endings(const std::map<ledger::TaskId, std::uint64_t>& accepted,
                                       const std::map<ledger::TaskId, Endings::Ending>& endings) {
  std::vector<std::string> wrong;
  for (const auto& [id, n] : accepted) {
    const auto at = endings.find(id);
    if (at == endings.end()) {
      wrong.push_back(fmt::format("task {} ({}) was accepted and never ended", n, id.text()));
    } else if (at->second.times != 1) {
      wrong.push_back(fmt::format("task {} ended {} times", n, at->second.times));
    } else if (at->second.state == ledger::State::completed && at->second.result != fmt::format(R"({{"n":{}}})", n) &&
               at->second.result != fmt::format(R"({{"n": {}}})", n)) {
      wrong.push_back(fmt::format("task {} has the result {}", n, at->second.result));
    }
  }
  for (const auto& [id, ending] : endings) {
    if (!accepted.contains(id)) wrong.push_back(fmt::format("task {} ended and was never accepted", id.text()));
  }
  return wrong;
}

int report(const std::vector<std::string>& wrong) {
  constexpr std::size_t k_shown = 20;
  for (std::size_t i = 0; i < std::min(wrong.size(), k_shown); ++i) fmt::print("violated: {}\n", wrong[i]);
  if (wrong.size() > k_shown) fmt::print("violated: and {} more\n", wrong.size() - k_shown);
  return wrong.empty() ? k_nothing_violated : k_violated;
}

int run(std::span<const std::string> args) {
  const auto options = parse(args);
  if (!options) {
    fmt::print(stderr, "usage: skein-sim {}\n", k_chaos_usage);
    return k_bad_usage;
  }
  launcher::Launcher::fork_early();
  const auto begin = Clock::now();
  std::vector<std::string> wrong;
  {
    const std::uint32_t per_swarm = options->agents / 2;
    ChaosHost host(per_swarm);
    if (!host.wait_for_agents(std::size_t{per_swarm} * 2, 60s)) wrong.emplace_back("the agents did not come up");
    Submitter submitter(host);
    Killer killer(host, options->seed);
    killer.run(options->kills);
    submitter.end();
    for (const pid_t pid : host.os_processes()) ::kill(pid, SIGCONT);
    const auto accepted = submitter.accepted();
    const auto until = Clock::now() + k_end_limit;
    while (host.endings().count() < accepted.size() && Clock::now() < until) std::this_thread::sleep_for(5ms);
    const auto endings = host.endings().all();
    for (auto& each : wrong_endings(accepted, endings)) wrong.push_back(std::move(each));
    std::uint64_t completed = 0;
    std::uint64_t again = 0;
    for (const auto& [id, ending] : endings) {
      completed += ending.state == ledger::State::completed ? 1 : 0;
      again += ending.deliveries > 1 ? 1 : 0;
      if (ending.state != ledger::State::completed) fmt::print("failed: {}\n", ending.message);
    }
    const auto counts = host.counts();
    fmt::print("{}\n", killer.account());
    fmt::print("{} tasks accepted, {} completed, {} failed, {} of them delivered more than once, {} submits refused\n",
               accepted.size(), completed, endings.size() - completed, again, submitter.refused());
    fmt::print("{} OS processes started, {} launchers lost; {:.1f} s\n", counts.started, counts.launcher_deaths,
               std::chrono::duration<double>(Clock::now() - begin).count());
    if (accepted.empty() || completed == 0) wrong.emplace_back("nothing was done, so nothing was proved");
    if (again == 0 && options->kills > 100) wrong.emplace_back("no kill hit a task, so nothing was shown");
  }
  return report(wrong);
}

const Registrar k_chaos{{.name = "agent-chaos", .usage = k_chaos_usage, .run = run}};

}  // namespace
}  // namespace skein::sim
