// The name of a type as its author wrote it, for reports and traces. No run-time cost.
#pragma once

#include <string_view>

namespace skein::inline v0 {

template <class T>
[[nodiscard]] consteval std::string_view type_name() {
  // Both compilers print "... [with T = NAME ...]" or "... [T = NAME]".
  constexpr std::string_view whole = __PRETTY_FUNCTION__;
  constexpr std::string_view mark = "T = ";
  constexpr std::size_t begin = whole.find(mark) + mark.size();
  constexpr std::size_t semicolon = whole.find(';', begin);
  constexpr std::size_t end = semicolon != std::string_view::npos ? semicolon : whole.rfind(']');
  return whole.substr(begin, end - begin);
}

}  // namespace skein::inline v0
