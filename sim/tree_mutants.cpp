// Bugs planted in the supervisors, and the random trees that must find them; see mutants.hpp.
#include <cstdint>
#include <optional>
#include <string>

#include "sim/mutants.hpp"
#include "sim/tree_model.hpp"

namespace skein::sim {
namespace {

// Each falls within the first hundred seeds.
constexpr std::uint64_t k_trees_seeds_max = 1000;

std::optional<std::string> violation_of_tree(std::uint64_t seed) {
  const TreeModelResult result = run_tree_model(seed, false);
  return result.violations.empty() ? std::nullopt : std::optional(result.violations.front());
}

const bool k_trees_registered =
    add_mutants(k_trees_seeds_max, violation_of_tree,
                {
                    {Bug::window_off_by_one, "one restart more than the intensity is allowed"},
                    {Bug::window_forgets_early, "a restart that is exactly one period old is forgotten"},
                    {Bug::temporary_restarted, "a temporary child is restarted"},
                    {Bug::normal_end_restarted, "a transient child is restarted after a normal end"},
                    {Bug::failed_restart_not_counted, "a restart that failed is not counted"},
                    {Bug::one_too_few_restarted, "rest_for_one restarts one too few"},
                    {Bug::stops_in_order, "children are stopped in the order of their start"},
                    {Bug::restarted_beside_leftovers, "a child is restarted before its old subtree is dead"},
                    {Bug::unlinked_before_dead, "the link is removed before the child is dead"},
                    {Bug::retry_left_standing, "a retry is left standing when its child is terminated"},
                    {Bug::sibling_not_awaited, "nobody waits for the end of a sibling"},
                    {Bug::significant_ignored, "the end of a significant child is ignored"},
                });

}  // namespace
}  // namespace skein::sim
