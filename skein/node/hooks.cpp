#include "skein/node/hooks.hpp"

#include <fmt/format.h>
#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <unordered_map>
#include <utility>

#include "skein/base/spare_descriptors.hpp"
#include "skein/base/version.hpp"
#include "skein/node/agent_changes.hpp"
#include "skein/node/agent_hooks.hpp"
#include "skein/node/asker.hpp"
#include "skein/node/config_service.hpp"
#include "skein/node/data_copy.hpp"
#include "skein/runtime/pause.hpp"

namespace skein::inline v0::node {
namespace {

using operations::Code;
using operations::Error;
using operations::Result;
using Nothing = operations::Operations::Nothing;

constexpr Duration k_reload_wait = std::chrono::seconds(30);

struct Target {
  std::string path;
  Pid pid;
  std::string path_by_pid{};  // used for names with a / in them: * then still matches one child
};

// What children of pools are called: agents by id, others by their registered names.
using NamesByPid = std::unordered_map<Pid, std::string>;

NamesByPid names_by_pid(const NodeContext& context) {
  NamesByPid names;
  for (const ProcessInfo& each : context.runtime.processes()) {
    if (!each.name.empty()) names[each.pid] = each.name;
  }
  for (const std::string& id : context.registry->query_agents({}).value_or(std::vector<std::string>{})) {
    if (const auto pid = context.registry->find_agent(id)) names[*pid] = id;
  }
  return names;
}

// Every process of the tree with its path from the root, as `skein tree` shows it; a nameless one goes by its Pid.
void collect(const TreeEntry& entry, const std::string& path, const NamesByPid& names, std::vector<Target>& all) {
  for (const TreeEntry& each : entry.children) {
    const std::string above = path.empty() ? "" : path + "/";
    const auto named = names.find(each.pid);
    const std::string below = above + (!each.id.empty()       ? each.id
                                       : named != names.end() ? named->second
                                                              : each.pid.text());
    if (each.pid) all.push_back({below, each.pid, above + (each.id.empty() ? each.pid.text() : each.id)});
    collect(each, below, names, all);
  }
}

// By its path, from the root or below it, by the last part of that, or by its Pid.
bool is_meant(const Target& target, const std::string& pattern) {
  const std::string whole = "node_sup/" + target.path;
  const auto fits = [&](const std::string& path) {
    return ::fnmatch(pattern.c_str(), path.c_str(), FNM_PATHNAME) == 0;
  };
  if (fits(target.path) || fits(whole) || fits(target.path_by_pid)) return true;
  return whole.ends_with("/" + pattern) || target.pid.text() == pattern;
}

Error no_process(const std::string& target) {
  return {Code::process_not_found, fmt::format("there is no process '{}'", target),
          "give a name, a Pid such as <0.7.1>, or a path as 'skein tree' shows it", std::chrono::milliseconds(0)};
}

std::uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t total = 0;
  std::uint64_t resident = 0;
  statm >> total >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t cpu_ms() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<std::uint64_t>(used.tv_sec) * 1'000 + static_cast<std::uint64_t>(used.tv_nsec) / 1'000'000;
}

Async<void> trace_one(Self self, ContextPtr context, Pid pid, operations::TraceRequest request,
                      operations::Reply<std::vector<TracedMessage>> reply) {
  if (!context->runtime.trace(pid, request.messages)) {
    reply.fail(operations::overloaded("too many processes are traced, or this one ended"));
    co_return;
  }
  auto pause = self.sleep(request.within);
  co_await pause;
  reply(context->runtime.end_trace(pid));
}

Async<void> describe_one(Self self, ContextPtr context, Pid pid, operations::Reply<std::string> reply) {
  auto asking = self.blocking([context, pid] { return context->runtime.describe(pid); });
  const std::expected<std::string, CallError> answer = co_await asking;
  if (answer) {
    reply(*answer);
  } else {
    reply.fail({Code::internal, "it did not answer: " + answer.error().text(), "try again", {}});
  }
}

Async<void> dump_all(Self self, ContextPtr context, operations::Reply<std::string> reply) {
  const std::string path = fmt::format(
      "{}/dump-{}.txt", context->config()->node.data,
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count());
  auto dumping = self.blocking([context, path] { return context->runtime.dump(path); });
  const bool is_written = co_await dumping;
  if (is_written) {
    reply(path);
  } else {
    reply.fail({Code::internal, path + " could not be written", "is the disk full?", {}});
  }
}

Async<void> reload_config(Self self, ContextPtr context, operations::Reply<operations::ReloadAnswer> reply) {
  auto asking = self.call<ConfigService>(self.whereis(k_config_name), ReloadConfig{}, k_reload_wait);
  auto answer = co_await asking;
  if (!answer) {
    reply.fail({Code::stopped, "the config could not be reloaded: " + answer.error().text(), "try again",
                std::chrono::milliseconds(1000)});
    co_return;
  }
  if (!*answer) {
    context->log.error("reload: " + (*answer).error().message);
  } else {
    for (const std::string& each : (**answer).changed) context->log.info("reload: " + each);
    for (const std::string& each : (**answer).needs_restart) {
      context->log.warning("reload: " + each + " differs and is taken over at the next start");
    }
  }
  reply(std::move(*answer));
}

// May block.
Result<operations::BackupAnswer> copy_data(const NodeContext& context, const std::string& dest) {
  const auto copy = back_up_data(context.config()->node.data, dest);
  if (!copy) return std::unexpected(Error{Code::internal, copy.error(), "", {}});
  operations::BackupAnswer made{copy->dest, copy->last, std::nullopt, copy->describe()};
  if (copy->has_archive) made.archived = copy->archived;
  return made;
}

Async<void> back_up(Self self, ContextPtr context, std::string dest,
                    operations::Reply<operations::BackupAnswer> reply) {
  auto copying = self.blocking([context, dest] { return copy_data(*context, dest); });
  Result<operations::BackupAnswer> made = co_await copying;
  reply(std::move(made));
}

class Hooks final : public operations::NodeHooks {
 public:
  explicit Hooks(ContextPtr context) : context_(std::move(context)) {}

  std::shared_ptr<operations::Operations> operations() override {
    auto work = context_->work.get();
    if (!work) return nullptr;
    auto& operations = work->operations();
    return {std::move(work), &operations};
  }
  void watch_operations(Pid watcher) override {
    const std::scoped_lock lock(context_->watchers_mutex);
    std::erase_if(context_->watchers, [&](Pid each) { return !context_->runtime.is_alive(each) || each == watcher; });
    context_->watchers.push_back(watcher);
  }
  [[nodiscard]] bool is_draining() const override { return context_->state.load() >= NodeState::draining; }

  operations::NodeInfo info() override {
    const auto config = context_->config();
    operations::NodeInfo info;
    info.name = config->node.name;
    info.version = skein::version();
    info.data = config->node.data;
    // As an absolute path: the client may run in another folder.
    info.config = config->file.empty() ? "" : std::filesystem::absolute(config->file).lexically_normal().string();
    info.log = context_->log.place();
    info.state = name_of(context_->state);
    info.os_pid = ::getpid();
    const Duration lost = time_lost(context_->runtime);
    const Duration up = between(context_->started_at, context_->runtime.now()) + lost;
    info.uptime_ms = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(up).count());
    info.processes = context_->runtime.process_count();
    info.memory_bytes = resident_bytes();
    info.cpu_ms = cpu_ms();
    info.disk_low_water_bytes = config->journal.disk_low_water_bytes;
    info.supervision = context_->supervision.figures();
    info.launcher_problem = context_->executors->launcher_problem();
    info.time_lost_ms = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(lost).count());
    info.mcp_clients = context_->attendance->present();
    const DescriptorBudget::Use use = context_->descriptors->use();
    info.descriptors = {
        use.total, use.used, use.strangers, use.strangers_max, use.sent_away, use.refused, spare_descriptors().held()};
    info.exposed = context_->executors->exposed();
    return info;
  }
  Result<TreeEntry> tree() override {
    auto tree = read_tree(context_->runtime, context_->root);
    if (!tree)
      return std::unexpected(
          Error{Code::stopped, "the supervision tree is not available", "is the node shutting down?", {}});
    return std::move(*tree);
  }
  std::vector<ProcessInfo> processes() override { return context_->runtime.processes(); }

  void describe(std::string target, operations::Reply<std::string> reply) override {
    const Pid pid = find(target);
    if (!pid) return reply.fail(no_process(target));
    ask_in_process(context_->runtime, &describe_one, context_, pid, std::move(reply));
  }
  void trace(operations::TraceRequest request, operations::Reply<std::vector<TracedMessage>> reply) override {
    const Pid pid = find(request.target);
    if (!pid) return reply.fail(no_process(request.target));
    ask_in_process(context_->runtime, &trace_one, context_, pid, std::move(request), std::move(reply));
  }
  void dump(operations::Reply<std::string> reply) override {
    ask_in_process(context_->runtime, &dump_all, context_, std::move(reply));
  }
  std::string log_level() override { return std::string(name_of(context_->log.level())); }
  Result<Nothing> set_log_level(const std::string& level) override {
    const auto named = log_level_named(level);
    if (!named) return std::unexpected(operations::invalid("the level must be debug, info, warning or error"));
    context_->log.set_level(*named);
    return Nothing{};
  }

  void agents(std::vector<std::string> capabilities,
              operations::Reply<std::vector<operations::AgentDetail>> reply) override {
    ask_agents(context_, std::move(capabilities), std::move(reply));
  }
  void agent_status(std::string id, operations::Reply<operations::AgentStatusAnswer> reply) override {
    ask_agent(context_, std::move(id), std::move(reply));
  }
  void agent_set_paused(std::string id, bool is_paused, operations::Reply<Nothing> reply) override {
    pause_agent(context_, std::move(id), is_paused, std::move(reply));
  }
  void agent_stop(std::string id, operations::Reply<Nothing> reply) override {
    stop_agent(context_, std::move(id), std::move(reply));
  }
  void agent_start(std::string id, operations::Reply<Nothing> reply) override {
    start_agent_again(context_, std::move(id), std::move(reply));
  }
  void agent_update(operations::UpdateAgentRequest request, operations::Reply<Nothing> reply) override {
    update_agent(context_, std::move(request), std::move(reply));
  }
  void agent_cancel(std::string id, operations::Reply<operations::CancelAgentAnswer> reply) override {
    cancel_agent(context_, std::move(id), std::move(reply));
  }
  void tree_restart(std::string path, operations::Reply<std::string> reply) override {
    restart_in_tree(context_, std::move(path), std::move(reply));
  }
  void agent_spawn(operations::SpawnAgentRequest request, operations::Reply<std::string> reply) override {
    spawn_agent(context_, std::move(request), std::move(reply));
  }

  Result<operations::KillAnswer> chaos_kill(const operations::KillRequest& request) override;
  void reload(operations::Reply<operations::ReloadAnswer> reply) override {
    ask_in_process(context_->runtime, &reload_config, context_, std::move(reply));
  }
  void backup(std::string dest, operations::Reply<operations::BackupAnswer> reply) override {
    ask_in_process(context_->runtime, &back_up, context_, std::move(dest), std::move(reply));
  }
  void stop() override { context_->on_stop_asked(); }

 private:
  [[nodiscard]] std::vector<Target> targets(const std::string& pattern);
  [[nodiscard]] Pid find(const std::string& target) {
    const auto found = targets(target);
    return found.empty() ? Pid{} : found.front().pid;
  }

  ContextPtr context_;
};

std::vector<Target> Hooks::targets(const std::string& pattern) {
  std::vector<Target> found;
  if (const Pid named = context_->runtime.whereis(pattern)) return {{pattern, named}};
  if (const auto agent = context_->registry->find_agent(pattern)) return {{pattern, *agent}};
  if (pattern == "node_sup") return {{pattern, context_->root}};
  std::vector<Target> all;
  if (const auto tree = read_tree(context_->runtime, context_->root)) {
    collect(*tree, "", names_by_pid(*context_), all);
  }
  for (Target& each : all) {
    if (is_meant(each, pattern)) found.push_back(std::move(each));
  }
  return found;
}

Result<operations::KillAnswer> Hooks::chaos_kill(const operations::KillRequest& request) {
  if (request.signal != "kill" && request.signal != "crash") {
    return std::unexpected(operations::invalid("signal must be kill or crash"));
  }
  auto found = targets(request.target);
  if (found.empty()) return std::unexpected(no_process(request.target));
  std::mt19937_64 random(std::random_device{}());
  std::ranges::shuffle(found, random);
  operations::KillAnswer answer;
  for (const Target& each : found) {
    if (answer.killed.size() >= request.count) break;
    context_->log.warning(fmt::format("chaos: {} {} {}", request.signal, each.path, each.pid.text()));
    context_->runtime.exit(each.pid, request.signal == "kill" ? ExitReason::kill() : ExitReason::custom("chaos"));
    answer.killed.push_back(fmt::format("{} {}", each.path, each.pid.text()));
  }
  return answer;
}

}  // namespace

std::shared_ptr<operations::NodeHooks> make_hooks(const ContextPtr& context) {
  return std::make_shared<Hooks>(context);
}

}  // namespace skein::inline v0::node
