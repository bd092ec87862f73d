// For tests: a listener with its connections on a socket of its own, a node behind it, and a client that sends raw
// bytes.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "skein/control/listener.hpp"
#include "skein/control/unix_socket.hpp"
#include "skein/operations/json_forms.hpp"
#include "skein/operations/test_hooks.hpp"
#include "skein/runtime/testing.hpp"
#include "skein/supervision/stop_tree.hpp"
#include "skein/supervision/supervisor_api.hpp"
#include "skein/supervision/trees.hpp"

namespace skein::inline v0::control {

using operations::TestHooks;

// The other end of a socket, byte by byte. Every wait is bounded.
class RawClient {
 public:
  static constexpr std::chrono::seconds k_patience{10};

  explicit RawClient(const std::string& path) {
    auto fd = connect_to(path);
    EXPECT_TRUE(fd) << (fd ? "" : fd.error().message);
    if (fd) fd_ = std::move(*fd);
  }
  bool send(std::string_view text) const {
    while (!text.empty()) {
      const auto sent = ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  // Sends what fits and answers how much that was.
  std::size_t send_what_fits(std::string_view text) const {
    const auto sent = ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent > 0 ? static_cast<std::size_t>(sent) : 0;
  }
  void half_close() const { ::shutdown(fd_.get(), SHUT_WR); }
  void close() { fd_.reset(); }
  // The next line, parsed; null when there is none in `time`, or the other side has closed.
  boost::json::value line(std::chrono::milliseconds time = k_patience) {
    const auto until = std::chrono::steady_clock::now() + time;
    while (true) {
      if (const std::size_t end = in_.find('\n'); end != std::string::npos) {
        const std::string text = in_.substr(0, end);
        in_.erase(0, end + 1);
        return operations::own_json(text);
      }
      if (!fill(until)) return nullptr;
    }
  }
  // True when the other side has closed, once everything it said is read.
  bool is_closed(std::chrono::milliseconds time = k_patience) {
    const auto until = std::chrono::steady_clock::now() + time;
    while (fill(until)) in_.clear();
    return is_closed_;
  }
  boost::json::value hello() {
    send("{\"id\":1,\"op\":\"hello\",\"params\":{\"version\":2}}\n");
    return line();
  }

 private:
  bool fill(std::chrono::steady_clock::time_point until) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
    pollfd poll{fd_.get(), POLLIN, 0};
    if (left <= 0 || ::poll(&poll, 1, static_cast<int>(left)) <= 0) return false;
    char buffer[1 << 16];
    const auto got = ::recv(fd_.get(), buffer, sizeof(buffer), 0);
    is_closed_ = got <= 0;
    if (got > 0) in_.append(buffer, static_cast<std::size_t>(got));
    return got > 0;
  }

  Fd fd_;
  std::string in_;
  bool is_closed_ = false;
};

class SocketTest : public testing::Test {
 protected:
  ~SocketTest() override {
    hooks_->drop_held();
    if (listener_) runtime_->exit(listener_, ExitReason::kill());
    if (pool_) stop_tree(*runtime_, pool_, std::chrono::seconds(10));
    runtime_.reset();
    std::filesystem::remove_all(folder_);
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
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() /
      (std::string("skein-socket-") + testing::UnitTest::GetInstance()->current_test_info()->name() + "-" +
       std::to_string(::getpid()));
  Pid pool_;
  Pid listener_;
};

}  // namespace skein::inline v0::control
