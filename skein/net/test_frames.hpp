// For tests of WebSocket: frames as a client makes them, and those of a server taken apart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace skein::inline v0::net {

struct TestFrame {
  std::uint8_t first = 0x81;  // the last of a message, text
  bool is_masked = true;
  std::optional<std::uint64_t> said_bytes{};  // what the head says, when that is not so
  bool is_wordy = false;                      // eight bytes of length, however short
};

inline std::string frame_of(std::string_view payload, const TestFrame& how = {}) {
  constexpr std::string_view k_mask = "\x37\xfa\x21\x3d";
  const std::uint64_t bytes = how.said_bytes.value_or(payload.size());
  const auto mask_bit = static_cast<std::uint8_t>(how.is_masked ? 0x80U : 0U);
  std::string out(1, static_cast<char>(how.first));
  const auto number = [&](unsigned count) {
    for (unsigned i = count; i > 0; --i) out += static_cast<char>((bytes >> (8U * (i - 1))) & 0xffU);
  };
  if (bytes < 126 && !how.is_wordy) {
    out += static_cast<char>(mask_bit | static_cast<std::uint8_t>(bytes));
  } else if (bytes <= 0xffff && !how.is_wordy) {
    out += static_cast<char>(mask_bit | 126U);
    number(2);
  } else {
    out += static_cast<char>(mask_bit | 127U);
    number(8);
  }
  if (how.is_masked) out += k_mask;
  for (std::size_t i = 0; i < payload.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(payload[i]);
    const auto mask = static_cast<std::uint8_t>(how.is_masked ? k_mask[i % 4] : '\0');
    out += static_cast<char>(byte ^ mask);
  }
  return out;
}

inline std::string close_of(unsigned code, std::string_view why = {}) {
  std::string payload{static_cast<char>((code >> 8U) & 0xffU), static_cast<char>(code & 0xffU)};
  payload += why;
  return frame_of(payload, {.first = 0x88});
}

struct SeenFrame {
  std::uint8_t first = 0;
  std::string payload{};
  // Of a close; 0 when it has none.
  [[nodiscard]] unsigned code() const {
    if (payload.size() < 2) return 0;
    return static_cast<unsigned>(static_cast<std::uint8_t>(payload[0])) * 256U + static_cast<std::uint8_t>(payload[1]);
  }
};

// The first of a server's frames, which are not masked; it is gone from `in`. Nothing when it is not whole.
inline std::optional<SeenFrame> take_frame(std::string& in) {
  const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(in[at]); };
  if (in.size() < 2) return std::nullopt;
  std::uint64_t bytes = byte(1);
  const std::size_t more = bytes == 126 ? 2 : bytes == 127 ? 8 : 0;
  if (in.size() < 2 + more) return std::nullopt;
  if (more != 0) bytes = 0;
  for (std::size_t i = 0; i < more; ++i) bytes = bytes * 256 + byte(2 + i);
  if (in.size() < 2 + more + bytes) return std::nullopt;
  SeenFrame frame{byte(0), in.substr(2 + more, bytes)};
  in.erase(0, 2 + more + bytes);
  return frame;
}

}  // namespace skein::inline v0::net
