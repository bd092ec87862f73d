#include "skein/net/websocket.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "skein/base/utf8.hpp"
#include "skein/net/http_status.hpp"

namespace skein::inline v0::net {
namespace {

constexpr std::uint8_t k_continuation = 0x0;
constexpr std::uint8_t k_text = 0x1;
constexpr std::uint8_t k_binary = 0x2;
constexpr std::uint8_t k_close = 0x8;
constexpr std::uint8_t k_ping = 0x9;
constexpr std::uint8_t k_pong = 0xa;
constexpr std::uint8_t k_control_bit = 0x8;
constexpr std::uint8_t k_last_bit = 0x80;
constexpr std::uint8_t k_reserved_bits = 0x70;
constexpr std::uint8_t k_mask_bit = 0x80;
constexpr std::uint8_t k_length_bits = 0x7f;
constexpr std::uint8_t k_length_2 = 126;  // two bytes of it follow
constexpr std::uint8_t k_length_8 = 127;  // eight
constexpr std::size_t k_control_bytes = 125;
constexpr std::size_t k_mask_bytes = 4;

constexpr std::string_view k_version = "13";
constexpr std::size_t k_key_chars = 24;  // 16 bytes in base64

std::uint8_t byte_at(std::string_view in, std::size_t at) { return static_cast<std::uint8_t>(in[at]); }

std::uint64_t number_at(std::string_view in, std::size_t at, std::size_t bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < bytes; ++i) number = (number << 8U) | byte_at(in, at + i);
  return number;
}

void put_frame(std::uint8_t opcode, std::string_view payload, std::string& out) {
  out += static_cast<char>(k_last_bit | opcode);
  const std::size_t size = payload.size();
  const auto put_number = [&](unsigned bytes) {
    for (unsigned i = bytes; i > 0; --i) out += static_cast<char>((size >> (8U * (i - 1))) & 0xffU);
  };
  if (size < k_length_2) {
    out += static_cast<char>(size);
  } else if (size <= 0xffff) {
    out += static_cast<char>(k_length_2);
    put_number(2);
  } else {
    out += static_cast<char>(k_length_8);
    put_number(8);
  }
  out += payload;
}

void put_close(WebSocketClose code, std::string_view why, std::string& out) {
  std::string payload;
  if (code != WebSocketClose::no_code) {
    const auto number = static_cast<std::uint16_t>(code);
    payload += static_cast<char>(number >> 8U);
    payload += static_cast<char>(number & 0xffU);
    payload += why.substr(0, k_control_bytes - 2);
  }
  put_frame(k_close, payload, out);
}

// Those that may be sent: 1004 to 1006 and 1015 never are.
bool is_close_code(std::uint64_t code) {
  const bool is_of_the_protocol = code >= 1000 && code <= 1014 && (code < 1004 || code > 1006);
  return is_of_the_protocol || (code >= 3000 && code <= 4999);
}

std::string small_text(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](char each) { return each >= 'A' && each <= 'Z' ? static_cast<char>(each + 32) : each; });
  return out;
}

// The words of a list like "keep-alive, Upgrade".
std::vector<std::string> words_of(std::string_view list) {
  std::vector<std::string> words;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    std::string_view word = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    while (!word.empty() && (word.front() == ' ' || word.front() == '\t')) word.remove_prefix(1);
    while (!word.empty() && (word.back() == ' ' || word.back() == '\t')) word.remove_suffix(1);
    if (!word.empty()) words.emplace_back(word);
  }
  return words;
}

bool says(const HttpRequest& request, std::string_view header, std::string_view word) {
  const std::string* found = request.header(header);
  if (found == nullptr) return false;
  return std::ranges::any_of(words_of(*found), [&](const std::string& each) { return small_text(each) == word; });
}

bool is_key(std::string_view key) {
  const auto is_digit = [](char each) {
    return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') || (each >= '0' && each <= '9') ||
           each == '+' || each == '/';
  };
  return key.size() == k_key_chars && key.ends_with("==") && std::ranges::all_of(key.substr(0, 22), is_digit);
}

}  // namespace

std::string WebSocket::text_frame(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 10);
  put_frame(k_text, text, out);
  return out;
}

std::size_t WebSocket::receive(std::string_view in, Instant now, std::optional<std::string>& message,
                               std::string& out) {
  std::size_t used = 0;
  if (!in.empty()) {
    heard_at_ = now;
    is_pinged_ = false;
  }
  while (!is_over_ && !message) {
    Frame frame;
    const std::string_view rest = in.substr(used);
    const Got got = read_head(rest, frame, out);
    if (got == Got::refused) break;
    const auto bytes = static_cast<std::size_t>(frame.bytes);
    if (got == Got::needs_more || rest.size() - frame.head < bytes) {
      note_progress(is_in_message_ || !rest.empty(), now);
      return used;
    }
    std::string payload(rest.substr(frame.head, bytes));
    for (std::size_t i = 0; i < payload.size(); ++i) {
      payload[i] = static_cast<char>(static_cast<std::uint8_t>(payload[i]) ^ frame.mask[i % k_mask_bytes]);
    }
    used += frame.head + bytes;
    on_frame(frame, std::move(payload), message, out);
    note_progress(is_in_message_, now);
  }
  return is_over_ ? in.size() : used;  // what comes after the end nobody reads
}

void WebSocket::note_progress(bool has_part, Instant now) {
  if (has_part && !has_begun_) began_at_ = now;
  has_begun_ = has_part;
}

void WebSocket::held_back(Instant now) {
  heard_at_ = now;
  pinged_at_ = now;
  began_at_ = now;
}

WebSocket::Got WebSocket::read_head(std::string_view in, Frame& frame, std::string& out) {
  if (in.size() < 2) return Got::needs_more;
  const std::uint8_t first = byte_at(in, 0);
  const std::uint8_t second = byte_at(in, 1);
  frame.opcode = first & 0x0fU;
  frame.is_last = (first & k_last_bit) != 0;
  if ((first & k_reserved_bits) != 0) {
    fail(WebSocketClose::protocol_error, "a reserved bit is set", out);
    return Got::refused;
  }
  if ((second & k_mask_bit) == 0) {
    fail(WebSocketClose::protocol_error, "a client masks its frames", out);
    return Got::refused;
  }
  const std::uint8_t length = second & k_length_bits;
  const std::size_t more = length == k_length_2 ? 2 : length == k_length_8 ? 8 : 0;
  if (in.size() < 2 + more) return Got::needs_more;
  frame.bytes = more == 0 ? length : number_at(in, 2, more);
  if (!is_allowed(frame, out)) return Got::refused;
  frame.head = 2 + more + k_mask_bytes;
  if (in.size() < frame.head) return Got::needs_more;
  for (std::size_t i = 0; i < k_mask_bytes; ++i) frame.mask[i] = byte_at(in, 2 + more + i);
  return Got::frame;
}

// Known from its head, before its payload is waited for.
bool WebSocket::is_allowed(const Frame& frame, std::string& out) {
  const bool is_control = (frame.opcode & k_control_bit) != 0;
  if (is_control && (frame.opcode > k_pong || !frame.is_last || frame.bytes > k_control_bytes)) {
    fail(WebSocketClose::protocol_error, "a control frame is whole, short and of a known kind", out);
  } else if (!is_control && frame.opcode > k_binary) {
    fail(WebSocketClose::protocol_error, "no such kind of frame", out);
  } else if (!is_control && (frame.opcode == k_continuation) != is_in_message_) {
    fail(WebSocketClose::protocol_error, "a fragment stands where none belongs", out);
  } else if (frame.opcode == k_binary) {
    fail(WebSocketClose::not_taken, "messages are text", out);
  } else if (!is_control && frame.bytes > limits_.message_bytes - message_.size()) {
    fail(WebSocketClose::too_big, fmt::format("a message has at most {} bytes", limits_.message_bytes), out);
  } else {
    return true;
  }
  return false;
}

void WebSocket::on_frame(const Frame& frame, std::string payload, std::optional<std::string>& message,
                         std::string& out) {
  switch (frame.opcode) {
    case k_close:
      return on_close(payload, out);
    case k_ping:
      if (!is_closing_) put_frame(k_pong, payload, out);
      return;
    case k_pong:
      return;
    default:
      return on_data(frame, std::move(payload), message, out);
  }
}

void WebSocket::on_data(const Frame& frame, std::string payload, std::optional<std::string>& message,
                        std::string& out) {
  if (message_.empty()) {
    message_ = std::move(payload);
  } else {
    message_ += payload;
  }
  is_in_message_ = !frame.is_last;
  if (!frame.is_last) return;
  std::string whole = std::exchange(message_, {});
  if (is_closing_) return;
  if (!is_utf8(whole)) return fail(WebSocketClose::not_utf8, "text is UTF-8", out);
  message = std::move(whole);
}

void WebSocket::on_close(std::string_view payload, std::string& out) {
  const bool has_code = payload.size() >= 2;
  const bool is_good =
      payload.empty() || (has_code && is_close_code(number_at(payload, 0, 2)) && is_utf8(payload.substr(2)));
  if (!is_good) return fail(WebSocketClose::protocol_error, "a close has a code and a reason in UTF-8", out);
  // Its own code goes back.
  if (!is_closing_) {
    put_close(has_code ? static_cast<WebSocketClose>(number_at(payload, 0, 2)) : WebSocketClose::no_code, "", out);
  }
  is_closing_ = true;
  is_over_ = true;
}

void WebSocket::fail(WebSocketClose code, std::string_view why, std::string& out) {
  if (!is_closing_) put_close(code, why, out);
  is_closing_ = true;
  is_over_ = true;
}

void WebSocket::close(WebSocketClose code, std::string_view why, Instant now, std::string& out) {
  if (is_closing_) return;
  put_close(code, why, out);
  is_closing_ = true;
  closed_at_ = now;
}

void WebSocket::on_time(Instant now, std::string& out) {
  if (is_over_) return;
  if (is_closing_) {
    is_over_ = between(closed_at_, now) >= limits_.answer_within;
  } else if (is_pinged_ && between(pinged_at_, now) >= limits_.answer_within) {
    fail(WebSocketClose::policy, "a ping was not answered", out);
  } else if (has_begun_ && between(began_at_, now) >= limits_.receive) {
    fail(WebSocketClose::policy, "the end of the message did not come in time", out);
  } else if (!is_pinged_ && between(heard_at_, now) >= limits_.ping_every) {
    put_frame(k_ping, "", out);
    is_pinged_ = true;
    pinged_at_ = now;
  }
}

bool wants_websocket(const HttpRequest& request) { return says(request, "upgrade", "websocket"); }

std::vector<std::string> websocket_protocols(const HttpRequest& request) {
  const std::string* offered = request.header("sec-websocket-protocol");
  return offered != nullptr ? words_of(*offered) : std::vector<std::string>();
}

std::string websocket_accept(std::string_view key) {
  const std::string text = std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (::EVP_Digest(text.data(), text.size(), digest.data(), &size, ::EVP_sha1(), nullptr) != 1) {
    throw std::runtime_error("SHA-1 failed");
  }
  std::array<unsigned char, 64> encoded{};
  const int length = ::EVP_EncodeBlock(encoded.data(), digest.data(), static_cast<int>(size));
  return {reinterpret_cast<const char*>(encoded.data()), static_cast<std::size_t>(length)};
}

HttpResponse websocket_answer(const HttpRequest& request, std::string_view protocol) {
  const auto wrong = [](int status, std::string why) {
    return HttpResponse{status,
                        {{"Upgrade", "websocket"},
                         {"Connection", "Upgrade"},
                         {"Sec-WebSocket-Version", std::string(k_version)},
                         {"Content-Type", "text/plain"}},
                        std::move(why)};
  };
  if (!wants_websocket(request) || !says(request, "connection", "upgrade")) {
    return wrong(http_status::k_upgrade_required, "a WebSocket is here: Connection: Upgrade, Upgrade: websocket\n");
  }
  const std::string* version = request.header("sec-websocket-version");
  if (version == nullptr || *version != k_version) {
    return wrong(http_status::k_upgrade_required, "Sec-WebSocket-Version must be 13\n");
  }
  const std::string* key = request.header("sec-websocket-key");
  if (request.method != "GET" || !request.body.empty() || key == nullptr || !is_key(*key)) {
    return wrong(http_status::k_bad_request, "a GET without a body, and a Sec-WebSocket-Key of 16 bytes in base64\n");
  }
  HttpResponse answer{
      http_status::k_switching_protocols,
      {{"Upgrade", "websocket"}, {"Connection", "Upgrade"}, {"Sec-WebSocket-Accept", websocket_accept(*key)}},
      ""};
  if (!protocol.empty()) answer.headers.emplace_back("Sec-WebSocket-Protocol", std::string(protocol));
  return answer;
}

}  // namespace skein::inline v0::net
