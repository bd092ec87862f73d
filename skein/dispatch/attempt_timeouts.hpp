// How long an attempt may take: the task's own limit, else its type's (the learned one first), else its agent's, else
// the one of its kind of executor; never less than timeout_minimum. A value; one thread at a time.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "skein/dispatch/dispatcher_options.hpp"
#include "skein/dispatch/dispatcher_records.hpp"
#include "skein/resilience/adaptive_timeout.hpp"

namespace skein::inline v0::dispatch {

class AttemptTimeouts {
 public:
  // The options outlive it.
  explicit AttemptTimeouts(const DispatcherOptions& options);

  [[nodiscard]] Duration of(const TaskRecord& task, const AgentRecord& agent);
  // Sets the run's timeout: from its start, or from its order where starts are not told; nothing before that.
  void set(Run& run, const TaskRecord& task, const AgentRecord& agent);
  // What an attempt took, or how long it was waited for.
  void learn(const TaskRecord& task, Duration took);

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  const DispatcherOptions& options_;
  std::unordered_map<std::string, AdaptiveTimeout, TextHash, std::equal_to<>> learned_;
};

}  // namespace skein::inline v0::dispatch
