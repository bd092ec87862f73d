// WebSocket (RFC 6455), the client's side of one connection: bytes become messages, messages become bytes. Pure: knows
// no socket, and randomness is handed in. One thread at a time. TLS is not spoken.
//
// 1. Nothing is a message before the server has switched, with the Sec-WebSocket-Accept that belongs to our key.
// 2. What a server may not send (a masked frame, a reserved bit, a broken fragment, a message over the limit) ends the
//    connection with a reason, and nothing after it is read. Pings are answered.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace skein::inline v0::net {

inline constexpr std::size_t k_client_message_max = 64ULL << 20U;  // from the server
inline constexpr std::size_t k_client_head_max = 16ULL << 10U;     // of its answer to our request, and of a refusal

class WebSocketClient {
 public:
  using Headers = std::vector<std::pair<std::string, std::string>>;
  // `random` gives 64 random bits each time.
  explicit WebSocketClient(std::function<std::uint64_t()> random);

  // The first bytes to send.
  [[nodiscard]] std::string request(std::string_view host, std::string_view path, const Headers& more) const;

  // What came. Whole messages are added to `messages`, what must be said to `out`.
  void receive(std::string_view bytes, std::vector<std::string>& messages, std::string& out);
  // A message as bytes; it must be UTF-8, and is_open() true.
  [[nodiscard]] std::string frame(std::string_view text);
  // Says goodbye; the server's answer ends it.
  [[nodiscard]] std::string close();

  [[nodiscard]] bool is_open() const { return state_ == State::open; }
  [[nodiscard]] bool is_over() const { return state_ == State::over; }
  // The status with which the server did not switch; 0: it did, or has not answered.
  [[nodiscard]] int refused_with() const { return refused_with_; }
  // Why it is over, for people.
  [[nodiscard]] const std::string& why() const { return why_; }
  // What the server said in its close frame; empty: nothing.
  [[nodiscard]] const std::string& close_reason() const { return close_reason_; }

 private:
  enum class State : std::uint8_t { asking, open, over };

  void take_head(std::string& out, std::vector<std::string>& messages);
  void take_refusal();
  // False: more bytes are needed, or it is over.
  [[nodiscard]] bool take_frame(std::vector<std::string>& messages, std::string& out);
  void on_frame(std::uint8_t first, std::string_view payload, std::vector<std::string>& messages, std::string& out);
  [[nodiscard]] std::string masked(std::uint8_t opcode, std::string_view payload);
  void end(std::string why);

  std::function<std::uint64_t()> random_;
  std::string key_;
  State state_ = State::asking;
  int refused_with_ = 0;
  std::string why_{};
  std::string close_reason_{};
  std::string in_{};
  std::string message_{};  // what came of one in fragments
  bool is_in_message_ = false;
};

}  // namespace skein::inline v0::net
