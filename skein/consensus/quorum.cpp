#include "skein/consensus/quorum.hpp"

#include <algorithm>
#include <functional>
#include <limits>

namespace skein::inline v0::consensus {

std::uint64_t reached_by_majority(std::span<std::uint64_t> reached) {
  if (reached.empty()) return std::numeric_limits<std::uint64_t>::max();
  const auto middle = reached.begin() + static_cast<std::ptrdiff_t>(reached.size() / 2);
  std::ranges::nth_element(reached, middle, std::ranges::greater{});
  return *middle;
}

VoteResult result_of(std::span<const std::optional<bool>> votes) {
  const std::size_t quorum = votes.size() / 2 + 1;
  const auto granted = static_cast<std::size_t>(std::ranges::count(votes, std::optional(true)));
  const auto refused = static_cast<std::size_t>(std::ranges::count(votes, std::optional(false)));
  if (votes.empty() || granted >= quorum) return VoteResult::won;
  return votes.size() - refused < quorum ? VoteResult::lost : VoteResult::pending;
}

}  // namespace skein::inline v0::consensus
