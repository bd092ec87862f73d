// The types of what operations on the node answer, and how much one answer holds. Pure; any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "skein/operations/answer_types.hpp"

namespace skein::inline v0::operations {

inline constexpr std::size_t k_events_listed_max = 1000;        // in one answer
inline constexpr std::size_t k_processes_listed_max = 100'000;  // likewise
inline constexpr std::uint64_t k_tree_depth_max = 32;           // levels in one answer over REST
inline constexpr std::uint64_t k_tree_children_max = 1000;      // children of each supervisor, likewise

[[nodiscard]] std::vector<AnswerType> node_answers();

}  // namespace skein::inline v0::operations
