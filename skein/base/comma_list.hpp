// The items of a text such as "a, b,c", without the spaces around them and without empty ones, in their order. They
// refer to the text. Any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace skein::inline v0 {

[[nodiscard]] inline std::vector<std::string_view> comma_list(std::string_view text) {
  std::vector<std::string_view> items;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view item = text.substr(0, comma);
    while (item.starts_with(' ')) item.remove_prefix(1);
    while (item.ends_with(' ')) item.remove_suffix(1);
    if (!item.empty()) items.push_back(item);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return items;
}

}  // namespace skein::inline v0
