// What a client sends in a WebSocket: read the same at once and in pieces; a message is UTF-8 and within the limit,
// what is said are a server's frames, and a close is the last of them. Then once more with time passing between the
// pieces. The first byte says how long the pieces are.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skein/base/utf8.hpp"
#include "skein/net/websocket.hpp"

namespace {

using namespace skein::net;  // NOLINT(google-build-using-namespace)
using skein::Duration;
using skein::Instant;

constexpr WebSocketLimits k_limits{.message_bytes = 300,
                                   .ping_every = std::chrono::seconds(5),
                                   .answer_within = std::chrono::seconds(3),
                                   .receive = std::chrono::seconds(4)};
constexpr std::size_t k_control_bytes = 125;

struct Reading {
  std::vector<std::string> messages;
  std::string out;
  bool is_over = false;
};

// Whole frames that are not masked, and nothing after a close.
void check_said(std::string_view out, bool is_over) {
  bool has_closed = false;
  while (!out.empty()) {
    if (has_closed || out.size() < 2) std::abort();
    const auto first = static_cast<std::uint8_t>(out[0]);
    const auto size = static_cast<std::uint8_t>(out[1]);
    if (size > k_control_bytes || out.size() < 2U + size) std::abort();
    if (first != 0x88U && first != 0x89U && first != 0x8aU) std::abort();
    has_closed = first == 0x88U;
    out.remove_prefix(2U + size);
  }
  if (is_over && !has_closed) std::abort();
}

Reading read(std::string_view all, std::size_t piece, Duration pause) {
  Reading reading;
  Instant now{};
  WebSocket socket(k_limits, now);
  std::string in;
  while (!all.empty() && !socket.is_over()) {
    in += all.substr(0, piece);
    all.remove_prefix(std::min(piece, all.size()));
    while (true) {
      std::optional<std::string> message;
      const std::size_t used = socket.receive(in, now, message, reading.out);
      if (used > in.size()) std::abort();
      in.erase(0, used);
      if (!message) break;
      if (message->size() > k_limits.message_bytes || !skein::is_utf8(*message)) std::abort();
      if (socket.is_closing()) std::abort();
      reading.messages.push_back(*message);
    }
    // No more than a frame of the limit's size is ever kept waiting.
    if (in.size() > k_limits.message_bytes + 16 + piece) std::abort();
    now = later(now, pause);
    if (pause > Duration::zero()) socket.on_time(now, reading.out);
  }
  reading.is_over = socket.is_over();
  check_said(reading.out, reading.is_over);
  return reading;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t piece = std::size_t{data[0]} + 1;
  const Reading whole = read(bytes, std::max<std::size_t>(bytes.size(), 1), Duration::zero());
  const Reading pieces = read(bytes, piece, Duration::zero());
  if (whole.messages != pieces.messages || whole.out != pieces.out || whole.is_over != pieces.is_over) std::abort();
  (void)read(bytes, piece, std::chrono::milliseconds(700));
  return 0;
}
