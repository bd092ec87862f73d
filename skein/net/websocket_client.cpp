#include "skein/net/websocket_client.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "skein/net/websocket.hpp"

namespace skein::inline v0::net {
namespace {

constexpr std::uint8_t k_last_frame = 0x80;
constexpr std::uint8_t k_reserved = 0x70;
constexpr std::uint8_t k_op_text = 0x1;
constexpr std::uint8_t k_op_binary = 0x2;
constexpr std::uint8_t k_op_close = 0x8;
constexpr std::uint8_t k_op_ping = 0x9;
constexpr std::uint8_t k_op_pong = 0xa;
constexpr std::size_t k_short_length = 125;
constexpr std::uint8_t k_two_bytes = 126;
constexpr std::uint8_t k_eight_bytes = 127;

std::string nonce_of(const std::function<std::uint64_t()>& random) {
  const std::array<std::uint64_t, 2> words{random(), random()};
  std::array<unsigned char, 16> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(words[i / 8] >> (8U * (i % 8)));
  std::array<unsigned char, 32> text{};
  const int length = ::EVP_EncodeBlock(text.data(), bytes.data(), static_cast<int>(bytes.size()));
  return {reinterpret_cast<const char*>(text.data()), static_cast<std::size_t>(length)};
}

// The value of a header in the head of a response; its name in small letters.
std::optional<std::string> header_in(std::string_view head, std::string_view name) {
  for (std::size_t at = head.find("\r\n"); at != std::string_view::npos; at = head.find("\r\n", at)) {
    at += 2;
    const std::string_view line = head.substr(at, head.find("\r\n", at) - at);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    std::string key(line.substr(0, colon));
    std::ranges::transform(key, key.begin(),
                           [](char each) { return each >= 'A' && each <= 'Z' ? static_cast<char>(each + 32) : each; });
    if (key != name) continue;
    const std::size_t from = line.find_first_not_of(" \t", colon + 1);
    return std::string(from == std::string_view::npos ? std::string_view() : line.substr(from));
  }
  return std::nullopt;
}

int status_in(std::string_view head) {
  int status = 0;
  if (!head.starts_with("HTTP/1.1 ") && !head.starts_with("HTTP/1.0 ")) return 0;
  const std::string_view number = head.substr(9, 3);
  const auto read = std::from_chars(number.data(), number.data() + number.size(), status);
  return read.ec == std::errc() ? status : 0;
}

}  // namespace

WebSocketClient::WebSocketClient(std::function<std::uint64_t()> random)
    : random_(std::move(random)), key_(nonce_of(random_)) {}

std::string WebSocketClient::request(std::string_view host, std::string_view path, const Headers& more) const {
  std::string text = fmt::format(
      "GET {} HTTP/1.1\r\nHost: {}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Key: {}\r\nSec-WebSocket-Protocol: mcp\r\n",
      path, host, key_);
  for (const auto& [name, value] : more) text += fmt::format("{}: {}\r\n", name, value);
  return text + "\r\n";
}

void WebSocketClient::end(std::string why) {
  if (state_ == State::over) return;
  state_ = State::over;
  why_ = std::move(why);
  in_.clear();
}

void WebSocketClient::receive(std::string_view bytes, std::vector<std::string>& messages, std::string& out) {
  if (state_ == State::over) return;
  in_ += bytes;
  if (refused_with_ != 0) return take_refusal();
  if (state_ == State::asking) take_head(out, messages);
  while (state_ == State::open && take_frame(messages, out)) continue;
}

void WebSocketClient::take_head(std::string& out, std::vector<std::string>& messages) {
  const std::size_t end_of_head = in_.find("\r\n\r\n");
  if (end_of_head == std::string::npos) {
    if (in_.size() > k_client_head_max) end("what is there does not speak HTTP");
    return;
  }
  const std::string_view head = std::string_view(in_).substr(0, end_of_head);
  const int status = status_in(head);
  if (status == 0) return end("what is there does not speak HTTP");
  if (status != 101) {
    refused_with_ = status;
    return take_refusal();
  }
  if (header_in(head, "sec-websocket-accept") != websocket_accept(key_)) {
    return end("the server does not know WebSocket: its Sec-WebSocket-Accept is wrong");
  }
  state_ = State::open;
  in_.erase(0, end_of_head + 4);
  while (state_ == State::open && take_frame(messages, out)) continue;
}

// What the server says to it is the reason.
void WebSocketClient::take_refusal() {
  const std::size_t end_of_head = in_.find("\r\n\r\n");
  const std::string_view head = std::string_view(in_).substr(0, end_of_head);
  const std::string length = header_in(head, "content-length").value_or("0");
  std::size_t bytes = 0;
  std::from_chars(length.data(), length.data() + length.size(), bytes);
  const std::string_view body = std::string_view(in_).substr(end_of_head + 4);
  if (body.size() < std::min(bytes, k_client_head_max)) return;
  std::string text(body.substr(0, body.find('\n')));
  end(fmt::format("HTTP {}{}{}", refused_with_, text.empty() ? "" : ": ", text));
}

bool WebSocketClient::take_frame(std::vector<std::string>& messages, std::string& out) {
  const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(in_[at]); };
  if (in_.size() < 2) return false;
  const std::uint8_t first = byte(0);
  std::uint64_t bytes = byte(1);
  if ((first & k_reserved) != 0 || (bytes & 0x80U) != 0) {
    end("the server sent a frame that is none");
    return false;
  }
  const std::size_t more = bytes == k_two_bytes ? 2 : bytes == k_eight_bytes ? 8 : 0;
  if (in_.size() < 2 + more) return false;
  if (more != 0) bytes = 0;
  for (std::size_t i = 0; i < more; ++i) bytes = (bytes << 8U) | byte(2 + i);
  if (bytes > k_client_message_max - std::min(message_.size(), k_client_message_max)) {
    end("the server sent more than a message may have");
    return false;
  }
  const auto size = static_cast<std::size_t>(bytes);
  if (in_.size() < 2 + more + size) return false;
  const std::string payload = in_.substr(2 + more, size);
  in_.erase(0, 2 + more + size);
  on_frame(first, payload, messages, out);
  return state_ == State::open;
}

void WebSocketClient::on_frame(std::uint8_t first, std::string_view payload, std::vector<std::string>& messages,
                               std::string& out) {
  const std::uint8_t opcode = first & 0x0fU;
  if (opcode == k_op_ping) {
    out += masked(k_op_pong, payload);
  } else if (opcode == k_op_close) {
    out += masked(k_op_close, payload.substr(0, 2));
    close_reason_ = payload.size() > 2 ? payload.substr(2) : std::string_view();
    end(close_reason_.empty() ? "the server closed the connection"
                              : "the server closed the connection: " + close_reason_);
  } else if (opcode == k_op_pong) {
    return;
  } else if (opcode == k_op_binary || opcode > k_op_binary || (opcode == 0) != is_in_message_) {
    end("the server sent a frame that does not belong there");
  } else {
    message_ += payload;
    is_in_message_ = (first & k_last_frame) == 0;
    if (!is_in_message_) messages.push_back(std::exchange(message_, {}));
  }
}

std::string WebSocketClient::masked(std::uint8_t opcode, std::string_view payload) {
  std::string out(1, static_cast<char>(k_last_frame | opcode));
  const auto put_number = [&](unsigned count) {
    for (unsigned i = count; i > 0; --i) out += static_cast<char>((payload.size() >> (8U * (i - 1))) & 0xffU);
  };
  if (payload.size() <= k_short_length) {
    out += static_cast<char>(0x80U | payload.size());
  } else if (payload.size() <= 0xffff) {
    out += static_cast<char>(0x80U | k_two_bytes);
    put_number(2);
  } else {
    out += static_cast<char>(0x80U | k_eight_bytes);
    put_number(8);
  }
  const std::uint64_t random = random_();
  std::array<char, 4> mask{};
  for (std::size_t i = 0; i < mask.size(); ++i) mask[i] = static_cast<char>((random >> (8U * i)) & 0xffU);
  out.append(mask.data(), mask.size());
  for (std::size_t i = 0; i < payload.size(); ++i) out += static_cast<char>(payload[i] ^ mask[i % mask.size()]);
  return out;
}

std::string WebSocketClient::frame(std::string_view text) { return masked(k_op_text, text); }

std::string WebSocketClient::close() {
  constexpr std::string_view k_normal = "\x03\xe8";
  return masked(k_op_close, k_normal);
}

}  // namespace skein::inline v0::net
