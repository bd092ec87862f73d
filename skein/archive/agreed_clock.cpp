#include "skein/archive/agreed_clock.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace skein::inline v0::archive {
namespace {

constexpr std::uint64_t ms_of(std::chrono::milliseconds time) { return static_cast<std::uint64_t>(time.count()); }

std::uint64_t apart(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : b - a; }

}  // namespace

AgreedClock AgreedClock::read(std::string_view text) {
  std::array<std::uint64_t, 6> numbers{};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (auto& number : numbers) {
    while (at != end && *at == ' ') ++at;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc{}) return {};
    at = next;
  }
  AgreedClock clock;
  clock.has_begun_ = true;
  clock.first_wall_ = numbers[0];
  clock.first_ms_ = numbers[1];
  clock.last_wall_ = numbers[2];
  clock.last_ = {numbers[3], numbers[4]};
  clock.agreed_ms_ = numbers[5];
  return clock;
}

std::string AgreedClock::text() const {
  return fmt::format("{} {} {} {} {} {}", first_wall_, first_ms_, last_wall_, last_.boot, last_.ms, agreed_ms_);
}

void AgreedClock::begin(ledger::WallMs wall, BootTime boot) {
  has_begun_ = true;
  first_wall_ = wall;
  first_ms_ = boot.ms;
}

std::optional<ledger::WallMs> AgreedClock::look(ledger::WallMs wall, BootTime boot) {
  if (!has_begun_) {
    begin(wall, boot);
  } else if (boot.boot != last_.boot) {
    const bool is_plausible = wall + ms_of(k_tolerance) >= last_wall_ && wall <= last_wall_ + ms_of(k_reboot_gap);
    if (!is_plausible) {
      agreed_ms_ = 0;
      ++jumps_;
    }
    begin(wall, boot);
  } else if (boot.ms >= last_.ms) {
    const std::uint64_t passed = boot.ms - first_ms_;
    const std::uint64_t allowed = ms_of(k_tolerance) + passed / 1000;
    if (boot.ms < first_ms_ || apart(wall, first_wall_ + passed) > allowed) {
      agreed_ms_ = 0;
      ++jumps_;
      begin(wall, boot);
    } else {
      agreed_ms_ += boot.ms - last_.ms;
    }
  }
  last_wall_ = wall;
  last_ = boot;
  if (agreed_ms_ < ms_of(k_agreed_for)) return std::nullopt;
  return wall;
}

}  // namespace skein::inline v0::archive
