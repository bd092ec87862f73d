// UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing beyond U+10FFFF. Pure; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace skein::inline v0 {

// How many bytes the character at the beginning has; 0 when there is none.
[[nodiscard]] std::size_t utf8_length(std::string_view text);
[[nodiscard]] bool is_utf8(std::string_view text);

// For people, from whom nobody knows: at most so many bytes and whole characters, with '?' for each byte that is no
// UTF-8 and for what a terminal would obey, all control characters but newline and tab.
[[nodiscard]] std::string shown_text(std::string_view text, std::size_t bytes_max);

}  // namespace skein::inline v0
