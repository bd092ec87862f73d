#include "skein/base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace skein::inline v0 {
namespace {

template <class Value>
struct Unit {
  std::string_view name;
  Value one;
};
constexpr std::array<Unit<Duration>, 4> k_times{{{"h", std::chrono::hours(1)},
                                                 {"min", std::chrono::minutes(1)},
                                                 {"s", std::chrono::seconds(1)},
                                                 {"ms", std::chrono::milliseconds(1)}}};
constexpr std::array<Unit<std::uint64_t>, 4> k_sizes{
    {{"GiB", 1ULL << 30U}, {"MiB", 1ULL << 20U}, {"KiB", 1ULL << 10U}, {"", 1}}};

struct NumberAndUnit {
  std::uint64_t number = 0;
  std::string_view unit;
};

std::optional<NumberAndUnit> split(std::string_view text) {
  NumberAndUnit parts;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), parts.number);
  if (error != std::errc()) return std::nullopt;
  parts.unit = std::string_view(rest, static_cast<std::size_t>(end - rest));
  return parts;
}

}  // namespace

std::optional<Duration> parse_time(std::string_view text) {
  constexpr std::uint64_t k_number_max = 10'000'000;
  const auto parts = split(text);
  if (!parts || parts->number > k_number_max) return std::nullopt;
  const auto unit = std::ranges::find(k_times, parts->unit, &Unit<Duration>::name);
  if (unit == k_times.end()) return std::nullopt;
  const auto number = static_cast<std::int64_t>(parts->number);
  if (number > std::numeric_limits<std::int64_t>::max() / unit->one.count()) return std::nullopt;
  return unit->one * number;
}

std::string time_text(Duration time) {
  if (time == Duration::zero()) return "0s";
  for (const auto& unit : k_times) {
    // "120s" reads better as "2min", "90s" must stay.
    if (time >= unit.one && time % unit.one == Duration::zero()) return fmt::format("{}{}", time / unit.one, unit.name);
  }
  return fmt::format("{}ms", std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  const auto parts = split(text);
  if (!parts) return std::nullopt;
  const auto unit = std::ranges::find(k_sizes, parts->unit, &Unit<std::uint64_t>::name);
  if (unit == k_sizes.end()) return std::nullopt;
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(parts->number, unit->one, &bytes)) return std::nullopt;
  return bytes;
}

std::string bytes_text(std::uint64_t bytes) {
  for (const auto& unit : k_sizes) {
    if (bytes >= unit.one && bytes % unit.one == 0) return fmt::format("{}{}", bytes / unit.one, unit.name);
  }
  return fmt::format("{}", bytes);
}

}  // namespace skein::inline v0
