#include "cli/chaos_world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <set>

#include "cli/log_account.hpp"
#include "cli/terminal.hpp"

namespace skein::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds k_stop_limit = 30s;
constexpr std::chrono::milliseconds k_gone_limit = 10s;
constexpr std::chrono::milliseconds k_world_answer_limit = 10s;
constexpr std::size_t k_shown = 20;

constexpr const char* k_talker_py = R"(import json, random, sys, time
def send(**message):
    print(json.dumps(message), flush=True)
send(type="hello", protocol=1)
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "shutdown":
        break
    if message["type"] == "task":
        time.sleep(random.random() * 0.01)
        send(type="result", task=message["task"], fence=message["fence"], result=message["params"])
)";
constexpr const char* k_talker_sh = R"sh(echo '{"type":"hello","protocol":1}'
while IFS= read -r line; do
  case $line in
    '{"type":"task",'*)
      task=${line#*\"task\":\"}; task=${task%%\"*}
      fence=${line#*\"fence\":}; fence=${fence%%,*}
      n=${line#*\"n\":}; n=${n%%\}*}
      printf '{"type":"result","task":"%s","fence":%s,"result":{"n":%s}}\n' "$task" "$fence" "$n" ;;
    '{"type":"shutdown"'*) exit 0 ;;
  esac
done
)sh";

bool has_program(const char* path) { return std::ifstream(path).good(); }

// Nothing is dropped from the log, for the account at the end. The breaker would stop the very thing that is tested,
// and a short lease saves waiting for agents that died unseen with the engine.
std::string config_text(const std::string& folder, const std::string& mark, std::uint64_t agents, bool has_python) {
  const std::size_t equals = mark.find('=');
  const std::string common = fmt::format("directory = \"{}\"\nset_env = {{ {} = \"{}\" }}\nkill_after = \"200ms\"\n",
                                         folder, mark.substr(0, equals), mark.substr(equals + 1));
  const std::string size = fmt::format("min = {0}\nmax = {0}\nbreaker_crashes = 1000000\n", agents);
  std::string text = fmt::format(R"([node]
name = "chaos"
log_level = "warning"
drain = "2s"

[journal]
disk_low_water_bytes = "1MiB"
snapshot_bytes = "64GiB"

[dispatch]
lease = "3s"

[executors.talk]
kind = "stdio"
command = {0}
{1}
[executors.command]
kind = "command"
command = ["/bin/sh", "-c", 'read -r line; printf "%s\n" "$line"']
{1}
[swarms.talkers]
executor = "talk"
capabilities = ["work"]
{2}
[swarms.commands]
executor = "command"
capabilities = ["work"]
{2}
[swarms.functions]
executor = "function"
{2}
[[supervisors]]
name = "{3}"
strategy = "one_for_one"
intensity = {4}
period = "60s"
)",
                                 has_python ? R"(["python3", "-S", "-E", "talker.py"])" : R"(["/bin/sh", "talker.sh"])",
                                 common, size, k_crew, k_crew_intensity);
  for (int i = 1; i <= k_crew_size; ++i) {
    text += fmt::format(
        "[[supervisors.child]]\nid = \"crew-{0}\"\nworker = \"agent\"\nparams = {{ id = \"crew-{0}\", executor = "
        "\"function\", swarm = \"functions\" }}\n",
        i);
  }
  return text;
}

std::string write_files(const std::string& folder, const std::string& mark, std::uint64_t agents, bool has_python) {
  std::ofstream(folder + "/talker.py") << k_talker_py;
  std::ofstream(folder + "/talker.sh") << k_talker_sh;
  std::string config = folder + "/skein.toml";
  std::ofstream(config) << config_text(folder, mark, agents, has_python);
  return config;
}

}  // namespace

ChaosWorld::ChaosWorld(const Patience& patience, std::uint64_t agents, std::uint64_t open_tasks)
    : patience_(patience),
      agents_(agents),
      folder_("skein-chaos"),
      mark_(new_mark("SKEIN_MARK_CHAOS")),
      has_python_(has_program("/usr/bin/python3")),
      node_({write_files(folder_.path(), mark_, agents, has_python_), folder_.path() + "/data",
             folder_.path() + "/node.log", mark_},
            patience) {
  start();
  load_ = std::make_unique<ChaosLoad>(folder_.path() + "/data", open_tasks);
}

ChaosWorld::~ChaosWorld() {
  if (load_) load_->end();
}

double ChaosWorld::start() {
  disconnect();
  const auto took = node_.start();
  if (!took) throw GaveUp(k_exit_failed, took.error());
  return *took;
}

double ChaosWorld::restart_gracefully() {
  disconnect();
  const int code = node_.stop(k_stop_limit);
  if (code != 0) throw GaveUp(k_exit_failed, fmt::format("told to stop, the node ended with exit code {}", code));
  return start();
}

control::ClientResult<json::value> ChaosWorld::ask(std::string_view op, const json::object& params) {
  control::ClientResult<json::value> answer;
  for (int i = 0; i < 2; ++i) {
    patience_.check(fmt::format("the node was asked for {}", op));
    if (!client_) {
      auto made = node_.connect();
      if (!made) return std::unexpected(std::move(made.error()));
      client_ = std::make_unique<control::Client>(std::move(*made));
    }
    answer = client_->ask(op, params, std::min(patience_.left(), k_world_answer_limit));
    if (answer || answer.error().kind == control::ClientError::Kind::refused) return answer;
    client_.reset();
  }
  return answer;
}

json::value ChaosWorld::must(std::string_view op, const json::object& params) {
  control::ClientResult<json::value> answer;
  // The socket may be away for a moment when its listener was killed.
  patience_.wait(fmt::format("the node was asked for {}", op), k_world_answer_limit, 1ms, [&] {
    answer = ask(op, params);
    return answer.has_value();
  });
  if (!answer) throw GaveUp(k_exit_failed, fmt::format("{}: {}", op, answer.error().message));
  return std::move(*answer);
}

bool ChaosWorld::wait_for_agents(std::chrono::milliseconds limit) {
  return patience_.wait("agents came back", limit, 2ms, [&] {
    const auto answer = ask("agent_list");
    return answer && list_of(*answer, "agents").size() >= agents_wanted();
  });
}

bool ChaosWorld::log_has(std::string_view text) const {
  std::ifstream file(folder_.path() + "/node.log");
  for (std::string line; std::getline(file, line);) {
    if (line.find(text) != std::string::npos) return true;
  }
  return false;
}

ChaosWorld::Account ChaosWorld::settle(std::chrono::milliseconds limit, std::uint64_t others) {
  Account account;
  const auto begin = Patience::Clock::now();
  load_->finish();
  const bool is_empty = patience_.wait("the last tasks ended", limit, 5ms, [&] {
    if (!node_.is_running()) {
      // A tree that was giving up when the last kill came.
      if (node_.exit_code() != k_exit_collapsed) {
        account.wrong.push_back(fmt::format("the node ended with exit code {} by itself", node_.exit_code()));
      }
      start();
    }
    const auto status = ask("status");
    return load_->has_finished() && status && count_of(*status, "open_tasks") == 0;
  });
  load_->end();
  account.drained_ms = milliseconds_since(begin);
  if (!is_empty) account.wrong.push_back(fmt::format("tasks were still open after {} s", limit.count() / 1000));
  disconnect();
  if (const int code = node_.stop(k_stop_limit); code != 0) {
    account.wrong.push_back(fmt::format("told to stop, the node ended with exit code {}", code));
  }
  const bool gone =
      patience_.wait("the last OS processes ended", k_gone_limit, 2ms, [&] { return marked_processes(mark_).empty(); });
  if (!gone) account.wrong.push_back(fmt::format("{} OS processes were left", marked_processes(mark_).size()));

  const auto log = read_account(folder_.path() + "/data");
  if (!log) {
    account.wrong.push_back(log.error());
    return account;
  }
  const auto accepted = load_->tasks();
  for (const std::string& each : load_->faults()) account.wrong.push_back(each);
  for (const auto& [id, number] : accepted) {
    const auto at = log->tasks.find(id);
    if (at == log->tasks.end()) {
      account.wrong.push_back(fmt::format("task {} ({}) was accepted and is not in the log", number, id));
    } else if (at->second.times != 1) {
      account.wrong.push_back(fmt::format("task {} ({}) ended {} times", number, id, at->second.times));
    } else if (at->second.state == ledger::State::completed) {
      std::string result = at->second.result;
      std::erase(result, ' ');
      if (result != fmt::format(R"({{"n":{}}})", number)) {
        account.wrong.push_back(fmt::format("task {} has the result {}", number, result));
      }
    }
  }
  if (log->tasks.size() != accepted.size() + others) {
    account.wrong.push_back(
        fmt::format("{} tasks were accepted, the log has {}", accepted.size() + others, log->tasks.size()));
  }
  if (log->not_once() != 0) {
    account.wrong.push_back(fmt::format("{} tasks did not end exactly once", log->not_once()));
  }
  if (!log->is_whole) account.wrong.emplace_back("the log no longer has its beginning");
  account.accepted = accepted.size() + others;
  account.completed = log->ended(ledger::State::completed);
  account.failed = log->ended(ledger::State::failed);
  account.again = log->delivered_again();
  account.repeated = load_->repeated();
  account.entries = log->entries;
  if (account.completed == 0) account.wrong.emplace_back("nothing was done, so nothing was proved");
  return account;
}

bool ChaosWorld::show(const Account& account, const Story& story) {
  for (std::size_t i = 0; i < std::min(account.wrong.size(), k_shown); ++i) story.check(false, account.wrong[i]);
  if (account.wrong.size() > k_shown) story.note(fmt::format("and {} more", account.wrong.size() - k_shown));
  return account.wrong.empty();
}

const json::value* tree_entry(const json::value& tree, std::string_view path) {
  const json::value* at = &tree;
  while (!path.empty()) {
    const std::string_view id = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(id.size() + 1, path.size()));
    const json::value* found = nullptr;
    for (const json::value& each : list_of(*at, "children")) {
      if (text_of(each, "id") == id) found = &each;
    }
    if (found == nullptr) return nullptr;
    at = found;
  }
  return at;
}

void tree_pids(const json::value& entry, std::vector<std::string>& pids) {
  if (const std::string pid = text_of(entry, "pid"); !pid.empty()) pids.push_back(pid);
  for (const json::value& each : list_of(entry, "children")) tree_pids(each, pids);
}

}  // namespace skein::cli
