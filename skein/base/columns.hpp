// How many columns of a terminal a text takes, and cutting it to fit. Pure; any thread.
//
// Colours (ESC [ ... m) take none, combining marks and joiners none, East Asian wide characters and emoji two.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace skein::inline v0 {

[[nodiscard]] std::size_t columns_of(std::string_view text);
// Whole characters, at most so many columns; what was cut away leaves a '…'. Colours that were begun are ended.
[[nodiscard]] std::string cut_to(std::string_view text, std::size_t columns);

}  // namespace skein::inline v0
