#include "skein/base/time_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <limits>

namespace skein::inline v0 {
namespace {

using std::chrono::milliseconds;

struct TimeUnit {
  std::string_view name;
  Duration one;
};
// The first four are written; days are only read, so that "24h" stays what it is in configs and pages.
constexpr std::array<TimeUnit, 5> k_time_units{{{"h", std::chrono::hours(1)},
                                                {"min", std::chrono::minutes(1)},
                                                {"s", std::chrono::seconds(1)},
                                                {"ms", milliseconds(1)},
                                                {"d", std::chrono::hours(24)}}};
constexpr std::size_t k_units_written = 4;

// Takes `digits` decimal digits off the front of a text.
std::optional<unsigned> take_digits(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  unsigned number = 0;
  const char* const begin = text.data();
  const auto [end, error] = std::from_chars(begin, begin + digits, number);
  if (error != std::errc() || end != begin + digits) return std::nullopt;
  text.remove_prefix(digits);
  return number;
}

bool take_char(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// A number after each separator: 2026-11-18 with "-", 04:10:44 with ":".
std::optional<std::array<unsigned, 3>> take_triple(std::string_view& text, std::size_t first_digits,
                                                   std::string_view separator) {
  std::array<unsigned, 3> out{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (i > 0 && !take_char(text, separator)) return std::nullopt;
    const auto number = take_digits(text, i == 0 ? first_digits : 2);
    if (!number) return std::nullopt;
    out[i] = *number;
  }
  return out;
}

// What follows the seconds: ".120".
std::optional<unsigned> take_fraction_ms(std::string_view& text) {
  if (!take_char(text, ".")) return 0;
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  if (digits == 0 || digits > 9) return std::nullopt;
  const std::string three = (std::string(text.substr(0, digits)) + "00").substr(0, 3);
  std::string_view rest = three;
  text.remove_prefix(digits);
  return take_digits(rest, 3);
}

// "Z", "+02:00" or "-05:30".
std::optional<std::chrono::minutes> take_offset(std::string_view& text) {
  if (take_char(text, "Zz")) return std::chrono::minutes(0);
  const bool is_west = text.starts_with('-');
  if (!take_char(text, "+-")) return std::nullopt;
  const auto hours = take_digits(text, 2);
  if (!hours || *hours > 23 || !take_char(text, ":")) return std::nullopt;
  const auto minutes = take_digits(text, 2);
  if (!minutes || *minutes > 59) return std::nullopt;
  const std::chrono::minutes offset(static_cast<int>(*hours * 60 + *minutes));
  return is_west ? -offset : offset;
}

}  // namespace

std::optional<Duration> parse_time(std::string_view text) {
  constexpr std::uint64_t k_largest = 10'000'000;
  std::uint64_t number = 0;
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto [rest, error] = std::from_chars(begin, end, number);
  if (error != std::errc() || number > k_largest) return std::nullopt;
  const std::string_view name(rest, static_cast<std::size_t>(end - rest));
  const auto unit = std::ranges::find(k_time_units, name, &TimeUnit::name);
  if (unit == k_time_units.end()) return std::nullopt;
  const auto count = static_cast<std::int64_t>(number);
  if (count > std::numeric_limits<std::int64_t>::max() / unit->one.count()) return std::nullopt;
  return unit->one * count;
}

std::string time_text(Duration time) {
  if (time == Duration::zero()) return "0s";
  for (std::size_t i = 0; i < k_units_written; ++i) {
    const TimeUnit& unit = k_time_units[i];
    // "120s" reads better as "2min", "90s" must stay.
    if (time >= unit.one && time % unit.one == Duration::zero()) return fmt::format("{}{}", time / unit.one, unit.name);
  }
  return fmt::format("{}ms", std::chrono::duration_cast<milliseconds>(time).count());
}

std::string moment_text(std::uint64_t wall_ms) {
  constexpr std::uint64_t k_ms_a_day = 24ULL * 60 * 60 * 1000;
  constexpr std::uint64_t k_last_day = 2'932'896;  // 9999-12-31: RFC 3339 has four digits for the year
  const std::uint64_t day_number = std::min(wall_ms / k_ms_a_day, k_last_day);
  const std::chrono::sys_days day{std::chrono::days(static_cast<int>(day_number))};
  const std::chrono::year_month_day date(day);
  const std::uint64_t ms = wall_ms % k_ms_a_day;
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), ms / 3'600'000,
                     ms / 60'000 % 60, ms / 1000 % 60, ms % 1000);
}

std::optional<std::uint64_t> parse_moment(std::string_view text) {
  const auto date = take_triple(text, 4, "-");
  if (!date || !take_char(text, "Tt ")) return std::nullopt;
  const auto clock = take_triple(text, 2, ":");
  if (!clock) return std::nullopt;
  const auto fraction_ms = take_fraction_ms(text);
  if (!fraction_ms) return std::nullopt;
  const auto offset = take_offset(text);
  if (!offset || !text.empty()) return std::nullopt;
  const std::chrono::year_month_day day{std::chrono::year(static_cast<int>((*date)[0])), std::chrono::month((*date)[1]),
                                        std::chrono::day((*date)[2])};
  // A leap second is read as the second after it.
  if (!day.ok() || (*clock)[0] > 23 || (*clock)[1] > 59 || (*clock)[2] > 60) return std::nullopt;
  const milliseconds at = std::chrono::sys_days(day).time_since_epoch() + std::chrono::hours((*clock)[0]) +
                          std::chrono::minutes((*clock)[1]) + std::chrono::seconds((*clock)[2]) - *offset +
                          milliseconds(*fraction_ms);
  if (at.count() < 0) return std::nullopt;
  return static_cast<std::uint64_t>(at.count());
}

}  // namespace skein::inline v0
