#include "skein/dispatch/swarm_rules.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "skein/dispatch/swarm_load.hpp"
#include "skein/ledger/fallback.hpp"
#include "skein/ledger/swarm_fields.hpp"

namespace skein::inline v0::dispatch {
namespace {

constexpr std::string_view k_field_strategy = "strategy";
constexpr std::uint64_t k_field_number_max = 1'000'000'000;

// A field that is a whole number above zero; nothing for any other.
std::optional<std::uint64_t> number_in(const ledger::Swarm& swarm, std::string_view field) {
  const auto text = swarm.field(field);
  if (!text) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size()) return std::nullopt;
  return value == 0 || value > k_field_number_max ? std::nullopt : std::optional(value);
}

// The number of the executor that its agents share with others, or the one of agents that belong to no swarm; 0: its
// agents and their executor are its own.
std::uint32_t share_group_of(const ledger::Swarm& swarm, const DispatcherOptions& options) {
  const auto executor = swarm.field(k_field_executor);
  if (!executor || executor->empty()) return static_cast<std::uint32_t>(options.executors.size()) + 1;
  const auto at = std::ranges::find(options.executors, *executor, [](const auto& each) { return each.first; });
  return at == options.executors.end() ? 0 : static_cast<std::uint32_t>(at - options.executors.begin()) + 1;
}

}  // namespace

void read_swarm(SwarmRecord& record, const ledger::Swarm& swarm, const DispatcherOptions& options) {
  record.is_known = true;
  record.state = swarm.state;
  record.breaker = swarm.breaker;
  record.breaker_until = swarm.breaker_until;
  record.is_changing = false;
  const auto strategy = swarm.field(k_field_strategy);
  record.strategy = strategy ? balance_named(*strategy).value_or(options.strategy) : options.strategy;
  record.own_agents = has_own_agents(swarm) ? swarm_capability(swarm.name) : std::string();
  record.share_group = share_group_of(swarm, options);
  record.fallback = swarm.field(ledger::k_field_fallback).value_or("");
  const auto open_ms = number_in(swarm, k_field_breaker_open_ms);
  record.breaker_options = {.crashes = static_cast<std::uint32_t>(
                                number_in(swarm, k_field_breaker_crashes).value_or(options.breaker_crashes)),
                            .warning = options.breaker_warning,
                            .window = options.breaker_window,
                            .open = open_ms ? std::chrono::milliseconds(*open_ms) : options.breaker_open,
                            .half_open_tasks = options.half_open_tasks,
                            .half_open_interval = options.half_open_interval};
  record.weight = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(number_in(swarm, k_field_weight).value_or(1), ledger::k_swarm_weight_max));
  record.latest = swarm;
}

}  // namespace skein::inline v0::dispatch
