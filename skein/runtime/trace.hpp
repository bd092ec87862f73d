// A bounded trace of the next messages of one process. Any thread may begin and read; the process records.
//
// At most k_traces_limit processes are traced at once, each for as many messages as were asked for and k_trace_limit at
// most. A trace stays, also when its process is dead, until it is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

#include "skein/base/time.hpp"
#include "skein/runtime/pid.hpp"

namespace skein::inline v0 {

struct TracedMessage {
  Instant at;
  Pid from;
  std::string_view type;  // of the payload
  std::string_view kind;  // info, call, cast
};

inline constexpr std::size_t k_trace_limit = 10'000;  // messages in one trace
inline constexpr std::size_t k_traces_limit = 64;     // processes traced at once

namespace detail {

class Traces {
 public:
  // False when too many processes are traced already. If this one is traced already, its trace starts over.
  bool begin(Pid pid, std::size_t messages) {
    const std::scoped_lock lock(mutex_);
    if (!traces_.contains(pid.bits()) && traces_.size() >= k_traces_limit) return false;
    traces_[pid.bits()] = Trace{std::min(messages, k_trace_limit), {}};
    return true;
  }
  // False when the trace is full: the process need not record any more.
  bool record(Pid pid, const TracedMessage& message) {
    const std::scoped_lock lock(mutex_);
    const auto found = traces_.find(pid.bits());
    if (found == traces_.end()) return false;
    Trace& trace = found->second;
    if (trace.messages.size() < trace.limit) trace.messages.push_back(message);
    return trace.messages.size() < trace.limit;
  }
  // What was recorded; ends the trace.
  std::vector<TracedMessage> end(Pid pid) {
    const std::scoped_lock lock(mutex_);
    const auto node = traces_.extract(pid.bits());
    return node.empty() ? std::vector<TracedMessage>{} : std::move(node.mapped().messages);
  }

 private:
  struct Trace {
    std::size_t limit = 0;
    std::vector<TracedMessage> messages;
  };
  std::mutex mutex_;
  std::map<std::uint64_t, Trace> traces_;
};

}  // namespace detail
}  // namespace skein::inline v0
