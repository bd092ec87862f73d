#include "skein/base/duration_text.hpp"

#include <fmt/format.h>

namespace skein::inline v0 {

std::string duration_text(std::uint64_t milliseconds) {
  if (milliseconds < 1000) return fmt::format("{} ms", milliseconds);
  const std::uint64_t seconds = milliseconds / 1000;
  if (seconds < 60) return fmt::format("{:.1f} s", static_cast<double>(milliseconds) / 1000);
  if (seconds < 3600) return fmt::format("{} min {} s", seconds / 60, seconds % 60);
  if (seconds < 86400) return fmt::format("{} h {} min", seconds / 3600, seconds / 60 % 60);
  return fmt::format("{} d {} h", seconds / 86400, seconds / 3600 % 24);
}

}  // namespace skein::inline v0
