// A real node in a folder and a runtime of its own, for *_test.cpp files. One thread.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skein/control/client.hpp"
#include "skein/node/node_host.hpp"
#include "skein/runtime/testing.hpp"
#include "skein/supervision/stop_tree.hpp"
#include "skein/supervision/tree_view.hpp"

namespace skein::inline v0::node {

// The node and its runtime go in the right order.
class NodeTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              (std::string("skein-node-") + testing::UnitTest::GetInstance()->current_test_info()->name() + "-" +
               std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override {
    stop();
    std::filesystem::remove_all(folder_);
  }

  void start(const std::string& text = "[swarms.default]\nmin = 2\nmax = 4\n") {
    std::vector<std::string> settings;
    if (text.find("[http]") == std::string::npos) settings.emplace_back("http.enabled=false");  // no port is shared
    auto config = parse_config(text, (folder_ / "skein.toml").string(), settings);
    ASSERT_TRUE(config) << config.error().describe();
    config->node.data = folder_.string();
    runtime_ = std::make_unique<Runtime>();
    NodeSetup setup;
    setup.config = std::move(*config);
    setup.log = [](LogLevel, std::string_view) {};
    auto node = NodeHost::prepare(*runtime_, std::move(setup));
    ASSERT_TRUE(node) << node.error().what();
    node_ = *node;
    const auto started = node_->start();
    ASSERT_TRUE(started) << started.error().what();
    root_ = *started;
  }
  void stop() {
    if (!runtime_) return;
    if (root_) stop_tree(*runtime_, root_, std::chrono::seconds(20));
    runtime_->shutdown(std::chrono::seconds(5));
    node_.reset();
    runtime_.reset();
    root_ = Pid{};
  }
  control::Client client() {
    auto made = control::Client::connect(folder_.string());
    EXPECT_TRUE(made) << made.error().message;
    return std::move(*made);
  }
  boost::json::value asked(control::Client& client, std::string_view op, const boost::json::object& params = {}) {
    auto answer = client.ask(op, params, std::chrono::seconds(20));
    EXPECT_TRUE(answer) << op << ": " << answer.error().message;
    return answer ? *answer : boost::json::value();
  }
  boost::json::value run_task(control::Client& client, const std::string& type, const std::string& params) {
    const auto submitted = asked(client, "task_submit", {{"type", type}, {"params", params}});
    return asked(client, "task_wait", {{"id", submitted.at("id")}, {"timeout_ms", 15'000}}).at("task");
  }
  TreeEntry tree() {
    auto entry = read_tree(*runtime_, root_);
    EXPECT_TRUE(entry);
    return entry ? std::move(*entry) : TreeEntry{};
  }
  TreeEntry child_of(std::string_view supervisor, std::string_view id) {
    for (const TreeEntry& above : tree().children) {
      if (above.id != supervisor) continue;
      for (const TreeEntry& each : above.children) {
        if (each.id == id) return each;
      }
    }
    return {};
  }
  std::filesystem::path folder_;
  std::unique_ptr<Runtime> runtime_;
  std::shared_ptr<NodeHost> node_;
  Pid root_;
};

}  // namespace skein::inline v0::node
