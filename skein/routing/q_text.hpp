// Learned tables as text: numbers between spaces, written in their shortest exact form and read back strictly.
// Pure functions. For q_learning and adaptive_retry.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>

namespace skein::inline v0::q_text {

inline constexpr double k_value_max = 1e6;  // a learned value beyond this is no learned value

template <class Number>
void append(std::string& text, Number number) {
  char buffer[32];
  const auto end = std::to_chars(std::begin(buffer), std::end(buffer), number).ptr;
  text.append(buffer, end);
}

// "name n1 n2 ...\n"
inline void append_line(std::string& text, std::string_view name, std::span<const double> values) {
  text += name;
  for (const double each : values) {
    text += ' ';
    append(text, each);
  }
  text += '\n';
}

// Reads one such line off the front of `text` into `values`, all of them finite and within ±k_value_max.
[[nodiscard]] inline std::expected<void, std::string> take_line(std::string_view& text, std::string_view name,
                                                                std::span<double> values) {
  const auto wrong = [&](std::string_view what) {
    return std::unexpected(std::string("learned table: line '") + std::string(name) + "': " + std::string(what) +
                           "; delete the file to start afresh");
  };
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return wrong("is missing or cut off");
  std::string_view line = text.substr(0, end);
  if (!line.starts_with(name)) return wrong("is not there");
  line.remove_prefix(name.size());
  for (double& value : values) {
    if (!line.starts_with(' ')) return wrong("has too few numbers");
    line.remove_prefix(1);
    const auto read = std::from_chars(line.data(), line.data() + line.size(), value);
    if (read.ec != std::errc() || !std::isfinite(value) || std::abs(value) > k_value_max) {
      return wrong("has something that is no number in range");
    }
    line.remove_prefix(static_cast<std::size_t>(read.ptr - line.data()));
  }
  if (!line.empty()) return wrong("has more than its numbers");
  text.remove_prefix(end + 1);
  return {};
}

}  // namespace skein::inline v0::q_text
