#include "skein/base/suggestion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>

namespace skein::inline v0 {
namespace {

constexpr std::size_t k_known_shown = 12;
// Farther than this nobody meant it; and comparing very long words is a waste.
constexpr std::size_t k_word_max = 64;

// Letters to add, drop or change to make one word of the other.
std::size_t distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> row(right.size() + 1);
  for (std::size_t n = 0; n < row.size(); ++n) row[n] = n;
  for (std::size_t l = 0; l < left.size(); ++l) {
    std::size_t diagonal = row[0];
    row[0] = l + 1;
    for (std::size_t r = 0; r < right.size(); ++r) {
      const std::size_t above = row[r + 1];
      row[r + 1] = std::min({above + 1, row[r] + 1, diagonal + (left[l] == right[r] ? 0U : 1U)});
      diagonal = above;
    }
  }
  return row.back();
}

}  // namespace

std::string suggestion(std::string_view given, const std::vector<std::string_view>& known) {
  if (known.empty()) return "";
  if (given.size() <= k_word_max) {
    const auto nearest = std::ranges::min_element(known, {}, [&](auto each) { return distance(given, each); });
    const std::size_t far = distance(given, *nearest);
    if (far <= 2 || far <= given.size() / 3) return fmt::format(" (did you mean '{}'?)", *nearest);
  }
  const bool all = known.size() <= k_known_shown;
  const std::vector<std::string_view> shown(known.begin(), all ? known.end() : known.begin() + k_known_shown);
  return fmt::format(" (known: {}{})", fmt::join(shown, ", "), all ? "" : ", ...");
}

}  // namespace skein::inline v0
