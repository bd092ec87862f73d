#include "skein/supervision/supervisor_flags.hpp"

#include <fmt/format.h>

#include <boost/unordered/unordered_flat_set.hpp>
#include <string_view>

namespace skein::inline v0 {

namespace {

// "one_for_one, one_for_all or escalate"
std::string strategy_names() {
  std::string names;
  for (std::size_t n = 0; n < k_strategies.size(); ++n) {
    if (n != 0) names += n + 1 == k_strategies.size() ? " or " : ", ";
    names += k_strategies[n].name;
  }
  return names;
}

}  // namespace

std::optional<SpecError> check_flags(const SupervisorFlags& flags) {
  if (!is_known(flags.strategy)) return SpecError{"strategy", "strategy must be " + strategy_names()};
  if (flags.intensity > k_intensity_max) {
    return SpecError{"intensity", fmt::format("intensity must be at most {}", k_intensity_max)};
  }
  if (flags.period <= Duration::zero()) return SpecError{"period", "period must be more than 0"};
  if (flags.auto_shutdown > AutoShutdown::all_significant) {
    return SpecError{"auto_shutdown", "auto_shutdown must be never, any_significant or all_significant"};
  }
  if (row_of(flags.strategy).is_pool && flags.auto_shutdown != AutoShutdown::never) {
    return SpecError{"auto_shutdown", fmt::format("a {} supervisor can't have auto_shutdown: set it to never",
                                                  strategy_name(flags.strategy))};
  }
  return std::nullopt;
}

std::optional<SpecError> check_spec_under(const SupervisorFlags& flags, const ChildSpec& spec) {
  if (auto error = check_spec(spec)) return error;
  if (spec.significant && flags.auto_shutdown == AutoShutdown::never) {
    return SpecError{"significant",
                     fmt::format("child '{}': significant has no meaning while auto_shutdown is never", spec.id)};
  }
  if (spec.isolated && !may_isolate(row_of(flags.strategy))) {
    return SpecError{"isolated", fmt::format("child '{}': isolated needs one_for_one or simple_one_for_one, not {}",
                                             spec.id, strategy_name(flags.strategy))};
  }
  return std::nullopt;
}

std::optional<SpecError> check_specs(const SupervisorFlags& flags, std::span<const ChildSpec> children) {
  if (auto error = check_flags(flags)) return error;
  boost::unordered_flat_set<std::string_view> ids;
  for (const ChildSpec& spec : children) {
    if (auto error = check_spec_under(flags, spec)) return error;
    if (!ids.insert(spec.id).second) {
      return SpecError{"id", fmt::format("two children have the id '{}': ids must differ", spec.id)};
    }
  }
  if (row_of(flags.strategy).is_pool && children.size() != 1) {
    return SpecError{"children", fmt::format("a {} supervisor needs exactly one child spec, got {}",
                                             strategy_name(flags.strategy), children.size())};
  }
  return std::nullopt;
}

std::string_view auto_shutdown_name(AutoShutdown value) {
  switch (value) {
    case AutoShutdown::never:
      return "never";
    case AutoShutdown::any_significant:
      return "any_significant";
    case AutoShutdown::all_significant:
      return "all_significant";
  }
  return "invalid";
}

}  // namespace skein::inline v0
