#include "skein/base/natural_order.hpp"

#include <algorithm>

namespace skein::inline v0 {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes the number at the beginning, without leading zeros.
std::string_view take_number(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of('0'), text.size()));
  const auto length = static_cast<std::size_t>(std::ranges::find_if_not(text, is_digit) - text.begin());
  const std::string_view number = text.substr(0, length);
  text.remove_prefix(length);
  return number;
}

}  // namespace

bool natural_less(std::string_view a, std::string_view b) {
  std::string_view one = a;
  std::string_view other = b;
  while (!one.empty() && !other.empty()) {
    if (is_digit(one.front()) && is_digit(other.front())) {
      const std::string_view first = take_number(one);
      const std::string_view second = take_number(other);
      if (first.size() != second.size()) return first.size() < second.size();
      if (first != second) return first < second;
      continue;
    }
    if (one.front() != other.front()) return one.front() < other.front();
    one.remove_prefix(1);
    other.remove_prefix(1);
  }
  if (one.empty() != other.empty()) return one.empty();
  return a < b;
}

}  // namespace skein::inline v0
