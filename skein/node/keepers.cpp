#include "skein/node/keepers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "skein/base/spare_descriptors.hpp"
#include "skein/node/config_keys.hpp"
#include "skein/supervision/supervisor_api.hpp"

namespace skein::inline v0::node {
namespace {

using operations::ReloadAnswer;

constexpr Duration k_health_every = std::chrono::seconds(1);

bool is_live(const KeyInfo& key) {
  const bool is_limit = key.section == "[limits]" && key.key != "result_bytes";
  const bool is_node = key.section == "[node]" && (key.key == "log_level" || key.key == "drain");
  return is_limit || is_node;
}

const AgentConfig* find(const Config& config, const std::string& id) {
  const auto found = std::ranges::find(config.agents, id, &AgentConfig::id);
  return found != config.agents.end() ? &*found : nullptr;
}

}  // namespace

std::vector<std::string> needs_restart(const Config& before, const Config& after) {
  std::vector<std::string> keys;
  const auto old_keys = all_keys(before);
  const auto new_keys = all_keys(after);
  for (std::size_t i = 0; i < old_keys.size() && i < new_keys.size(); ++i) {
    if (old_keys[i].value != new_keys[i].value && !is_live(old_keys[i])) {
      keys.push_back(old_keys[i].section + " " + old_keys[i].key);
    }
  }
  const auto same = [](const ExecutorConfig& a, const ExecutorConfig& b) {
    return a.kind == b.kind && a.command == b.command && a.functions == b.functions && a.directory == b.directory &&
           a.env == b.env && a.set_env == b.set_env && a.timeout == b.timeout && a.concurrency == b.concurrency &&
           a.output == b.output && a.term_after == b.term_after && a.kill_after == b.kill_after &&
           a.memory_max == b.memory_max && a.cpu_max == b.cpu_max && a.files_max == b.files_max &&
           a.file_max == b.file_max && a.processes_max == b.processes_max && a.output_bytes == b.output_bytes &&
           a.line_bytes == b.line_bytes && a.stderr_bytes == b.stderr_bytes && a.hello_timeout == b.hello_timeout &&
           a.heartbeat_timeout == b.heartbeat_timeout;
  };
  for (const auto& [name, executor] : after.executors) {
    const auto old = before.executors.find(name);
    if (old == before.executors.end() || !same(old->second, executor)) keys.push_back("[executors." + name + "]");
  }
  for (const auto& [name, executor] : before.executors) {
    if (!after.executors.contains(name)) keys.push_back("[executors." + name + "]");
  }
  const auto changed = [](const AgentConfig& a, const AgentConfig& b) {
    return a.executor != b.executor || a.role != b.role || a.capabilities != b.capabilities || a.swarm != b.swarm ||
           a.prefetch != b.prefetch;
  };
  for (const AgentConfig& each : after.agents) {
    const AgentConfig* old = find(before, each.id);
    if (old != nullptr && changed(*old, each)) keys.push_back(fmt::format("[[agents]] '{}'", each.id));
  }
  return keys;
}

// What holds after a reload: the file's, except where that needs a restart. The next reload names those again.
Config in_force(const Config& before, const Config& read) {
  Config merged = before;
  merged.limits = read.limits;
  merged.limits.result_bytes = before.limits.result_bytes;  // agents have it from the node's start
  merged.swarms = read.swarms;
  merged.node.log_level = read.node.log_level;
  merged.node.drain = read.node.drain;
  merged.agents.clear();
  for (const AgentConfig& each : read.agents) {
    const AgentConfig* old = find(before, each.id);
    merged.agents.push_back(old != nullptr ? *old : each);
  }
  return merged;
}

ConfigKeeper::ConfigKeeper(Self, ContextPtr context) : context_(std::move(context)) {}

std::string ConfigKeeper::describe() const {
  const auto config = context_->config();
  return fmt::format("{}, {} reloads", config->file.empty() ? "defaults" : config->file, reloads_);
}

Task<operations::Result<ReloadAnswer>> ConfigKeeper::handle_call(Self self, ReloadConfig) {
  const auto before = context_->config();
  auto answer = std::make_shared<ReloadAnswer>();
  if (before->file.empty() || before->file == "defaults") {
    co_return operations::Result<ReloadAnswer>(*answer);
  }
  auto error = std::make_shared<std::string>();
  auto read = std::make_shared<std::shared_ptr<const Config>>();
  auto reading = self.blocking([context = context_, before, answer, error, read] {
    auto loaded = load_config(before->file, before->settings);
    if (!loaded) {
      *error = loaded.error().describe();
      return;
    }
    loaded->node.data = before->node.data;
    answer->needs_restart = needs_restart(*before, *loaded);
    *read = std::make_shared<const Config>(std::move(*loaded));
    try {
      if (const auto work = context->work.get()) {
        answer->changed = work->declare(in_force(*before, **read));
        for (std::string& each : work->drop_overrides()) answer->changed.push_back(std::move(each));
      }
    } catch (const std::exception& failure) {
      *error = failure.what();
    }
  });
  co_await reading;
  if (!error->empty()) {
    while (!error->empty() && error->back() == '\n') error->pop_back();
    co_return std::unexpected(operations::invalid(*error, "nothing was changed; correct the file and reload"));
  }
  const auto& after = *read;
  const auto level = log_level_named(after->node.log_level);
  if (level && *level != context_->log.level()) {
    context_->log.set_level(*level);
    answer->changed.emplace_back("log_level");
  }
  if (after->node.drain != before->node.drain) answer->changed.emplace_back("drain");
  auto changing = change_agents(self, before, after, answer);
  co_await changing;
  context_->config_slot.set(std::make_shared<const Config>(in_force(*before, *after)));
  ++reloads_;
  co_return operations::Result<ReloadAnswer>(*answer);
}

Task<void> ConfigKeeper::change_agents(Self self, std::shared_ptr<const Config> before,
                                       std::shared_ptr<const Config> after, std::shared_ptr<ReloadAnswer> answer) {
  const Pid supervisor = self.whereis(k_named_agents_name);
  for (const AgentConfig& each : before->agents) {
    if (find(*after, each.id) != nullptr) continue;
    auto ending = terminate_child(self, supervisor, each.id, k_call_timeout);
    const auto ended = co_await ending;
    auto removing = delete_child(self, supervisor, each.id, k_call_timeout);
    const auto removed = co_await removing;
    if (ended && removed) answer->changed.push_back(fmt::format("agent '{}' ended", each.id));
  }
  for (const AgentConfig& each : after->agents) {
    if (find(*before, each.id) != nullptr) continue;
    auto starting = start_child(self, supervisor, named_agent(context_->executors, each), k_call_timeout);
    const auto started = co_await starting;
    answer->changed.push_back(fmt::format("agent '{}' {}", each.id, started ? "started" : "could not be started"));
  }
}

Health::Health(Self self, ContextPtr context) : context_(std::move(context)) {
  failures_ = spare_descriptors().failures();
  self.send_interval(k_health_every, self.pid(), Beat{});
}

void Health::handle_info(Self, Message message) {
  if (!message.is<Beat>()) return;
  ++beats_;
  look_at_descriptors();
}

void Health::look_at_descriptors() {
  SpareDescriptors& spares = spare_descriptors();
  const std::size_t held = spares.refill();
  const std::uint64_t failures = spares.failures();
  if (failures != std::exchange(failures_, failures)) {
    if (!std::exchange(is_wanting_, true)) {
      context_->log.error(
          "no descriptor is free, not even for the journal's files: what needs another file is refused until some are; "
          "raise the limit on open files (ulimit -n, LimitNOFILE=)");
    }
  } else if (is_wanting_ && held > 0) {
    is_wanting_ = false;
    context_->log.info("there are descriptors again");
  }
}

std::string Health::describe() const { return fmt::format("{} beats", beats_); }

}  // namespace skein::inline v0::node
