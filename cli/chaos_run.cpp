// skein chaos run: random kills of everything, under load, for a time or a number of kills, and what was lost. The node
// is one of its own on a temporary folder; when it ends, killed or because its tree gave up, it is started again.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <map>
#include <random>

#include "cli/chaos.hpp"
#include "cli/chaos_world.hpp"
#include "cli/terminal.hpp"
#include "skein/base/random.hpp"

namespace skein::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t k_run_open_tasks = 400;
constexpr std::uint64_t k_pause_max_us = 4'000;
constexpr std::chrono::milliseconds k_run_settle_limit = 120s;
constexpr std::size_t k_processes_reused = 16;  // kills before /proc is read again

// Everything in the tree with a place of its own. More than its supervisors bear is part of the game.
constexpr std::array k_places{"engine_sup",
                              "engine_sup/config",
                              "engine_sup/registry",
                              "engine_sup/consensus_sup",
                              "engine_sup/consensus_sup/disk_watch",
                              "engine_sup/consensus_sup/journal_engine",
                              "engine_sup/work_sup",
                              "engine_sup/work_sup/ledger",
                              "engine_sup/work_sup/dispatcher",
                              "engine_sup/work_sup/swarms",
                              "engine_sup/work_sup/swarms/*",
                              "agents_sup",
                              "agents_sup/agent_pool",
                              "agents_sup/named_agents",
                              "agents_sup/crew",
                              "agents_sup/crew/*",
                              "transports_sup",
                              "transports_sup/connections",
                              "transports_sup/listener",
                              "cluster_sup",
                              "observer_sup",
                              "observer_sup/health"};

class ChaosRun {
 public:
  ChaosRun(const ChaosRunOptions& options, const Patience& patience)
      : options_(options),
        story_(options.json),
        patience_(patience),
        random_(options.seed),
        world_(patience, options.agents, k_run_open_tasks) {}

  bool run() {
    story_.aside(fmt::format("a node with {} agents, under load; seed {}\n", world_.agents_wanted(), options_.seed));
    (void)world_.wait_for_agents(20s);
    const auto begin = Patience::Clock::now();
    const auto until = begin + std::chrono::seconds(options_.seconds);
    {
      Progress progress("killing");
      while (!is_over(until)) {
        patience_.check("things were killed");
        Patience::pause(std::chrono::microseconds(random_.below(k_pause_max_us)));
        once();
        keep_up();
        show(progress, begin);
      }
    }
    const double took = milliseconds_since(begin) / 1000;
    const auto account = world_.settle(k_run_settle_limit, 0);
    return report(account, took);
  }
  [[nodiscard]] std::string log_tail() { return world_.node().log_tail(12); }

 private:
  [[nodiscard]] std::uint64_t total() const {
    std::uint64_t sum = 0;
    for (const auto& [what, count] : done_) sum += count;
    return sum;
  }
  [[nodiscard]] bool is_over(Patience::Clock::time_point until) const {
    return options_.kills > 0 ? total() >= options_.kills : Patience::Clock::now() >= until;
  }
  void show(Progress& progress, Patience::Clock::time_point begin) const {
    if (options_.kills > 0) return progress.show(total(), options_.kills);
    progress.show(static_cast<std::uint64_t>(milliseconds_since(begin)), options_.seconds * 1000);
  }

  void once() {
    const std::uint64_t dice = random_.below(1'000);
    if (dice < 700) {
      count("agents' OS processes (SIGKILL)", kill_os(true) ? 1 : 0);
    } else if (dice < 940) {
      count("agents (processes)", kill_in_tree("agents_sup/agent_pool/*"));
    } else if (dice < 970) {
      count("supervisors and services of the tree", kill_in_tree(k_places[random_.below(k_places.size())]));
    } else if (dice < 990) {
      count("launchers and guards (SIGKILL)", kill_os(false) ? 1 : 0);
    } else {
      world_.disconnect();
      world_.node().kill_9();
      is_ours_ = true;
      count("whole nodes (kill -9)", 1);
    }
  }
  void count(const char* what, std::uint64_t kills) { done_[what] += kills; }

  std::uint64_t kill_in_tree(const char* target) {
    const auto answer = world_.ask("chaos_kill", {{"target", target}});
    return answer ? list_of(*answer, "killed").size() : 0;
  }
  // What carries the mark is an agent's, or the node's own helper.
  bool kill_os(bool is_agent) {
    if (processes_.empty() || used_++ >= k_processes_reused) {
      processes_ = marked_processes(world_.mark());
      used_ = 0;
    }
    std::vector<pid_t> those;
    for (const MarkedProcess& each : processes_) {
      if (each.agent.empty() != is_agent && each.pid != world_.node().pid()) those.push_back(each.pid);
    }
    if (those.empty()) {
      processes_.clear();
      return false;
    }
    const pid_t victim = those[random_.below(those.size())];
    std::erase_if(processes_, [&](const MarkedProcess& each) { return each.pid == victim; });
    return signal_marked(victim, world_.mark(), SIGKILL);
  }

  // A node that is gone comes back; how it went must be one of two ways.
  void keep_up() {
    if (world_.node().is_running()) return;
    if (!is_ours_) {
      const int code = world_.node().exit_code();
      ++collapses_;
      if (code != k_exit_collapsed) {
        odd_.push_back(fmt::format("the node ended with exit code {} by itself", code));
      }
    }
    is_ours_ = false;
    processes_.clear();
    const double took = world_.start();
    slowest_ms_ = std::max(slowest_ms_, took);
    ++starts_;
  }

  bool report(const ChaosWorld::Account& account, double seconds) {
    std::string text = fmt::format("\nkilled in {:.1f} s:\n", seconds);
    for (const auto& [what, times] : done_) text += fmt::format("  {:>8}  {}\n", times, what);
    text += fmt::format("  {:>8}  {}\n", total(), coloured("in all", Colour::bold));
    text += fmt::format(
        "the node was started again {} times ({} because its tree gave up, exit code {}), in at most {:.0f} ms\n",
        starts_, collapses_, static_cast<int>(k_exit_collapsed), slowest_ms_);
    text += fmt::format("{} tasks accepted = {} completed + {} failed; {} went to an agent more than once\n",
                        account.accepted, account.completed, account.failed, account.again);
    text += fmt::format(
        "{} submits got no answer and were sent again; the log has {} entries; the last task ended {:.1f} s "
        "after the last kill\n",
        account.repeated, account.entries, account.drained_ms / 1000);
    story_.aside(text);
    for (const std::string& each : odd_) story_.check(false, each);
    const bool is_right = ChaosWorld::show(account, story_) && odd_.empty() &&
                          account.accepted == account.completed + account.failed && total() > 0;
    story_.aside((is_right ? coloured("lost: nothing", Colour::green) : coloured("something is wrong", Colour::red)) +
                 "\n");
    tell_programs(account, seconds, is_right);
    return is_right;
  }

  void tell_programs(const ChaosWorld::Account& account, double seconds, bool is_right) const {
    json::object kills;
    for (const auto& [what, times] : done_) kills[what] = times;
    story_.end({{"seed", options_.seed},
                {"seconds", seconds},
                {"kills", std::move(kills)},
                {"killed", total()},
                {"starts", starts_},
                {"collapses", collapses_},
                {"slowest_start_ms", slowest_ms_},
                {"accepted", account.accepted},
                {"completed", account.completed},
                {"failed", account.failed},
                {"again", account.again},
                {"repeated", account.repeated},
                {"entries", account.entries},
                {"ok", is_right}});
  }

  ChaosRunOptions options_;
  Story story_;
  const Patience& patience_;
  Random random_;
  ChaosWorld world_;
  std::map<std::string, std::uint64_t> done_;
  std::vector<MarkedProcess> processes_;
  std::size_t used_ = 0;
  bool is_ours_ = false;  // the node was ended by this program
  std::uint64_t starts_ = 0;
  std::uint64_t collapses_ = 0;
  double slowest_ms_ = 0;
  std::vector<std::string> odd_;
};

}  // namespace

int chaos_run(const ChaosRunOptions& given) {
  ChaosRunOptions options = given;
  constexpr std::uint64_t k_agents_max = 64;
  if (options.agents < 1 || options.agents > k_agents_max) {
    return complain(k_exit_usage, fmt::format("--agents goes from 1 to {}", k_agents_max));
  }
  if (options.seed == 0) options.seed = std::random_device{}();
  const Patience patience{std::chrono::milliseconds(options.timeout_ms)};
  try {
    ChaosRun chaos(options, patience);
    try {
      return chaos.run() ? k_exit_ok : k_exit_failed;
    } catch (const GaveUp&) {
      fmt::print(stderr, "the node's log ends with:\n{}", chaos.log_tail());
      throw;
    }
  } catch (const GaveUp& failure) {
    return complain(failure.code, failure.what());
  }
}

}  // namespace skein::cli
