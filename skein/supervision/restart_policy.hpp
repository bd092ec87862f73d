// What a supervisor does about a child that has ended: decided here, carried out by supervisor_restart.cpp.
//
// Pure: it knows neither process nor message. A decision is one step on the supervisor's table of children and window
// of restarts; a caller that shares those with readers holds their lock for the length of the step, so that readers see
// either all of it or nothing.
//
// Invariants:
//   1. A restart that is granted is in the window (of an isolated child: in its own budget); a refused one is not.
//   2. A decision to park leaves the child `parked`; every other decision leaves its state to the code that acts on it.
#pragma once

#include <cstdint>

#include "skein/base/random.hpp"
#include "skein/supervision/children.hpp"
#include "skein/supervision/strategy.hpp"

namespace skein::inline v0 {

// An end that is neither normal nor a shutdown.
[[nodiscard]] bool is_failure(const ExitReason& reason);

struct RestartDecision {
  enum class Kind : std::uint8_t {
    leave,     // it stays ended
    restart,   // it is started again with its group, after `delay`
    park,      // it is started again alone, after `delay`: its own budget is spent
    give_up,   // no restart is left: the supervisor ends with shutdown
    escalate,  // likewise, with the child's reason
  };
  Kind kind = Kind::leave;
  Duration delay{};
};

class RestartPolicy {
 public:
  using Index = Children::Index;

  RestartPolicy(Strategy strategy, RestartWindow& window, Children& children, Random& random)
      : row_(row_of(strategy)), window_(window), children_(children), random_(random) {}

  // The process of a running child has ended.
  [[nodiscard]] RestartDecision ended(Index index, const ExitReason& reason, Instant now);
  // It is time to try a waiting child again. `counted`: this restart is in the window already.
  [[nodiscard]] RestartDecision retried(Index index, bool counted, Instant now);
  // An attempt has failed; returns how long to wait for the next.
  [[nodiscard]] Duration start_failed(Index index, const ChildStart& start, Instant now);

  // Where the group of a child begins; it ends with the last child, or is `index` alone.
  [[nodiscard]] Index group_begin(Index index) const {
    return row_.group == RestartGroup::all ? children_.first() : index;
  }
  [[nodiscard]] bool has_group() const { return row_.group != RestartGroup::itself; }

 private:
  // Counts a restart and says whether there was one left.
  [[nodiscard]] RestartDecision count(Index index, Instant now);
  [[nodiscard]] Duration park(Index index, Instant now);
  [[nodiscard]] Duration backoff(Index index, Instant now);

  const StrategyRow& row_;
  RestartWindow& window_;
  Children& children_;
  Random& random_;
};

}  // namespace skein::inline v0
