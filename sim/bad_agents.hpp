// The fixture of tests with agents that are OS processes and behave badly, over the whole stack: afterwards the node
// must be well, with no OS process and no descriptor left. For *_test.cpp files only.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/agent_host.hpp"
#include "skein/runtime/testing.hpp"

namespace skein::sim {

using agent::OsExecutorOptions;
using ledger::State;
using tests::eventually;
using Kind = AgentHost::Kind;

// What every agent here begins with: `send` and `tasks`.
inline constexpr const char* k_prelude = R"(
import json, os, signal, subprocess, sys, time
def raw(data):
    sys.stdout.buffer.write(data); sys.stdout.buffer.flush()
def send(**message):
    raw((json.dumps(message) + "\n").encode())
def tasks():
    send(type="hello", protocol=1)
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "task":
            yield message
        elif message["type"] == "shutdown":
            return
def done(task, result="done"):
    send(type="result", task=task["task"], fence=task["fence"], result=result)
)";

inline std::size_t open_descriptors() {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

inline bool has_program(const std::string& name) {
  return std::system(("command -v " + name + " >/dev/null 2>&1").c_str()) == 0;
}

class BadAgents : public testing::Test {
 protected:
  BadAgents() {
    if (!has_program("python3")) no_python_ = true;
  }
  void SetUp() override {
    if (no_python_) GTEST_SKIP() << "skipped: python3: it is not installed";
    host_ = std::make_unique<AgentHost>();
    ASSERT_TRUE(host_->is_healthy());
    descriptors_ = open_descriptors();
  }
  void TearDown() override {
    if (!host_) return;
    EXPECT_TRUE(host_->is_healthy()) << "the node suffered";
    for (const auto& id : agents_) host_->stop_agent(id);
    EXPECT_TRUE(eventually([&] { return host_->os_processes().empty(); })) << "OS processes are left";
    EXPECT_TRUE(eventually([&] { return open_descriptors() <= descriptors_ + 2 * host_->counts().keepers; }))
        << open_descriptors() << " descriptors, " << descriptors_ << " before";
    host_.reset();
  }

  void start(const std::string& id, const std::string& program, OsExecutorOptions options = {}) {
    options.command = {"python3", "-c", k_prelude + program};
    host_->start_agent(id, Kind::stdio, "work", std::move(options));
    agents_.push_back(id);
  }
  void start_command(const std::string& id, const std::string& shell, OsExecutorOptions options = {}) {
    options.command = {"/bin/sh", "-c", shell};
    host_->start_agent(id, Kind::command, "work", std::move(options));
    agents_.push_back(id);
  }
  // One that does what it should.
  void start_good(const std::string& id) {
    start(id, "for task in tasks(): done(task, 'by " + id + "')\n");
    ASSERT_TRUE(host_->wait_connected(id));
  }
  ledger::TaskId submit(std::chrono::milliseconds timeout = {}, std::uint32_t attempts = 4) {
    operations::SubmitRequest request;
    request.type = "work";
    request.params = R"({"a":1.50})";
    request.timeout = timeout;
    request.attempts = attempts;
    return host_->submit(std::move(request));
  }
  // The bad one gets the task, and after it a good one is there to finish it.
  operations::TaskStatus bad_then_good(std::chrono::milliseconds timeout = {}) {
    EXPECT_TRUE(host_->wait_connected("bad"));
    // It is restarted at once and may get the task again before the good one is up.
    const auto id = submit(timeout, 50);
    EXPECT_TRUE(eventually([&] { return host_->status(id).task.deliveries > 0; }));
    start_good("good");
    return host_->wait(id);
  }
  void expect_done_by_good(const operations::TaskStatus& status) {
    ASSERT_EQ(status.task.state, State::completed) << (status.finished ? status.finished->message : "not finished");
    EXPECT_EQ(ledger::view_of(status.finished->result), "\"by good\"");
  }
  bool is_idle(const std::string& id) {
    const auto now = host_->state(id);
    return now && now->status == agent::AgentStatus::idle;
  }
  bool has_crashed_with(const std::string& words) {
    return eventually([&] {
      const auto all = host_->crashes();
      return std::any_of(all.begin(), all.end(),
                         [&](const auto& each) { return each.find(words) != std::string::npos; });
    });
  }

  std::unique_ptr<AgentHost> host_;
  std::vector<std::string> agents_;
  std::size_t descriptors_ = 0;
  bool no_python_ = false;
};

}  // namespace skein::sim
