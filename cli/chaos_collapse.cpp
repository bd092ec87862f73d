// skein chaos collapse: does to a live node, with tasks in flight, what once brought a real tree down, phase by phase,
// and says what it measured. docs/chaos.md explains the phases.
//
// The node is one of its own on a temporary folder. Windows and budgets are emptied between phases by a restart in
// order.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <set>

#include "cli/chaos.hpp"
#include "cli/chaos_world.hpp"
#include "cli/terminal.hpp"

namespace skein::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t k_agents = 10;  // in each swarm
constexpr std::uint64_t k_open_tasks = 200;
constexpr int k_rapid_kills = 10;
constexpr int k_root_intensity = 5;
constexpr std::chrono::milliseconds k_back_limit = 10s;  // for whatever was killed to be there again
constexpr std::chrono::milliseconds k_settle_limit = 60s;

class Collapse {
 public:
  Collapse(const Patience& patience, bool is_json) : story_(is_json), world_(patience, k_agents, k_open_tasks) {}

  bool run() {
    baseline();
    tenth_of_the_workers();
    for (const int apart_ms : {50, 100, 500, 1000}) rapid_kills(apart_ms);
    kill_supervisor(3, "the transports' supervisor", "transports_sup", false);
    kill_supervisor(4, "the supervisor of work", "engine_sup/work_sup", true);
    kill_supervisor(5, "consensus", "engine_sup/consensus_sup", true);
    exhaust_root();
    bring_back();
    story_.aside(fmt::format("\n{} checks held, {} did not\n", held_, broken_));
    story_.end({{"held", held_}, {"broken", broken_}});
    return broken_ == 0;
  }
  [[nodiscard]] std::string log_tail() { return world_.node().log_tail(12); }

 private:
  void heading(const std::string& text) const { story_.step(text); }
  void check(bool holds, const std::string& text) {
    ++(holds ? held_ : broken_);
    story_.check(holds, text);
  }
  json::value tree() { return world_.must("tree"); }
  std::string pid_of(const std::string& path) {
    const json::value now = tree();
    const json::value* entry = tree_entry(now, path);
    return entry != nullptr ? text_of(*entry, "pid") : "";
  }
  std::set<std::string> living() {
    const json::value answer = world_.must("processes", {{"limit", 100'000}});
    std::set<std::string> pids;
    for (const json::value& each : list_of(answer, "processes")) pids.insert(text_of(each, "pid"));
    return pids;
  }
  // Waits until another process stands at this path; its Pid, or nothing.
  std::string successor(const std::string& path, const std::string& before) {
    std::string now;
    world_.patience().wait(path + " came back", k_back_limit, 200us, [&] {
      const auto answer = world_.ask("tree");
      const json::value* entry = answer ? tree_entry(*answer, path) : nullptr;
      now = entry != nullptr ? text_of(*entry, "pid") : "";
      return !now.empty() && now != before;
    });
    return now == before ? "" : now;
  }
  void kill(const std::string& target) { (void)world_.must("chaos_kill", {{"target", target}}); }
  // Submits one task and waits for its end, in milliseconds; negative when it did not complete.
  double serve_one() {
    const auto begin = Patience::Clock::now();
    const json::value task = world_.must("task_submit", {{"type", "echo"},
                                                         {"swarm", "functions"},
                                                         {"params", "0"},
                                                         {"priority", "critical"},
                                                         {"key", fmt::format("probe-{}", ++probes_)}});
    const std::string id = text_of(task, "id");
    bool is_done = false;
    world_.patience().wait("a task ended", k_back_limit, 1ms, [&] {
      const auto answer = world_.ask("task_wait", {{"id", id}, {"timeout_ms", 2'000}});
      is_done = answer && text_of(part_of(*answer, "task"), "state") == "completed";
      return is_done;
    });
    return is_done ? milliseconds_since(begin) : -1;
  }
  void fresh() {
    const double took = world_.restart_gracefully();
    restarts_ms_ = std::max(restarts_ms_, took);
    (void)world_.wait_for_agents(k_back_limit);
  }

  void baseline() {
    heading("0. Baseline: a running node, three swarms, constant load");
    check(world_.wait_for_agents(20s), fmt::format("{} agents are there", world_.agents_wanted()));
    const double took = serve_one();
    check(took >= 0, fmt::format("a task is served in {:.1f} ms under load", took));
    const json::value now = tree();
    std::vector<std::string> pids;
    tree_pids(now, pids);
    check(list_of(now, "children").size() == 5,
          fmt::format("the tree has {} processes below five branches", pids.size()));
  }

  std::vector<std::string> pool_pids() {
    const json::value now = tree();
    std::vector<std::string> pids;
    if (const json::value* pool = tree_entry(now, "agents_sup/agent_pool")) {
      for (const json::value& each : list_of(*pool, "children")) pids.push_back(text_of(each, "pid"));
    }
    return pids;
  }

  void tenth_of_the_workers() {
    heading("1. A tenth of the workers is killed");
    const auto before = pool_pids();
    const std::string pool = pid_of("agents_sup/agent_pool");
    const std::uint64_t count = std::max<std::uint64_t>(1, before.size() / 10);
    const auto begin = Patience::Clock::now();
    const json::value killed = world_.must("chaos_kill", {{"target", "agents_sup/agent_pool/*"}, {"count", count}});
    const bool is_full = world_.patience().wait("the pool was filled", k_back_limit, 200us, [&] {
      return pool_pids().size() >= before.size() && none_left(killed);
    });
    check(is_full, fmt::format("{} of {} killed, and replaced after {:.1f} ms", count, before.size(),
                               milliseconds_since(begin)));
    check(pid_of("agents_sup/agent_pool") == pool,
          "their supervisor did not restart: temporary children do not count as restarts");
  }
  bool none_left(const json::value& killed) {
    const auto alive = living();
    return std::ranges::none_of(list_of(killed, "killed"), [&](const json::value& each) {
      const std::string text(each.as_string());
      return alive.contains(text.substr(text.rfind(' ') + 1));
    });
  }

  // Each of the current process. With intensity 5 the supervisor lives through five and gives up at the sixth.
  void rapid_kills(int apart_ms) {
    fresh();
    heading(fmt::format("2. Ten kills of one worker, {} ms apart, against intensity {}", apart_ms, k_crew_intensity));
    const std::string crew = fmt::format("agents_sup/{}", k_crew);
    const std::string worker = crew + "/crew-1";
    const std::string agents_sup = pid_of("agents_sup");
    std::string supervisor = pid_of(crew);
    std::vector<int> gave_up;
    double slowest_ms = 0;
    for (int i = 1; i <= k_rapid_kills; ++i) {
      const std::string current = pid_of(worker);
      const auto begin = Patience::Clock::now();
      kill(current);
      const std::string next = successor(worker, current);
      slowest_ms = std::max(slowest_ms, milliseconds_since(begin));
      if (next.empty()) check(false, fmt::format("after kill {} no process replaced it", i));
      const std::string above = pid_of(crew);
      if (above != supervisor) gave_up.push_back(i);
      supervisor = above;
      const auto apart = std::chrono::milliseconds(apart_ms);
      Patience::pause(std::max<std::chrono::microseconds>(
          0us, apart - std::chrono::duration_cast<std::chrono::microseconds>(Patience::Clock::now() - begin)));
    }
    const bool is_exact = gave_up == std::vector<int>{k_crew_intensity + 1};
    check(is_exact, is_exact ? fmt::format("exact: it survived {} kills and gave up at kill {}", k_crew_intensity,
                                           gave_up.front())
                             : fmt::format("it gave up {} times, first at kill {}", gave_up.size(),
                                           gave_up.empty() ? 0 : gave_up.front()));
    check(pid_of("agents_sup") == agents_sup,
          fmt::format("its parent restarted it, once; slowest restart {:.1f} ms", slowest_ms));
  }

  void kill_supervisor(int phase, const std::string& what, const std::string& path, bool agents_stay) {
    fresh();
    heading(fmt::format("{}. {} is killed", phase, what));
    const json::value before = tree();
    const json::value* entry = tree_entry(before, path);
    if (entry == nullptr) return check(false, path + " is not in the tree");
    std::vector<std::string> doomed;
    tree_pids(*entry, doomed);
    const auto agents = pool_pids();
    const auto begin = Patience::Clock::now();
    kill(path);
    const bool is_back = !successor(path, text_of(*entry, "pid")).empty();
    check(is_back, fmt::format("it is running again after {:.1f} ms", milliseconds_since(begin)));
    const double served = serve_one();
    check(served >= 0, fmt::format("a task was served {:.1f} ms after the kill", milliseconds_since(begin)));
    const auto alive = living();
    const auto zombies = std::ranges::count_if(doomed, [&](const auto& each) { return alive.contains(each); });
    check(zombies == 0, fmt::format("none of its {} processes outlived it", doomed.size()));
    if (agents_stay) {
      const auto now = pool_pids();
      const auto stayed =
          std::ranges::count_if(agents, [&](const auto& each) { return std::ranges::find(now, each) != now.end(); });
      check(stayed == static_cast<std::ptrdiff_t>(agents.size()),
            fmt::format("{} of {} agents outlived it", stayed, agents.size()));
    }
  }

  void exhaust_root() {
    fresh();
    heading(fmt::format("6. The root is exhausted: intensity {}", k_root_intensity));
    int kills = 0;
    while (kills <= k_root_intensity && world_.node().is_running()) {
      const std::string before = pid_of("agents_sup");
      kill("agents_sup");
      ++kills;
      if (kills <= k_root_intensity && successor("agents_sup", before).empty()) break;
    }
    world_.disconnect();
    const auto begin = Patience::Clock::now();
    const int code = world_.node().wait_for_end(k_back_limit);
    check(kills == k_root_intensity + 1 && code == k_exit_collapsed,
          fmt::format("it survived {} kills; at kill {} the program ended with exit code {}", kills - 1, kills, code));
    const bool gone = world_.patience().wait("the OS processes ended", k_back_limit, 1ms,
                                             [&] { return marked_processes(world_.mark()).empty(); });
    check(gone, fmt::format("{:.0f} ms later no OS process of it is left", milliseconds_since(begin)));
  }

  void bring_back() {
    heading("7. The program is brought back");
    const double took = world_.start();
    check(true, fmt::format("it serves after {:.0f} ms", took));
    check(world_.wait_for_agents(k_back_limit), "all agents are running again");
    const bool says_already = world_.log_has("already_started") || world_.log_has("already started");
    check(!says_already, "no restart failed because a name was taken");
    auto account = world_.settle(k_settle_limit, probes_);
    const bool is_right = ChaosWorld::show(account, story_);
    check(is_right && account.accepted == account.completed + account.failed,
          fmt::format("{} tasks accepted = {} completed + {} failed, each exactly once by the log", account.accepted,
                      account.completed, account.failed));
    story_.note(fmt::format(
        "{} went to an agent more than once, {} submits were sent again, slowest restart of the node {:.0f} ms",
        account.again, account.repeated, restarts_ms_));
  }

  Story story_;
  ChaosWorld world_;
  std::uint64_t probes_ = 0;
  std::uint64_t held_ = 0;
  std::uint64_t broken_ = 0;
  double restarts_ms_ = 0;
};

}  // namespace

int chaos_collapse(std::uint64_t timeout_ms, bool is_json) {
  const Patience patience{std::chrono::milliseconds(timeout_ms)};
  try {
    Collapse collapse(patience, is_json);
    try {
      return collapse.run() ? k_exit_ok : k_exit_failed;
    } catch (const GaveUp&) {
      fmt::print(stderr, "the node's log ends with:\n{}", collapse.log_tail());
      throw;
    }
  } catch (const GaveUp& failure) {
    return complain(failure.code, failure.what());
  }
}

}  // namespace skein::cli
