// The strategies of a supervisor, a row each: when a child fails that is to be restarted, which ones are stopped and
// started with it, in which order, and what happens when no restart is left. Plain values.
//
// Names in the config, in JSON and in the schema of `tree`, the checks of specs and the supervisor itself read this
// table (restart_policy.hpp decides by it), so that a strategy is one name in Strategy and one row.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace skein::inline v0 {

enum class Strategy : std::uint8_t {
  one_for_one,         // only the child that ended is started again
  one_for_all,         // all are stopped and started again
  rest_for_one,        // it and those started after it
  simple_one_for_one,  // a pool: many children of one spec, started by start_child
  escalate,            // the first failure ends the supervisor with the child's reason
};

// The children that are stopped, last started first, and then started again in start order, with the child that ended.
enum class RestartGroup : std::uint8_t { itself, itself_and_later, all };

// How the supervisor ends when a child fails and no restart is left. A child that is isolated is parked instead.
enum class PastLimit : std::uint8_t { shutdown, childs_reason };

struct StrategyRow {
  Strategy strategy = Strategy::one_for_one;
  std::string_view name;
  RestartGroup group = RestartGroup::itself;
  bool restarts = true;  // false: no restart is ever left, whatever the intensity
  PastLimit past_limit = PastLimit::shutdown;
  bool is_pool = false;  // children have one spec and no order: they are found by Pid and stopped all at once
};

inline constexpr std::array k_strategies{
    StrategyRow{.strategy = Strategy::one_for_one, .name = "one_for_one"},
    StrategyRow{.strategy = Strategy::one_for_all, .name = "one_for_all", .group = RestartGroup::all},
    StrategyRow{.strategy = Strategy::rest_for_one, .name = "rest_for_one", .group = RestartGroup::itself_and_later},
    StrategyRow{.strategy = Strategy::simple_one_for_one, .name = "simple_one_for_one", .is_pool = true},
    StrategyRow{
        .strategy = Strategy::escalate, .name = "escalate", .restarts = false, .past_limit = PastLimit::childs_reason},
};

// Whether each row stands where row_of() looks for it.
static_assert([] {
  for (std::size_t n = 0; n < k_strategies.size(); ++n) {
    if (static_cast<std::size_t>(k_strategies[n].strategy) != n) return false;
  }
  return true;
}());

[[nodiscard]] constexpr bool is_known(Strategy strategy) {
  return static_cast<std::size_t>(strategy) < k_strategies.size();
}

// `strategy` must be known: check_flags() has seen it.
[[nodiscard]] constexpr const StrategyRow& row_of(Strategy strategy) {
  return k_strategies[static_cast<std::size_t>(strategy)];
}

// Failures that count apart from those of siblings make sense only where siblings are not restarted with the child.
[[nodiscard]] constexpr bool may_isolate(const StrategyRow& row) {
  return row.restarts && row.group == RestartGroup::itself;
}

[[nodiscard]] constexpr std::string_view strategy_name(Strategy strategy) {
  return is_known(strategy) ? row_of(strategy).name : "invalid";
}

}  // namespace skein::inline v0
