#include "skein/base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace skein::inline v0 {
namespace {

struct SizeUnit {
  std::string_view name;
  std::uint64_t one;
};
constexpr std::array<SizeUnit, 4> k_sizes{{{"GiB", 1ULL << 30U}, {"MiB", 1ULL << 20U}, {"KiB", 1ULL << 10U}, {"", 1}}};

struct NumberAndUnit {
  std::uint64_t number = 0;
  std::string_view unit;
};

std::optional<NumberAndUnit> split_size(std::string_view text) {
  NumberAndUnit parts;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), parts.number);
  if (error != std::errc()) return std::nullopt;
  parts.unit = std::string_view(rest, static_cast<std::size_t>(end - rest));
  return parts;
}

}  // namespace

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  const auto parts = split_size(text);
  if (!parts) return std::nullopt;
  const auto unit = std::ranges::find(k_sizes, parts->unit, &SizeUnit::name);
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
