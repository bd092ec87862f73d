// For tests: a listener with its connections on a socket of its own, a node behind it, and a client that sends raw
// bytes.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "skein/control/listener.hpp"
#include "skein/control/unix_socket.hpp"
#include "skein/net/test_client.hpp"
#include "skein/operations/json_forms.hpp"
#include "skein/operations/test_hooks.hpp"
#include "skein/runtime/testing.hpp"
#include "skein/supervision/stop_tree.hpp"
#include "skein/supervision/supervisor_api.hpp"
#include "skein/supervision/trees.hpp"

namespace skein::inline v0::control {

using operations::TestHooks;

// Speaks the protocol of the socket, line by line.
class RawClient : public net::TestClient {
 public:
  explicit RawClient(const std::string& path) : TestClient(connected(path)) {}
  // The next line, parsed; null when there is none in `time`, or the other side has closed.
  boost::json::value line(std::chrono::milliseconds time = k_patience) {
    const auto until = Clock::now() + time;
    while (true) {
      if (const std::size_t end = in_.find('\n'); end != std::string::npos) {
        return operations::own_json(std::string_view(taken(end + 1)).substr(0, end));
      }
      if (!fill(until)) return nullptr;
    }
  }
  boost::json::value hello() {
    send("{\"id\":1,\"op\":\"hello\",\"params\":{\"version\":2}}\n");
    return line();
  }

 private:
  static Fd connected(const std::string& path) {
    auto fd = connect_to(path);
    EXPECT_TRUE(fd) << (fd ? "" : fd.error().message);
    return fd ? std::move(*fd) : Fd();
  }
};

class SocketTest : public testing::Test {
 protected:
  ~SocketTest() override {
    hooks_->drop_held();
    if (listener_) runtime_->exit(listener_, ExitReason::kill());
    if (pool_) stop_tree(*runtime_, pool_, std::chrono::seconds(10));
    runtime_.reset();
    std::filesystem::remove_all(top_);
  }
  void listen(const SocketLimits& limits = {}) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    shared_->runtime = runtime_.get();
    shared_->poller = std::make_shared<FdPoller>(*runtime_);
    shared_->hooks = hooks_;
    shared_->limits = limits;
    shared_->open = std::make_shared<std::atomic<std::uint32_t>>(0);
    const auto started = start_supervisor(
        *runtime_, trees::pool("connections", {100, std::chrono::seconds(10)}, connection_template(shared_)),
        k_connections_name);
    ASSERT_TRUE(started);
    pool_ = started->pid;
    start_listener();
  }
  void start_listener() {
    const auto started = runtime_->start<net::Listener>(SpawnOptions{}, listener_setup(path(), shared_));
    ASSERT_TRUE(started) << started.error().reason.text();
    listener_ = started->pid;
  }
  [[nodiscard]] std::string path() const { return (folder_ / k_socket_file).string(); }
  RawClient greeted() {
    RawClient client(path());
    EXPECT_TRUE(client.hello().is_object());
    return client;
  }
  [[nodiscard]] std::vector<Pid> connections() const {
    std::vector<Pid> all;
    for (const ProcessInfo& each : runtime_->processes()) {
      if (each.type.find("control::Connection") != std::string::npos) all.push_back(each.pid);
    }
    return all;
  }
  std::unique_ptr<Runtime> runtime_ = std::make_unique<Runtime>();
  std::shared_ptr<TestHooks> hooks_ = std::make_shared<TestHooks>();
  std::shared_ptr<ConnectionSetup> shared_ = std::make_shared<ConnectionSetup>();
  std::filesystem::path top_ =
      std::filesystem::temp_directory_path() /
      (std::string("skein-socket-") + testing::UnitTest::GetInstance()->current_test_info()->name() + "-" +
       std::to_string(::getpid()));
  std::filesystem::path folder_ = top_;  // of the socket
  Pid pool_;
  Pid listener_;
};

}  // namespace skein::inline v0::control
