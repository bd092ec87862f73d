// skein doctor: looks at the data folder, the disk, the config and the node, and says what to do about what is wrong.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <optional>
#include <set>
#include <vector>

#include "cli/patience.hpp"
#include "cli/session.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "skein/base/version.hpp"
#include "skein/control/limits.hpp"
#include "skein/node/config.hpp"
#include "skein/node/config_check.hpp"
#include "skein/node/data_folder.hpp"

namespace skein::cli {
namespace {

constexpr std::uint64_t k_processes_looked_at = 100'000;

class Doctor {
 public:
  explicit Doctor(const Session& session) : session_(session) {}

  int run() {
    try {
      data_ = session_.data_folder();
    } catch (const GaveUp&) {
      // Which folder is meant is not known; looking at another would be worse than at none.
      check_config(std::nullopt);
      return finish();
    }
    // The node's own settings count, not those of the folder this was called in.
    auto client = connect(session_);
    std::optional<json::value> info;
    if (client) {
      if (const auto answer = client->ask("info", {}, session_.timeout())) info = *answer;
    }
    check_config(info);
    check_folder(info);
    check_node(client);
    if (info) found("log", true, text_of(*info, "log"));
    return finish();
  }

 private:
  int finish() {
    if (session_.json) print_json(json::object{{"ok", is_well_}, {"checks", std::move(checks_)}});
    return is_well_ ? k_exit_ok : k_exit_failed;
  }

  void found(const std::string& what, bool ok, const std::string& detail) {
    is_well_ = is_well_ && ok;
    checks_.push_back({{"check", what}, {"ok", ok}, {"detail", detail}});
    if (session_.json) return;
    fmt::print("{}  {:<12} {}\n", ok ? coloured("ok  ", Colour::green) : coloured("FAIL", Colour::red), what, detail);
  }

  // Nothing is broken, but its owner should know.
  void warned(const std::string& what, const std::string& detail) {
    checks_.push_back({{"check", what}, {"ok", true}, {"warning", true}, {"detail", detail}});
    if (session_.json) return;
    fmt::print("{}  {:<12} {}\n", coloured("WARN", Colour::yellow), what, detail);
  }

  void check_config(const std::optional<json::value>& info) {
    const std::string file = info ? text_of(*info, "config") : std::string(node::k_config_file);
    if (info && file.empty()) return found("config", true, "none: the node runs with defaults and its command line");
    if (!info && !std::filesystem::exists(file)) return;
    const auto config = node::load_config(file);
    if (config && !info) low_water_ = config->journal.disk_low_water_bytes;
    if (!config) return found("config", false, fmt::format("{0}: 'skein config check {0}' says what is wrong", file));
    const auto faults = node::check_surroundings(*config);
    for (const node::ConfigFault& each : faults) {
      found("config", false, fmt::format("{}:{}: {}", file, each.line, each.message));
    }
    if (faults.empty()) found("config", true, file);
  }

  void check_folder(const std::optional<json::value>& info) {
    if (info) low_water_ = count_of(*info, "disk_low_water_bytes");
    std::error_code error;
    struct stat status{};
    if (::stat(data_.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
      return found("data folder", false, data_ + " is not there: 'skein up' makes it, --data names another");
    }
    const bool is_ours = ::access(data_.c_str(), R_OK | W_OK | X_OK) == 0;
    found("data folder", is_ours, is_ours ? data_ : data_ + ": this user may not write there; run as the node's user");
    for (const std::string& each : node::looseness_of(data_)) {
      found("data folder", false, fmt::format("{}: {}; 'skein up' corrects its own files", data_, each));
    }
    const auto space = std::filesystem::space(data_, error);
    const bool is_roomy = !error && (low_water_ == 0 || space.available > low_water_);
    found("disk", is_roomy,
          fmt::format("{} free{}", how_many_bytes(error ? 0 : space.available),
                      is_roomy
                          ? ""
                          : fmt::format(": under {} only completions are accepted; free some space, or lower [journal] "
                                        "disk_low_water_bytes",
                                        how_many_bytes(low_water_))));
    const std::string dump = data_ + "/dump-fatal.txt";
    // A node that runs holds it open and empty.
    if (std::filesystem::exists(dump, error) && std::filesystem::file_size(dump, error) > 0) {
      found("crashes", false, dump + " tells of one: read it, report it, and remove it");
    }
    if (::stat((data_ + "/" + control::k_socket_file).c_str(), &status) != 0) return;
    const auto mode = static_cast<unsigned>(status.st_mode) & 0777U;
    found("socket", mode == 0600, fmt::format("mode {:04o}{}", mode, mode == 0600 ? "" : ": make it 0600"));
  }

  void check_node(control::ClientResult<control::Client>& client) {
    found("node", client.has_value(), client ? "answers" : client.error().message + ": " + client.error().advice);
    if (!client) return;
    const std::string version = text_of(client->node(), "version");
    found("version", version == skein::version(),
          version == skein::version()
              ? version
              : fmt::format("the node is {}, this program {}: restart the node", version, skein::version()));
    const auto begin = std::chrono::steady_clock::now();
    const auto tasks = client->ask("status", {}, session_.timeout());
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    found("engine", tasks.has_value(),
          tasks ? fmt::format("answered in {:.1f} ms", took.count())
                : tasks.error().message + ": look at the node's log");
    if (tasks) check_journal(part_of(*tasks, "journal"));
    if (tasks) check_archive(part_of(*tasks, "archive"));
    check_launcher(*client);
    check_swarms(*client);
    check_agents(*client);
    check_processes(*client);
    check_tree(*client);
  }

  void check_journal(const json::value& journal) {
    const bool stopped = flag_of(journal, "stopped");
    const bool low = flag_of(journal, "disk_low");
    found("journal", !stopped && !low,
          stopped ? "stopped: look at the node's log"
          : low   ? "the disk is low, so only completions are accepted: free some space"
                  : fmt::format("position {}", count_of(journal, "applied")));
  }

  void check_archive(const json::value& archive) {
    if (!archive.is_object()) return;
    const std::string failing = text_of(archive, "failing");
    const std::uint64_t damaged = count_of(archive, "damaged");
    const std::uint64_t lost = count_of(archive, "lost");
    if (!failing.empty()) found("archive", false, "finished tasks wait in the ledger: " + failing);
    if (damaged > 0) {
      found("archive", false,
            fmt::format("{} records are damaged and are not handed out: stop the node and run 'skein archive rebuild'",
                        damaged));
    }
    if (!failing.empty() || damaged > 0) return;
    std::string detail = fmt::format("{} tasks", count_of(archive, "tasks"));
    if (count_of(archive, "verified_at") != 0) detail += fmt::format(", {} verified", count_of(archive, "verified"));
    if (lost > 0) detail += fmt::format("; the results of {} were lost, and that was accepted", lost);
    found("archive", true, detail);
  }

  void check_launcher(control::Client& client) {
    const auto answer = client.ask("info", {}, session_.timeout());
    if (!answer) return found("launcher", false, answer.error().message + ": " + answer.error().advice);
    const std::string problem = text_of(*answer, "launcher_problem");
    found("launcher", problem.empty(),
          problem.empty() ? "there" : "tasks wait, no OS process can be started: " + problem);
    for (const json::value& each : list_of(*answer, "exposed")) {
      if (each.is_string()) warned("isolation", std::string(each.get_string()) + "; see docs/security.md");
    }
    check_descriptors(part_of(*answer, "descriptors"));
  }

  void check_descriptors(const json::value& descriptors) {
    const auto used = count_of(descriptors, "used");
    const auto total = count_of(descriptors, "total");
    const bool is_short = used + total / 10 >= total || count_of(descriptors, "spare") == 0;
    found("descriptors", !is_short,
          fmt::format("{} of {} for connections and programs of agents{}", used, total,
                      is_short ? ": raise the limit on open files (ulimit -n, LimitNOFILE=)" : ""));
  }

  void check_swarms(control::Client& client) {
    const auto answer = client.ask("swarm_list", {}, session_.timeout());
    if (!answer) return found("swarms", false, answer.error().message + ": " + answer.error().advice);
    const json::array& swarms = list_of(*answer, "swarms");
    bool ok = true;
    for (const json::value& swarm : swarms) {
      for (const json::value& each : list_of(swarm, "problems")) {
        ok = false;
        const std::string problem = each.is_string() ? std::string(each.get_string()) : "";
        found("swarms", false, fmt::format("'{}': {}", text_of(swarm, "name"), problem));
      }
    }
    if (ok) found("swarms", true, fmt::format("{}", swarms.size()));
    std::vector<std::string> held;
    for (const json::value& swarm : swarms) {
      for (const json::value& each : list_of(swarm, "passed_over")) {
        held.push_back(
            fmt::format("swarm '{}', type '{}': {}{}: the node's log and 'skein tasks --state failed' say why",
                        text_of(swarm, "name"), text_of(each, "type"), text_of(each, "detail"), until_text(each)));
      }
    }
    for (const std::string& each : held) found("held back", false, each);
  }

  static std::string until_text(const json::value& passed_over) {
    const std::uint64_t until = count_of(passed_over, "until");
    return until == 0 ? "" : fmt::format(", until {}", time_of_day(until));
  }

  // Agents that get nothing though nobody paused them.
  void check_passed_over(const json::array& agents) {
    for (const json::value& agent : agents) {
      for (const json::value& each : list_of(agent, "passed_over")) {
        const std::string why = text_of(each, "why");
        if (why == "paused" || why == "paused_itself" || why == "executor_full" || why == "results_waiting") continue;
        found("passed over", why == "poorly" || why == "rate_limited",
              fmt::format("agent '{0}': {1}{2}: 'skein agent show {0}' has its last tasks", text_of(agent, "id"),
                          text_of(each, "detail"), until_text(each)));
      }
    }
  }

  void check_agents(control::Client& client) {
    const auto answer = client.ask("agent_list", {}, session_.timeout());
    if (!answer) return found("agents", false, answer.error().message + ": " + answer.error().advice);
    const json::array& agents = list_of(*answer, "agents");
    std::string lost;
    for (const json::value& each : agents) {
      if (text_of(each, "status") == "unreachable") lost += " " + text_of(each, "id");
    }
    const bool ok = !agents.empty() && lost.empty();
    found("agents", ok,
          agents.empty() ? "none: tasks wait; give a swarm agents with 'skein swarm scale'"
          : lost.empty() ? fmt::format("{}", agents.size())
                         : fmt::format("silent:{}: 'skein agent show' says more", lost));
    for (const json::value& each : agents) {
      const std::string status = text_of(each, "status");
      const std::string id = text_of(each, "id");
      if (status == "stopped") warned("agents", fmt::format("'{0}' is stopped: 'skein agent start {0}'", id));
      if (status == "parked") {
        warned("agents", fmt::format("'{0}' is parked after crashes: 'skein agent start {0}' tries it at once", id));
      }
    }
    check_passed_over(agents);
    check_default_swarm(client, agents);
  }

  // Tasks that name no swarm go there, and without an executor it has no agents of its own.
  void check_default_swarm(control::Client& client, const json::array& agents) {
    const auto swarm = client.ask("swarm_status", {{"name", "default"}}, session_.timeout());
    if (!swarm || !text_of(part_of(*swarm, "settings"), "executor").empty()) return;
    std::set<std::string> abilities;
    for (const json::value& agent : agents) {
      const std::string status = text_of(agent, "status");
      if (status == "stopped" || status == "parked") continue;
      for (const json::value& each : list_of(agent, "capabilities")) abilities.emplace(each.as_string());
    }
    constexpr std::string_view k_advice = "give [swarms.default] an executor in skein.toml and run 'skein reload'";
    if (abilities.empty()) {
      return found("default", false, fmt::format("no agent can run the tasks of swarm 'default': {}", k_advice));
    }
    warned("default", fmt::format("swarm 'default' has no agents of its own; agents of others run its tasks that need "
                                  "nothing but {}: for others {}",
                                  fmt::join(abilities, ", "), k_advice));
  }

  void check_processes(control::Client& client) {
    const auto answer = client.ask("processes", {{"limit", k_processes_looked_at}}, session_.timeout());
    if (!answer) return found("processes", false, answer.error().message + ": " + answer.error().advice);
    std::string stuck;
    for (const json::value& each : list_of(*answer, "processes")) {
      if (text_of(each, "state") == "stuck")
        stuck += fmt::format(" {} {}", text_of(each, "pid"), text_of(each, "type"));
    }
    found("processes", stuck.empty(),
          stuck.empty() ? fmt::format("{}", count_of(*answer, "count"))
                        : fmt::format("stuck:{}: 'skein dump' says where", stuck));
  }

  // What supervisors could not keep running, and where they are about to give up.
  void check_tree(control::Client& client) {
    const auto answer = client.ask("tree", {}, session_.timeout());
    if (!answer) return found("supervision", false, answer.error().message + ": " + answer.error().advice);
    Supervised all;
    look_at(*answer, "", all);
    for (const std::string& each : all.parked) found("supervision", false, each);
    for (const std::string& each : all.strained) found("supervision", true, each);
    if (!all.parked.empty() || !all.strained.empty()) return;
    found("supervision", true, fmt::format("{} restarts of processes that run now", all.restarts));
  }

  struct Supervised {
    std::vector<std::string> parked;
    std::vector<std::string> strained;  // supervisors that have used most of their restarts
    std::uint64_t restarts = 0;
  };
  void look_at(const json::value& entry, const std::string& above, Supervised& all) {
    const std::string id = text_of(entry, "id");
    const std::string path = above.empty() ? id : above + "/" + (id.empty() ? text_of(entry, "pid") : id);
    all.restarts += count_of(entry, "restarts");
    const json::array& failures = list_of(entry, "failures");
    const std::string why = failures.empty() ? "" : ": " + text_of(failures.back(), "reason");
    if (text_of(entry, "state") == "parked") {
      all.parked.push_back(fmt::format("{} is parked after {} restarts and tried again later{}", path,
                                       count_of(entry, "restarts"), why));
    }
    const std::uint64_t used = count_of(entry, "used");
    const std::uint64_t most = count_of(entry, "intensity");
    if (most > 0 && used * 5 >= most * 4) {
      all.strained.push_back(
          fmt::format("{} has used {} of its {} restarts: 'skein events' and the log say for whom", path, used, most));
    }
    for (const json::value& each : list_of(entry, "children")) look_at(each, path, all);
  }

  const Session& session_;
  std::string data_;
  json::array checks_;
  std::uint64_t low_water_ = node::Config{}.journal.disk_low_water_bytes;
  bool is_well_ = true;
};

}  // namespace

void add_doctor(Verb& root) {
  const auto session = std::make_shared<Session>();
  Verb verb = root.verb("doctor", "Check config, data folder, disk and node, and say what to do");
  session->add_to(verb);
  verb.run([session] { return Doctor(*session).run(); });
}

}  // namespace skein::cli
