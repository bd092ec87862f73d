// For tests of the ways in: a node whose answers the test holds in its hands.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "skein/operations/node_hooks.hpp"

namespace skein::inline v0::operations {

// Answers `describe` when the test says so and keeps the rest simple. Any thread.
class TestHooks final : public NodeHooks {
 public:
  std::shared_ptr<Operations> operations() override { return ops; }
  void watch_operations(Pid watcher) override { watching = watcher; }
  [[nodiscard]] bool is_draining() const override { return false; }
  NodeInfo info() override {
    NodeInfo info;
    info.name = "tested";
    return info;
  }
  Result<TreeEntry> tree() override { return shown_tree; }
  std::vector<ProcessInfo> processes() override { return {}; }
  void describe(std::string target, Reply<std::string> reply) override {
    if (!holds) return reply(std::move(target));
    const std::scoped_lock lock(mutex_);
    held_.push_back({std::move(target), std::move(reply)});
  }
  void trace(TraceRequest, Reply<std::vector<TracedMessage>> reply) override { reply({}); }
  void dump(Reply<std::string> reply) override { reply(std::string(dump_bytes, 'x')); }
  std::string log_level() override { return "info"; }
  Result<Nothing> set_log_level(const std::string&) override { return Nothing{}; }
  void agents(std::vector<std::string>, Reply<std::vector<AgentDetail>> reply) override { reply({}); }
  void agent_status(std::string, Reply<AgentStatusAnswer>) override {}
  void agent_set_paused(std::string, bool, Reply<Nothing> reply) override { reply(Nothing{}); }
  void agent_stop(std::string, Reply<Nothing> reply) override { reply(Nothing{}); }
  void agent_start(std::string, Reply<Nothing> reply) override { reply(Nothing{}); }
  void agent_update(UpdateAgentRequest, Reply<Nothing> reply) override { reply(Nothing{}); }
  void agent_cancel(std::string, Reply<CancelAgentAnswer> reply) override { reply({}); }
  void tree_restart(std::string path, Reply<std::string> reply) override { reply(std::move(path)); }
  void agent_spawn(SpawnAgentRequest, Reply<std::string> reply) override { reply({}); }
  Result<KillAnswer> chaos_kill(const KillRequest&) override { return {}; }
  void reload(Reply<ReloadAnswer> reply) override { reply({}); }
  void backup(std::string, Reply<BackupAnswer> reply) override { reply(BackupAnswer{}); }
  void stop() override {
    if (on_stop) on_stop();
  }

  [[nodiscard]] std::size_t held() {
    const std::scoped_lock lock(mutex_);
    return held_.size();
  }
  // Answers the one that was asked first, with what it asked for.
  void answer_first() {
    std::unique_lock lock(mutex_);
    Held first = std::move(held_.front());
    held_.erase(held_.begin());
    lock.unlock();
    first.reply(std::move(first.target));
  }
  void answer_last() {
    std::unique_lock lock(mutex_);
    Held last = std::move(held_.back());
    held_.pop_back();
    lock.unlock();
    last.reply(std::move(last.target));
  }

  // Those that are held get no answer from the test; what they are told is sent while there is a runtime.
  void drop_held() {
    const std::scoped_lock lock(mutex_);
    held_.clear();
  }

  std::atomic<bool> holds{false};
  std::size_t dump_bytes = 10;
  TreeEntry shown_tree{};
  std::function<void()> on_stop;
  std::shared_ptr<Operations> ops;  // null: the engine is not there
  Pid watching;                     // told when they end

 private:
  struct Held {
    std::string target;
    Reply<std::string> reply;
    Held(std::string asked, Reply<std::string> how) : target(std::move(asked)), reply(std::move(how)) {}
    Held(Held&&) noexcept = default;
    Held& operator=(Held&& other) noexcept {
      target = std::move(other.target);
      std::destroy_at(&reply);
      std::construct_at(&reply, std::move(other.reply));
      return *this;
    }
  };
  std::mutex mutex_;
  std::vector<Held> held_;
};

}  // namespace skein::inline v0::operations
