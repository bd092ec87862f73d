// Strings as JSON writes them. Any thread.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace skein::inline v0::detail {

[[nodiscard]] inline std::string json_string(std::string_view text) {
  std::string quoted = "\"";
  for (const char each : text) {
    const auto code = static_cast<unsigned char>(each);
    if (each == '"' || each == '\\') {
      quoted += '\\';
      quoted += each;
    } else if (code < 0x20) {
      quoted += fmt::format("\\u{:04x}", code);
    } else {
      quoted += each;
    }
  }
  quoted += '"';
  return quoted;
}

}  // namespace skein::inline v0::detail
