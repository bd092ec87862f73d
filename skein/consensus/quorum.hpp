// What a majority of voters agrees on. Pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "skein/consensus/entry.hpp"

namespace skein::inline v0::consensus {

// The highest number that a majority of the voters has reached; `reached` has one number per voter. Reorders them.
// Without voters everything is reached.
[[nodiscard]] std::uint64_t reached_by_majority(std::span<std::uint64_t> reached);

enum class VoteResult { pending, won, lost };

// `votes` has one element per voter: true, false, or nothing yet. Without voters it is won.
[[nodiscard]] VoteResult result_of(std::span<const std::optional<bool>> votes);

}  // namespace skein::inline v0::consensus
