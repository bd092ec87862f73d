// How long to wait before a child is started again. A pure value; any thread may copy it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "skein/base/random.hpp"
#include "skein/base/time.hpp"

namespace skein::inline v0 {

enum class BackoffKind : std::uint8_t { none, fixed, linear, exponential };

struct Backoff {
  BackoffKind kind = BackoffKind::none;
  Duration initial = std::chrono::milliseconds(100);
  double factor = 2.0;  // exponential only
  Duration max = std::chrono::seconds(30);
  double jitter = 0.1;  // each delay varies by up to this part of it, both ways

  static Backoff none() { return {}; }
  static Backoff fixed(Duration delay);
  static Backoff linear(Duration step = std::chrono::milliseconds(100), Duration max = std::chrono::seconds(30));
  static Backoff exponential(Duration initial = std::chrono::milliseconds(100),
                             Duration max = std::chrono::seconds(30));

  // The wait before attempt `attempt` (1 is the first) after a failure. Never negative, never above max plus jitter.
  [[nodiscard]] Duration delay(std::uint32_t attempt, Random& random) const;
  // What is wrong with the values, or nothing.
  [[nodiscard]] std::optional<std::string> fault() const;

  friend bool operator==(const Backoff&, const Backoff&) = default;
};

}  // namespace skein::inline v0
