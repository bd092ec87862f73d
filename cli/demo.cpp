// skein demo: a node of its own on a temporary folder, agents at work, an agent killed, the node killed, and every task
// accounted for. Everything printed was measured in this run; the exit code is 0 only if all of it held.
//
// The node is an OS process of its own (child_node.hpp). Nothing outlives the demo, whatever ends it.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>

#include "cli/child_node.hpp"
#include "cli/demo_agents.hpp"
#include "cli/log_account.hpp"
#include "cli/os_marks.hpp"
#include "cli/session.hpp"
#include "cli/story.hpp"
#include "cli/temporary_folder.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "skein/node/log.hpp"

namespace skein::cli {
namespace {

using namespace std::chrono_literals;
using control::Client;

constexpr auto k_demo_look = 500us;
constexpr std::uint64_t k_agents_max = 64;
constexpr std::uint64_t k_tasks_max = 10'000;
constexpr std::chrono::milliseconds k_up_limit = 20s;    // for all agents to be there
constexpr std::chrono::milliseconds k_busy_limit = 10s;  // for one of them to be at work
constexpr std::chrono::milliseconds k_gone_limit = 5s;   // for the OS processes of a killed node to be gone
constexpr std::chrono::milliseconds k_stop_limit = 20s;

std::string times(std::uint64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

class Demo {
 public:
  Demo(const DemoOptions& options, const Patience& patience)
      : options_(options),
        story_(options.json),
        patience_(patience),
        folder_("skein-demo"),
        mark_(new_mark("SKEIN_MARK_DEMO")),
        programs_(write_demo(folder_.path(), mark_, options)),
        node_({programs_.config, folder_.path() + "/data", folder_.path() + "/node.log", mark_}, patience),
        tasks_(demo_tasks(options)) {}

  void run() {
    const auto begin = Patience::Clock::now();
    start_node();
    submit(0, tasks_.size() / 2);
    kill_an_agent();
    kill_the_node();
    start_again();
    give_account();
    leave_nothing();
    const double seconds = milliseconds_since(begin) / 1000;
    story_.aside(fmt::format("\n{} {}\n", coloured("Nothing was lost.", Colour::green),
                             coloured(fmt::format("{:.1f} s in all.", seconds), Colour::dim)));
    story_.end({{"lost", 0}, {"tasks", tasks_.size()}, {"seconds", seconds}});
  }
  [[nodiscard]] std::string log_tail() const { return node_.log_tail(12); }

 private:
  void heading(int number, std::string_view text) const { story_.step(fmt::format("{}. {}", number, text)); }
  void held(std::string_view text) const { story_.check(true, text); }
  void note(std::string_view text) const { story_.note(text); }
  [[noreturn]] static void broken(const std::string& what) { throw GaveUp(k_exit_failed, what); }

  json::value ask(std::string_view op, const json::object& params = {}) {
    if (!client_) {
      auto made = node_.connect();
      if (!made) broken(made.error().message);
      client_ = std::make_unique<Client>(std::move(*made));
    }
    patience_.check(fmt::format("the node was asked for {}", op));
    // A little longer than it has, so that the time that was up is the one that is told of.
    auto answer = client_->ask(op, params, std::min(patience_.left() + 5ms, std::chrono::milliseconds(30'000)));
    if (!answer) {
      patience_.check(fmt::format("the node was asked for {}", op));  // why it got no more time
      broken(fmt::format("{}: {}", op, answer.error().message));
    }
    return std::move(*answer);
  }
  json::value task(const std::string& id) { return ask("task_status", {{"id", id}}); }

  void start_node() {
    heading(1, "A node, and agents of three kinds");
    const auto took = node_.start();
    if (!took) broken(took.error());
    held(fmt::format("the node serves after {:.0f} ms, as OS process {}", *took, node_.pid()));
    note(fmt::format("data in {}/data", folder_.path()));
    const std::size_t wanted = 3 * options_.agents;
    const auto begin = Patience::Clock::now();
    const bool all = patience_.wait("agents started", k_up_limit, 2ms,
                                    [&] { return list_of(ask("agent_list"), "agents").size() >= wanted; });
    if (!all) broken(fmt::format("{} agents did not come up within {} s", wanted, k_up_limit.count() / 1000));
    held(fmt::format("{} agents after {:.0f} ms more:", wanted, milliseconds_since(begin)));
    note(fmt::format("{} thinkers   stdio     a long-lived {} each", options_.agents,
                     programs_.has_python ? "Python program" : "shell (there is no python3 here)"));
    note(fmt::format("{} shells     command   an OS process per task", options_.agents));
    note(fmt::format("{} functions  function  C++ in the node itself", options_.agents));
  }

  // Tasks from..to-1, all sent before the first answer is waited for.
  void submit(std::size_t from, std::size_t to) {
    if (from == 0) heading(2, fmt::format("{}, of mixed priority", times(tasks_.size(), "task")));
    const auto begin = Patience::Clock::now();
    std::map<std::uint64_t, std::size_t> sent;
    (void)ask("info");  // connects
    for (std::size_t i = from; i < to; ++i) {
      const auto id = client_->send("task_submit", tasks_[i].request);
      if (!id) broken(id.error().message);
      sent[*id] = i;
    }
    std::map<std::string, std::uint64_t> priorities;
    for (std::size_t i = from; i < to; ++i) {
      const auto answered = client_->next(patience_.left());
      if (!answered) broken(answered.error().message);
      if (!answered->result) broken("a task was refused: " + answered->result.error().message);
      DemoTask& mine = tasks_[sent.at(answered->id)];
      mine.id = text_of(*answered->result, "id");
      ++priorities[mine.priority];
    }
    std::string parts;
    for (const auto& [name, count] : priorities)
      parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", count, name);
    held(fmt::format("{} accepted in {:.1f} ms: {}", times(to - from, "task"), milliseconds_since(begin), parts));
    if (from == 0) note("accepted means: written to the log and synced to the disk");
    for (std::size_t i = from; i < to; ++i) {
      if (tasks_[i].kind == DemoTask::Kind::cancelled) ask("task_cancel", {{"id", tasks_[i].id}, {"reason", "demo"}});
    }
  }

  struct Worker {
    std::string agent;
    std::string task;
    pid_t pid = 0;
  };
  // A thinker in the middle of a task.
  Worker busy_thinker() {
    Worker worker;
    const auto found = [&] {
      const auto processes = marked_processes(mark_);
      const json::value agents = ask("agent_list");
      for (const json::value& each : list_of(agents, "agents")) {
        worker = {text_of(each, "id"), text_of(each, "executing_task"), 0};
        if (text_of(each, "swarm") != "thinkers" || worker.task.empty()) continue;
        const auto at = std::ranges::find(processes, worker.agent, &MarkedProcess::agent);
        if (at == processes.end()) continue;
        worker.pid = at->pid;
        const json::value now = task(worker.task);
        // Far enough for the others to have something to take over.
        const bool is_under_way = !programs_.has_python || count_of(part_of(now, "progress"), "step") >= 5;
        if (text_of(now, "state") == "executing" && is_under_way) return true;
      }
      return false;
    };
    if (!patience_.wait("an agent got to work", k_busy_limit, k_demo_look, found)) broken("no agent got to work");
    return worker;
  }

  void kill_an_agent() {
    heading(3, "kill -9 for an agent at work");
    const Worker worker = busy_thinker();
    note(fmt::format("{} (OS process {}) works on task {}", worker.agent, worker.pid, worker.task));
    const auto begin = Patience::Clock::now();
    if (!signal_marked(worker.pid, mark_, SIGKILL)) broken("the agent's OS process was gone before it could be killed");
    json::value now;
    const bool moved = patience_.wait("the task moved to another agent", k_busy_limit, 100us, [&] {
      now = task(worker.task);
      const std::string agent = text_of(now, "agent");
      const std::string state = text_of(now, "state");
      return agent != worker.agent && (state == "assigned" || state == "executing" || state == "completed");
    });
    if (!moved) broken("the task of the killed agent was not taken over");
    const std::string heir = text_of(now, "agent");
    held(fmt::format("SIGKILL; {:.1f} ms later {} has the task", milliseconds_since(begin), heir));
    const json::value done = wait_for(worker.task);
    held(fmt::format("{} completed it, {:.0f} ms after the kill", text_of(done, "agent"), milliseconds_since(begin)));
    const std::uint64_t begun_at = count_of(part_of(done, "result"), "begun_at");
    if (begun_at > 0)
      note(fmt::format("it resumed from step {} of {}, where the killed agent had stopped", begun_at, k_think_steps));
  }

  json::value wait_for(const std::string& id) {
    while (true) {
      const json::value answer = ask("task_wait", {{"id", id}, {"timeout_ms", 1'000}});
      if (flag_of(answer, "finished")) return part_of(answer, "task");
    }
  }

  std::map<std::string, std::uint64_t> states() {
    std::map<std::string, std::uint64_t> count;
    std::string cursor;
    do {
      json::object request{{"limit", 1'000}};
      if (!cursor.empty()) request["cursor"] = cursor;
      const json::value page = ask("task_list", request);
      for (const json::value& each : list_of(page, "tasks")) ++count[text_of(each, "state")];
      cursor = text_of(page, "cursor");
    } while (!cursor.empty());
    return count;
  }

  void kill_the_node() {
    heading(4, "kill -9 for the whole node");
    submit(tasks_.size() / 2, tasks_.size());
    const Worker worker = busy_thinker();
    const auto before = states();
    const auto processes = marked_processes(mark_).size();
    client_.reset();
    const auto begin = Patience::Clock::now();
    node_.kill_9();
    std::uint64_t done = 0;
    std::uint64_t at_agents = 0;
    std::uint64_t waiting = 0;
    for (const auto& [name, count] : before) {
      const bool has_ended = name == "completed" || name == "failed" || name == "cancelled";
      (has_ended ? done : name == "assigned" || name == "executing" ? at_agents : waiting) += count;
    }
    held(fmt::format("SIGKILL: {} had finished, {} were at agents, {} were queued", times(done, "task"), at_agents,
                     waiting));
    const bool gone = patience_.wait("the killed node's OS processes ended", k_gone_limit, k_demo_look,
                                     [&] { return marked_processes(mark_).empty(); });
    if (!gone) broken(fmt::format("{} OS processes outlived their node", marked_processes(mark_).size()));
    held(fmt::format("all {} OS processes, agents included, are gone after {:.0f} ms", processes,
                     milliseconds_since(begin)));
    was_open_ = at_agents + waiting;
    if (was_open_ == 0) broken("nothing was open when the node was killed, so nothing was proved");
  }

  void start_again() {
    heading(5, "The node again");
    const auto took = node_.start();
    if (!took) broken(took.error());
    const std::uint64_t open = count_of(ask("status"), "open_tasks");
    held(fmt::format("it serves after {:.0f} ms; {} open in its log", *took, times(open, "task")));
    if (open == 0) broken(fmt::format("{} were open before, none is now", times(was_open_, "task")));
    const auto begin = Patience::Clock::now();
    for (const DemoTask& each : tasks_) (void)wait_for(each.id);
    held(fmt::format("all of them ended within {:.0f} ms", milliseconds_since(begin)));
  }

  // What the running node says: each task once in its list, with an end and the right result.
  void check_list() {
    std::map<std::string, std::string> listed;
    std::string cursor;
    do {
      json::object request{{"limit", 1'000}};
      if (!cursor.empty()) request["cursor"] = cursor;
      const json::value page = ask("task_list", request);
      for (const json::value& each : list_of(page, "tasks")) {
        if (!listed.emplace(text_of(each, "id"), text_of(each, "state")).second) {
          broken("the node lists a task twice: " + text_of(each, "id"));
        }
      }
      cursor = text_of(page, "cursor");
    } while (!cursor.empty());
    if (listed.size() != tasks_.size()) {
      broken(fmt::format("{} tasks were accepted, the node lists {}", tasks_.size(), listed.size()));
    }
    for (const DemoTask& each : tasks_) {
      const auto at = listed.find(each.id);
      const std::string wanted = each.kind == DemoTask::Kind::fails       ? "failed"
                                 : each.kind == DemoTask::Kind::cancelled ? "cancelled"
                                                                          : "completed";
      if (at == listed.end()) broken("the node no longer knows task " + each.id);
      if (at->second != wanted) broken(fmt::format("task {} is {}, not {}", each.id, at->second, wanted));
    }
  }

  void give_account() {
    heading(6, "The account");
    check_list();
    client_.reset();
    const int code = node_.stop(k_stop_limit);
    if (code != 0) broken(fmt::format("the node was told to stop and ended with exit code {}", code));
    const auto account = read_account(folder_.path() + "/data");
    if (!account) broken(account.error());
    if (!account->is_whole) broken("the log no longer has its beginning");
    show_priorities(*account);
    const std::uint64_t completed = account->ended(ledger::State::completed);
    const std::uint64_t failed = account->ended(ledger::State::failed);
    const std::uint64_t cancelled = account->ended(ledger::State::cancelled);
    const std::string sum = fmt::format("{} submitted = {} completed + {} failed + {} cancelled", tasks_.size(),
                                        completed, failed, cancelled);
    if (tasks_.size() != completed + failed + cancelled) broken("the sum is wrong: " + sum);
    held(sum);
    if (account->tasks.size() != tasks_.size() || account->not_once() != 0) {
      broken(fmt::format("{} of {} tasks in the log did not end exactly once", account->not_once(),
                         account->tasks.size()));
    }
    held(fmt::format(
        "each ended exactly once, by the {} entries of the log; {} to an agent twice or more", account->entries,
        account->delivered_again() == 1 ? "1 task went" : fmt::format("{} tasks went", account->delivered_again())));
    check_results(*account);
  }

  void show_priorities(const LogAccount& account) const {
    Table table({"", "   priority", "tasks", "completed", "failed", "cancelled", "handed out"});
    for (const char* priority : {"critical", "high", "normal", "low"}) {
      std::map<ledger::State, std::uint64_t> ended;
      std::uint64_t all = 0;
      std::uint64_t deliveries = 0;
      for (const DemoTask& each : tasks_) {
        const auto at = account.tasks.find(each.id);
        if (each.priority != priority || at == account.tasks.end()) continue;
        ++all;
        ++ended[at->second.state];
        deliveries += at->second.deliveries;
      }
      const auto cell = [](std::uint64_t count) { return count == 0 ? std::string("·") : std::to_string(count); };
      table.row({"", fmt::format("   {}", priority), cell(all), cell(ended[ledger::State::completed]),
                 cell(ended[ledger::State::failed]), cell(ended[ledger::State::cancelled]),
                 fmt::format("{} times", deliveries)});
    }
    story_.aside(table.text());
  }

  void check_results(const LogAccount& account) const {
    std::uint64_t right = 0;
    for (const DemoTask& each : tasks_) {
      const auto at = account.tasks.find(each.id);
      if (at == account.tasks.end()) broken("the log does not know task " + each.id);
      if (at->second.state != ledger::State::completed) continue;
      std::string result = at->second.result;
      std::erase(result, ' ');
      if (result.find(each.expected) == std::string::npos) {
        broken(
            fmt::format("task {} ({}) has the result {}, not {}", each.id, name_of(each.kind), result, each.expected));
      }
      ++right;
    }
    held(fmt::format("{} completed with the right result", right));
  }

  void leave_nothing() {
    const bool gone = patience_.wait("the last OS processes ended", k_gone_limit, k_demo_look,
                                     [&] { return marked_processes(mark_).empty(); });
    if (!gone) broken(fmt::format("{} OS processes are left", marked_processes(mark_).size()));
    if (!folder_.remove()) broken(folder_.path() + " could not be removed");
    held("no OS process and no folder is left");
  }

  DemoOptions options_;
  Story story_;
  const Patience& patience_;
  TemporaryFolder folder_;
  std::string mark_;
  DemoPrograms programs_;
  ChildNode node_;
  std::vector<DemoTask> tasks_;
  std::unique_ptr<Client> client_;
  std::uint64_t was_open_ = 0;
};

int demo(const DemoOptions& options) {
  if (options.agents < 1 || options.agents > k_agents_max || options.tasks < 2 || options.tasks > k_tasks_max) {
    return complain(k_exit_usage,
                    fmt::format("--agents goes from 1 to {}, --tasks from 2 to {}", k_agents_max, k_tasks_max));
  }
  const Patience patience{std::chrono::milliseconds(options.timeout_ms)};
  std::string log;
  try {
    Demo demo(options, patience);
    try {
      demo.run();
    } catch (const GaveUp&) {
      log = demo.log_tail();
      throw;
    }
  } catch (const GaveUp& failure) {
    std::fflush(stdout);
    fmt::print(stderr, "\n   {} {}\n", "✗", failure.what());
    if (!log.empty()) fmt::print(stderr, "     the node's log ends with:\n{}", log);
    return failure.code;
  }
  return k_exit_ok;
}

}  // namespace

void add_demo(CLI::App& app) {
  const auto options = std::make_shared<DemoOptions>();
  Verb verb = Verb(app).verb("demo", "Run a swarm, kill an agent and the node, and show that no task is lost");
  verb.option("--agents", options->agents, "Agents of each kind: function, command and stdio");
  verb.option("--tasks", options->tasks, "Tasks to submit");
  verb.time("--timeout", options->timeout_ms, "Time limit of the demo");
  verb.option("--log-level", options->log_level, "Log level of the node: debug, info, warning or error");
  verb.flag("--json", options->json, "Print JSON, one object per line");
  verb.run([options] {
    if (!node::log_level_named(options->log_level)) {
      return complain(k_exit_usage, "--log-level is debug, info, warning or error");
    }
    return demo(*options);
  });
}

}  // namespace skein::cli
