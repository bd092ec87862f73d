// Agents of [[agents]] that fail before they have joined the dispatcher, for example because their program never says
// hello. Such an agent is in the registry while its program starts, and not while its supervisor waits before the next
// start; so the registry alone cannot tell whether it will ever take a task. Any thread.
//
// 1. An agent that joined and ends later is restarted, and is not in trouble: it may join again.
// 2. Trouble ends when the agent joins, or when somebody stops it.
// 3. Only agents of [[agents]] are remembered; those that swarms start come and go without end.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "skein/supervision/events.hpp"

namespace skein::inline v0::node {

class AgentTroubles {
 public:
  // Of any supervisor; only children of `supervisor` count.
  void on_event(const SupervisionEvent& event, std::string_view supervisor);
  // One of [[agents]] is about to be started. Any other agent that joins or ends does not count.
  void starts(const std::string& agent);
  void joined(const std::string& agent);
  // The config names it no longer.
  void forget(const std::string& agent);

  // Why it ended before it joined; nothing: it is in no trouble that is known.
  [[nodiscard]] std::optional<std::string> why(const std::string& agent) const;
  // False: there is none at all. Cheap, for every submit.
  [[nodiscard]] bool is_any() const { return is_any_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t remembered() const;

 private:
  struct Remembered {
    bool has_joined = false;
    std::optional<std::string> why;  // it ended before it joined
  };
  void change(Remembered& agent, Remembered to);

  mutable std::mutex mutex_;
  std::map<std::string, Remembered> agents_;
  std::size_t failing_ = 0;  // of agents_
  std::atomic<bool> is_any_{false};
};

}  // namespace skein::inline v0::node
