#include "skein/base/trace_context.hpp"

#include <algorithm>
#include <span>

namespace skein::inline v0 {
namespace {

constexpr std::size_t k_length = 55;  // of version 00
constexpr std::string_view k_digits = "0123456789abcdef";

bool read_hex(std::string_view text, std::span<std::uint8_t> bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::size_t high = k_digits.find(text[2 * i]);
    const std::size_t low = k_digits.find(text[2 * i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return false;
    bytes[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return true;
}

void write_hex(std::string& text, std::span<const std::uint8_t> bytes) {
  for (const std::uint8_t each : bytes) {
    text += k_digits[each / 16U];
    text += k_digits[each % 16U];
  }
}

bool is_zero(std::span<const std::uint8_t> bytes) {
  return std::ranges::all_of(bytes, [](std::uint8_t each) { return each == 0; });
}

void fill(std::span<std::uint8_t> bytes, Random& random) {
  do {
    for (std::uint8_t& each : bytes) each = static_cast<std::uint8_t>(random.next() >> 56U);
  } while (is_zero(bytes));
}

}  // namespace

std::optional<TraceContext> TraceContext::parse(std::string_view traceparent) {
  if (traceparent.size() < k_length) return std::nullopt;
  if (traceparent[2] != '-' || traceparent[35] != '-' || traceparent[52] != '-') return std::nullopt;
  std::array<std::uint8_t, 1> version{};
  std::array<std::uint8_t, 1> flags{};
  TraceContext context;
  const bool reads =
      read_hex(traceparent.substr(0, 2), version) && read_hex(traceparent.substr(3, 32), context.trace_id) &&
      read_hex(traceparent.substr(36, 16), context.span_id) && read_hex(traceparent.substr(53, 2), flags);
  if (!reads || version[0] == 0xff || is_zero(context.trace_id) || is_zero(context.span_id)) return std::nullopt;
  if (version[0] == 0 && traceparent.size() != k_length) return std::nullopt;
  if (traceparent.size() > k_length && traceparent[k_length] != '-') return std::nullopt;
  context.flags = flags[0] & k_sampled;
  return context;
}

TraceContext TraceContext::begin(Random& random, bool sampled) {
  TraceContext context;
  fill(context.trace_id, random);
  fill(context.span_id, random);
  context.flags = sampled ? k_sampled : 0;
  return context;
}

TraceContext TraceContext::child(Random& random) const {
  TraceContext context = *this;
  do {
    fill(context.span_id, random);
  } while (context.span_id == span_id);
  return context;
}

std::string TraceContext::text() const {
  std::string text;
  text.reserve(k_length);
  text += "00-";
  write_hex(text, trace_id);
  text += '-';
  write_hex(text, span_id);
  text += '-';
  const std::array<std::uint8_t, 1> last{static_cast<std::uint8_t>(flags & k_sampled)};
  write_hex(text, last);
  return text;
}

}  // namespace skein::inline v0
