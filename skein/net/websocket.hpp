// WebSocket (RFC 6455), the server's side of one connection: bytes become messages, messages become bytes. Pure: knows
// no socket, and the time is handed in. One thread at a time.
//
// 1. What a client may not send (a frame that is not masked, a reserved bit, a broken fragment, text that is not UTF-8,
//    more than the limit) ends the connection with the code that RFC 6455 has for it, and nothing after it is read.
// 2. A ping is answered. A client that was not heard for `ping_every` is sent one, and one that does not answer it
//    within `answer_within` is taken for gone. One whose message is not whole after `receive` is ended, too.
// 3. Extensions are not spoken: none is offered, and their bits are refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skein/base/time.hpp"
#include "skein/net/http.hpp"

namespace skein::inline v0::net {

struct WebSocketLimits {
  std::size_t message_bytes = 4ULL << 20U;
  Duration ping_every = std::chrono::seconds(30);
  Duration answer_within = std::chrono::seconds(20);  // to a ping, or to our close
  Duration receive = std::chrono::seconds(30);        // from the first byte of a message to its last
};

// Why a connection ends; RFC 6455, section 7.4.1.
enum class WebSocketClose : std::uint16_t {
  normal = 1000,
  going_away = 1001,
  protocol_error = 1002,
  not_taken = 1003,  // binary, where text is spoken
  no_code = 1005,    // never sent
  not_utf8 = 1007,
  policy = 1008,
  too_big = 1009,
};

class WebSocket {
 public:
  WebSocket(const WebSocketLimits& limits, Instant now) : limits_(limits), heard_at_(now) {}

  // What came: up to the first whole message, so that its answer can be written before the next is looked at. What must
  // be said goes to `out`. Gives how many bytes of `in` it is done with; the rest comes again.
  std::size_t receive(std::string_view in, Instant now, std::optional<std::string>& message, std::string& out);
  // Now and then, while nothing comes.
  void on_time(Instant now, std::string& out);
  // Called instead of on_time() while nothing is read from the client: silence then does not count against it.
  void held_back(Instant now);
  // We end it: nothing that comes is a message any more, and the client has answer_within to say goodbye.
  void close(WebSocketClose code, std::string_view why, Instant now, std::string& out);

  // A message. It must be UTF-8, and is_closing() false.
  [[nodiscard]] static std::string text_frame(std::string_view text);

  [[nodiscard]] bool is_closing() const { return is_closing_; }
  // Nothing more is sent or received: unsent bytes are still written, then the socket is closed.
  [[nodiscard]] bool is_over() const { return is_over_; }

 private:
  struct Frame {
    std::uint8_t opcode = 0;
    bool is_last = false;
    std::uint64_t bytes = 0;  // of its payload
    std::size_t head = 0;     // where that begins
    std::uint8_t mask[4] = {};
  };
  enum class Got : std::uint8_t { frame, needs_more, refused };

  void note_progress(bool has_part, Instant now);
  Got read_head(std::string_view in, Frame& frame, std::string& out);
  [[nodiscard]] bool is_allowed(const Frame& frame, std::string& out);
  void on_frame(const Frame& frame, std::string payload, std::optional<std::string>& message, std::string& out);
  void on_data(const Frame& frame, std::string payload, std::optional<std::string>& message, std::string& out);
  void on_close(std::string_view payload, std::string& out);
  // The client broke the protocol: the connection cannot go on.
  void fail(WebSocketClose code, std::string_view why, std::string& out);

  WebSocketLimits limits_;
  std::string message_;  // what came of one in fragments
  bool is_in_message_ = false;
  bool is_closing_ = false;  // our close is said
  bool is_over_ = false;
  bool is_pinged_ = false;  // and it was not heard since
  bool has_begun_ = false;  // a message that is not whole
  Instant heard_at_{};
  Instant pinged_at_{};
  Instant closed_at_{};
  Instant began_at_{};
};

// ---- The way in, RFC 6455, section 4.2 ----

// Whether a request asks for a WebSocket; it may still ask in a wrong way.
[[nodiscard]] bool wants_websocket(const HttpRequest& request);
// The answer to one that does: 101 with `protocol`, if it is not empty, or what is wrong.
[[nodiscard]] HttpResponse websocket_answer(const HttpRequest& request, std::string_view protocol);
// What Sec-WebSocket-Protocol offers, in its order.
[[nodiscard]] std::vector<std::string> websocket_protocols(const HttpRequest& request);
// Sec-WebSocket-Accept for a Sec-WebSocket-Key.
[[nodiscard]] std::string websocket_accept(std::string_view key);

}  // namespace skein::inline v0::net
