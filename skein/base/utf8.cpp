#include "skein/base/utf8.hpp"

#include <algorithm>

namespace skein::inline v0 {

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xC2 && first < 0xE0   ? 2
                             : (first & 0xF0U) == 0xE0       ? 3
                             : first >= 0xF0 && first < 0xF5 ? 4
                                                             : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and what lies beyond U+10FFFF.
  const unsigned second = byte(1);
  if (first == 0xE0 && second < 0xA0) return 0;
  if (first == 0xED && second >= 0xA0) return 0;
  if (first == 0xF0 && second < 0x90) return 0;
  if (first == 0xF4 && second >= 0x90) return 0;
  return length;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

char32_t code_point(std::string_view text, std::size_t length) {
  const auto first = static_cast<unsigned char>(text[0]);
  char32_t point = length == 1 ? first : first & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) point = (point << 6U) | (static_cast<unsigned char>(text[i]) & 0x3FU);
  return point;
}

bool is_turning(std::string_view text, std::size_t length) {
  if (length < 2) return false;
  const char32_t point = code_point(text, length);
  return point == 0x061C || point == 0x200E || point == 0x200F || (point >= 0x2028 && point <= 0x202E) ||
         (point >= 0x2066 && point <= 0x2069);
}

std::string shown_text(std::string_view text, std::size_t bytes_max) {
  std::string shown;
  shown.reserve(std::min(text.size(), bytes_max));
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    const bool is_low = first < 0x20 && first != '\n' && first != '\t';
    // U+0080 to U+009F are control characters too.
    const bool is_high = length == 2 && first == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0;
    const bool is_shown = length != 0 && !is_low && !is_high && first != 0x7F && !is_turning(text, length);
    if (shown.size() + (is_shown ? length : 1) > bytes_max) break;
    if (is_shown) {
      shown.append(text.substr(0, length));
    } else {
      shown.push_back('?');
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return shown;
}

}  // namespace skein::inline v0
