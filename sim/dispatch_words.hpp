// The dispatcher's decisions as lines of text: operations, orders and events, with the names a script gave to its tasks
// and agents instead of ids, numbers and processes. Times are spans from the moment at hand, so the text is the same on
// every machine. Pure functions of their arguments; any thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "skein/dispatch/dispatcher_core.hpp"
#include "skein/ledger/change.hpp"
#include "skein/ledger/command.hpp"

namespace skein::sim {

// What the lines need to know of the world.
struct DispatchNames {
  std::function<std::string(ledger::TaskId)> task;
  std::function<std::string(ledger::TaskNumber)> task_numbered;
  ledger::WallMs wall = 0;
};

// "assign t1 -> ada", "fail t1 (fence 1, transient, again in 100ms): no paper".
[[nodiscard]] std::string words_of(const ledger::Op& op, const DispatchNames& names);
// A line per decision, without the agent: "run t1 (fence 1, attempt 1, timeout 5s)", "stop t1 (timed_out)".
[[nodiscard]] std::vector<std::string> words_of(const dispatch::Orders& orders, const DispatchNames& names);
// "breaker_opened default/words t1 until in 1min: agents crash over ...".
[[nodiscard]] std::string words_of(const dispatch::DispatchEvent& event, const DispatchNames& names);
// What became of a task: "t1 is completed", "t1 is queued again (requeued)"; empty for what an append has shown
// already.
[[nodiscard]] std::string words_of(const ledger::Change& change, const DispatchNames& names);

// "low" and so on.
[[nodiscard]] std::string_view priority_word(std::uint16_t priority);

}  // namespace skein::sim
