#include "skein/base/wall_text.hpp"

#include <fmt/format.h>

#include <ctime>

namespace skein::inline v0 {
namespace {

constexpr std::uint64_t k_last_second = 253'402'300'799;  // the end of the year 9999

}  // namespace

std::string time_text(std::uint64_t wall_ms) {
  if (wall_ms / 1000 > k_last_second) return "after the year 9999";
  const auto seconds = static_cast<std::time_t>(wall_ms / 1000);
  std::tm parts{};
  if (::gmtime_r(&seconds, &parts) == nullptr) return "";
  const std::string fraction = wall_ms % 1000 == 0 ? "" : fmt::format(".{:03}", wall_ms % 1000);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}Z", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min, parts.tm_sec, fraction);
}

std::string duration_text(std::uint64_t milliseconds) {
  if (milliseconds < 1000) return fmt::format("{} ms", milliseconds);
  const std::uint64_t seconds = milliseconds / 1000;
  if (seconds < 60) return fmt::format("{:.1f} s", static_cast<double>(milliseconds) / 1000);
  if (seconds < 3600) return fmt::format("{} min {} s", seconds / 60, seconds % 60);
  if (seconds < 86400) return fmt::format("{} h {} min", seconds / 3600, seconds / 60 % 60);
  return fmt::format("{} d {} h", seconds / 86400, seconds / 3600 % 24);
}

}  // namespace skein::inline v0
