// A node as an OS process of its own: this very program again, as `skein up`, for verbs that show or test what happens
// when a node dies. One thread.
//
// It ends with its owner: gracefully by stop(), at once by kill_9() and the destructor, and by the system when this
// program dies without a word. Its log goes to a file.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <expected>
#include <string>
#include <vector>

#include "cli/patience.hpp"
#include "skein/control/client.hpp"

namespace skein::cli {

struct ChildNodeSetup {
  std::string config;        // file; empty: as `skein up` finds it
  std::string data;          // folder
  std::string log;           // file
  std::string mark;          // "NAME=value" for its environment, see os_marks.hpp; empty: none
  bool outlives = false;     // this program, unless it is stopped
  bool is_served = false;    // on the network too, as its config says
  bool is_attended = false;  // ends with its last MCP client, whether or not that started it
  bool is_for_mcp = false;   // no operator runs it, see node/last_run.hpp
};

class ChildNode {
 public:
  ChildNode(ChildNodeSetup setup, const Patience& patience) : setup_(std::move(setup)), patience_(patience) {}
  ~ChildNode() {
    if (!setup_.outlives) kill_9();
  }
  ChildNode(const ChildNode&) = delete;
  ChildNode& operator=(const ChildNode&) = delete;

  // From exec until it serves, in milliseconds. The error is complete.
  [[nodiscard]] std::expected<double, std::string> start();
  // SIGKILL; returns when it is gone.
  void kill_9();
  // SIGTERM, and SIGKILL after `limit`. Its exit code, or -1 when it did not end by itself.
  int stop(std::chrono::milliseconds limit);
  // Waits for it to end by itself: its exit code, or -1 after `limit`.
  int wait_for_end(std::chrono::milliseconds limit);

  // Also notices that it has ended.
  [[nodiscard]] bool is_running();
  [[nodiscard]] pid_t pid() const { return pid_; }
  // As it ended last: its exit code, or -1 by a signal.
  [[nodiscard]] int exit_code() const { return exit_code_; }
  [[nodiscard]] control::ClientResult<control::Client> connect() const { return control::Client::connect(setup_.data); }
  // The last lines of its log.
  [[nodiscard]] std::string log_tail(std::size_t lines) const;

 private:
  [[nodiscard]] std::expected<void, std::string> spawn();

  ChildNodeSetup setup_;
  const Patience& patience_;
  pid_t pid_ = 0;  // 0: not running
  int exit_code_ = 0;
};

}  // namespace skein::cli
