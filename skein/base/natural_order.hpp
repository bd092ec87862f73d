// Names as people sort them: runs of digits count as numbers, so that default-2 comes before default-10. Pure.
#pragma once

#include <string_view>

namespace skein::inline v0 {

// A strict weak order; names that differ only in leading zeros are told apart by their characters.
[[nodiscard]] bool natural_less(std::string_view a, std::string_view b);

}  // namespace skein::inline v0
