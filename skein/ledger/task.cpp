#include "skein/ledger/task.hpp"

#include <fmt/format.h>

namespace skein::inline v0::ledger {
namespace {

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  return std::nullopt;
}

bool is_dash_place(std::size_t i) { return i == 8 || i == 13 || i == 18 || i == 23; }

std::uint64_t charge_of_extras(const Extras& extras) {
  const Placement* where = extras.placement.get();
  return extras.key.size() + extras.trace.size() + extras.dependencies.size() * k_dependency_bytes +
         (where == nullptr ? 0 : where->agent.size() + where->route_key.size());
}

}  // namespace

std::optional<TaskId> TaskId::parse(std::string_view text) {
  if (text.size() != 36) return std::nullopt;
  TaskId id;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_dash_place(i)) {
      if (text[i] != '-') return std::nullopt;
      continue;
    }
    const auto digit = hex_digit(text[i]);
    if (!digit) return std::nullopt;
    auto& half = i < 19 ? id.high : id.low;
    half = (half << 4U) | *digit;
  }
  if (id.none()) return std::nullopt;
  return id;
}

std::string TaskId::text() const {
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32U, (high >> 16U) & 0xFFFFU, high & 0xFFFFU,
                     low >> 48U, low & 0xFFFFFFFFFFFFU);
}

std::string TaskId::digits() const { return fmt::format("{:016x}{:016x}", high, low); }

std::string_view name_of(State state) {
  switch (state) {
    case State::queued:
      return "queued";
    case State::assigned:
      return "assigned";
    case State::executing:
      return "executing";
    case State::completed:
      return "completed";
    case State::failed:
      return "failed";
    case State::cancelled:
      return "cancelled";
    case State::blocked:
      return "blocked";
    case State::awaiting_approval:
      return "awaiting_approval";
  }
  return "unknown";
}

std::string_view name_of(ErrorClass error) {
  switch (error) {
    case ErrorClass::transient:
      return "transient";
    case ErrorClass::permanent:
      return "permanent";
    case ErrorClass::rate_limited:
      return "rate_limited";
    case ErrorClass::resource:
      return "resource";
    case ErrorClass::timeout:
      return "timeout";
    case ErrorClass::crash:
      return "crash";
  }
  return "unknown";
}

std::string_view name_of(Ending ending) {
  switch (ending) {
    case Ending::completed:
      return "completed";
    case Ending::permanent_error:
      return "permanent_error";
    case Ending::attempts_spent:
      return "attempts_spent";
    case Ending::dependency_failed:
      return "dependency_failed";
    case Ending::deadline_passed:
      return "deadline_passed";
    case Ending::cancelled:
      return "cancelled";
  }
  return "unknown";
}

std::string_view name_of(AgentFallback fallback) {
  switch (fallback) {
    case AgentFallback::by_config:
      return "by_config";
    case AgentFallback::none:
      return "none";
    case AgentFallback::any:
      return "any";
  }
  return "unknown";
}

std::optional<AgentFallback> agent_fallback_named(std::string_view name) {
  for (const AgentFallback each : {AgentFallback::none, AgentFallback::any}) {
    if (name == name_of(each)) return each;
  }
  return std::nullopt;
}

const Placement& Extras::where() const {
  static const Placement k_anywhere;
  return placement ? *placement : k_anywhere;
}

std::string_view Task::pinned_to() const {
  if (!extras || !extras->placement) return {};
  const Placement& where = *extras->placement;
  return where.is_pinned() ? std::string_view(where.agent) : std::string_view();
}

const Extras& Task::more() const {
  static const Extras k_none;
  return extras ? *extras : k_none;
}

const std::string& Task::first_swarm() const {
  const auto& fallbacks = more().fallbacks;
  return fallbacks.empty() ? shape->swarm : fallbacks.front().swarm;
}

std::uint64_t charge_of(const Task& task) {
  std::uint64_t bytes = k_task_overhead_bytes + view_of(task.params).size() + task.shape->type.size();
  for (const auto& capability : task.shape->capabilities) bytes += capability.size();
  return bytes + charge_of_extras(task.more());
}

std::uint64_t charge_of(const FinishedTask& finished) {
  return charge_of(finished.task) + view_of(finished.result).size();
}

}  // namespace skein::inline v0::ledger
