// Waiting for tasks from the command line: over restarts of the node, bounded by --timeout, and with the id in every
// way out. One thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "cli/session.hpp"

namespace skein::cli {

// When a wait first looks why the task has not begun.
inline constexpr std::chrono::milliseconds k_first_look{2'000};
// Of a node that has gone for a moment: pauses between attempts to find it again.
inline constexpr std::chrono::milliseconds k_reconnect_first{100};
inline constexpr std::chrono::milliseconds k_reconnect_most{1'000};

class TaskWait {
 public:
  // `client` is replaced when the node has been restarted.
  TaskWait(const Session& session, control::Client& client)
      : session_(session), client_(client), until_(std::chrono::steady_clock::now() + session.timeout()) {}

  // From now on a task that waits until somebody does something is warned of, unless the words are those that were
  // said already.
  void warn_of_waits(std::string said) { said_ = std::move(said); }

  // The task once it has ended; a timeout says that it goes on, and why it waits if it does. While it waits, an
  // interrupt says that the task goes on.
  [[nodiscard]] control::ClientResult<json::value> wait_for(const std::string& id, bool shows_progress);

 private:
  [[nodiscard]] control::ClientResult<json::value> wait_once(const std::string& id, bool shows_progress,
                                                             std::chrono::milliseconds most);
  // Until the node is back, or the time is up: then the error with which it went.
  [[nodiscard]] control::ClientResult<void> find_again(control::ClientError why);
  [[nodiscard]] std::chrono::milliseconds left() const;

  const Session& session_;
  control::Client& client_;
  std::chrono::steady_clock::time_point until_;
  std::optional<std::string> said_;
  std::string last_mark_;
};

}  // namespace skein::cli
