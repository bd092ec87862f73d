// UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing beyond U+10FFFF. Pure; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace skein::inline v0 {

// How many bytes the character at the beginning has; 0 when there is none.
[[nodiscard]] std::size_t utf8_length(std::string_view text);
[[nodiscard]] bool is_utf8(std::string_view text);

// Text of unknown origin, made safe to show: at most so many bytes, whole characters, '?' for each byte that is no
// UTF-8 and for what a terminal would obey: all control characters but newline and tab, line and paragraph separators,
// and what turns the direction of writing round, which can make a line read as something else.
[[nodiscard]] std::string shown_text(std::string_view text, std::size_t bytes_max);
// Whether the character at the beginning, of `length` bytes, separates lines or turns the direction of writing round:
// U+061C, U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069.
[[nodiscard]] bool is_turning(std::string_view text, std::size_t length);
// The code point of the character at the beginning, of `length` bytes.
[[nodiscard]] char32_t code_point(std::string_view text, std::size_t length);

}  // namespace skein::inline v0
