// W3C trace context: the `traceparent` header that ties together what one request caused, across programs.
//
//   00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01      version, trace, span, flags
//
// Pure functions and plain data. Section 3.2 of the recommendation: lower-case hex only, no zero ids, version ff never;
// a later version is read by its first four fields.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "skein/base/random.hpp"

namespace skein::inline v0 {

struct TraceContext {
  std::array<std::uint8_t, 16> trace_id{};
  std::array<std::uint8_t, 8> span_id{};
  std::uint8_t flags = 0;

  static constexpr std::uint8_t k_sampled = 1;

  // Nothing for what is not a valid traceparent; the caller then begins a trace of its own.
  [[nodiscard]] static std::optional<TraceContext> parse(std::string_view traceparent);
  // A trace that begins here.
  [[nodiscard]] static TraceContext begin(Random& random, bool sampled = true);

  // The same trace, a span of its own: to be handed on.
  [[nodiscard]] TraceContext child(Random& random) const;
  // As version 00. Flags other than sampled are not handed on.
  [[nodiscard]] std::string text() const;

  friend constexpr auto operator<=>(const TraceContext&, const TraceContext&) = default;
};

}  // namespace skein::inline v0
