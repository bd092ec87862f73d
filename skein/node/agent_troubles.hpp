// Agents of [[agents]] that fail before they have joined the dispatcher: a program that never says hello, for one. Such
// an agent is registered while its program starts and gone while its supervisor waits, so the registry alone calls it
// able in one moment and absent in the next. Any thread.
//
// 1. An agent that joined and ends later is restarted, and is not in trouble: it may join again.
// 2. Trouble ends when the agent joins, or when somebody stops it.
// 3. As many are kept as the config names agents at most.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "skein/supervision/events.hpp"

namespace skein::inline v0::node {

class AgentTroubles {
 public:
  // Of any supervisor; only children of `supervisor` count.
  void on_event(const SupervisionEvent& event, std::string_view supervisor);
  void joined(const std::string& agent);

  // Why it ended before it joined; nothing: it is in no trouble that is known.
  [[nodiscard]] std::optional<std::string> why(const std::string& agent) const;
  // False: there is none at all. Cheap, for every submit.
  [[nodiscard]] bool is_any() const { return is_any_.load(std::memory_order_relaxed); }

 private:
  mutable std::mutex mutex_;
  std::set<std::string> joined_;
  std::map<std::string, std::string> why_;
  std::atomic<bool> is_any_{false};
};

}  // namespace skein::inline v0::node
