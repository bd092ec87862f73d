// One request and one WebSocket message, read by skein's parsers and by Boost.Beast's; and what each says to requests
// that are not plainly right. For docs/adr/0002-http.md. Not part of the build:
//
//   g++ -O2 -std=c++23 -DFMT_SHARED -I. bench/adr/http_parsers.cpp skein/net/http.cpp skein/net/websocket.cpp \
//       skein/base/utf8.cpp -lfmt -lcrypto -o build/http_parsers
//   build/http_parsers speed; build/http_parsers hostile
#include <boost/asio/io_context.hpp>
#include <boost/beast/_experimental/test/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skein/net/http.hpp"
#include "skein/net/websocket.hpp"

namespace {

namespace beast = boost::beast;
namespace net = skein::net;
using Clock = std::chrono::steady_clock;

constexpr int k_rounds = 7;
constexpr int k_requests = 200'000;
constexpr int k_messages = 200'000;

const std::string k_body =
    R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"task_submit","arguments":{"type":"echo",)"
    R"("params":{"text":"to be or not to be"}}}})";
const std::string k_request =
    "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:7433\r\nContent-Type: application/json\r\n"
    "Accept: application/json, text/event-stream\r\nAuthorization: Bearer "
    "skein_0ea359d5970cc1f50ea359d5970cc1f50ea359d5970cc1f50ea359d5970cc1f5\r\nMcp-Session-Id: "
    "4bf92f3577b34da6a3ce929d0e0e4736\r\nMCP-Protocol-Version: 2025-11-25\r\nUser-Agent: node\r\n"
    "Content-Length: " +
    std::to_string(k_body.size()) + "\r\n\r\n" + k_body;

template <class F>
double best_ns(int count, F each_round) {
  double best = 1e18;
  for (int round = 0; round < k_rounds; ++round) {
    const auto begin = Clock::now();
    each_round();
    best = std::min(best, std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / count);
  }
  return best;
}

std::size_t sum = 0;  // so that nothing is left out

void read_ours() {
  net::HttpReader reader{net::HttpLimits{}};
  for (int i = 0; i < k_requests; ++i) {
    if (reader.read(k_request) != net::HttpReader::State::whole) std::abort();
    std::size_t used = 0;
    const net::HttpRequest request = reader.take(used);
    sum += request.body.size() + (request.header("authorization") != nullptr ? 1 : 0) + used;
  }
}

void read_beast() {
  for (int i = 0; i < k_requests; ++i) {
    beast::http::request_parser<beast::http::string_body> parser;
    parser.eager(true);
    parser.header_limit(16U << 10U);
    parser.body_limit(4U << 20U);
    beast::error_code error;
    const std::size_t used = parser.put(boost::asio::buffer(k_request), error);
    if (error || !parser.is_done()) std::abort();
    const auto request = parser.release();
    sum += request.body().size() + request.count(beast::http::field::authorization) + used;
  }
}

// A text message as a client sends it.
std::string masked_frame(std::string_view text) {
  std::string frame = {static_cast<char>(0x81), static_cast<char>(0x80 | 126), static_cast<char>(text.size() >> 8U),
                       static_cast<char>(text.size() & 0xffU)};
  const char mask[4] = {0x12, 0x34, 0x56, 0x78};
  frame.append(mask, 4);
  for (std::size_t i = 0; i < text.size(); ++i) frame += static_cast<char>(text[i] ^ mask[i % 4]);
  return frame;
}

std::string all_frames() {
  const std::string one = masked_frame(k_body);
  std::string all;
  for (int i = 0; i < k_messages; ++i) all += one;
  return all;
}

void read_frames_ours(std::string_view in) {
  const skein::Instant now{};
  net::WebSocket socket(net::WebSocketLimits{}, now);
  std::string out;
  for (int got = 0; got < k_messages;) {
    std::optional<std::string> message;
    in.remove_prefix(socket.receive(in.substr(0, 64U << 10U), now, message, out));
    if (message) {
      sum += message->size();
      ++got;
    }
  }
}

void read_frames_beast(std::string_view in) {
  boost::asio::io_context context;
  beast::test::stream stream(context);
  beast::test::stream client(context);
  stream.connect(client);
  stream.append(
      "GET /mcp HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n");
  beast::websocket::stream<beast::test::stream> socket(std::move(stream));
  socket.accept();
  socket.next_layer().append(in);
  beast::flat_buffer buffer;
  for (int got = 0; got < k_messages; ++got) {
    sum += socket.read(buffer);
    buffer.clear();
  }
}

void speed() {
  std::printf("request of %zu bytes: skein %.0f ns, Beast %.0f ns\n", k_request.size(), best_ns(k_requests, read_ours),
              best_ns(k_requests, read_beast));
  const std::string frames = all_frames();
  const double ours = best_ns(k_messages, [&] { read_frames_ours(frames); });
  const double theirs = best_ns(k_messages, [&] { read_frames_beast(frames); });
  std::printf("message of %zu bytes: skein %.0f ns, Beast %.0f ns (over its test stream)\n", k_body.size(), ours,
              theirs);
}

std::string ours_says(std::string_view in) {
  net::HttpReader reader{net::HttpLimits{}};
  switch (reader.read(in)) {
    case net::HttpReader::State::whole:
      return "taken";
    case net::HttpReader::State::needs_more:
      return "waits";
    default:
      return "refused " + std::to_string(reader.status());
  }
}

std::string beast_says(std::string_view in) {
  beast::http::request_parser<beast::http::string_body> parser;
  parser.eager(true);
  parser.header_limit(16U << 10U);
  parser.body_limit(4U << 20U);
  beast::error_code error;
  // put() takes one piece at a time where chunks are concerned.
  while (!error && !parser.is_done() && !in.empty()) {
    const std::size_t used = parser.put(boost::asio::buffer(in.data(), in.size()), error);
    if (used == 0 && !error) break;
    in.remove_prefix(used);
  }
  if (error == beast::http::error::need_more) return "waits";
  if (error) return "refused (" + error.message() + ")";
  return parser.is_done() ? "taken, body of " + std::to_string(parser.get().body().size()) : "waits";
}

void hostile() {
  const std::string post = "POST / HTTP/1.1\r\nHost: a\r\n";
  std::string many_headers = post;
  for (int i = 0; i < 200; ++i) many_headers += "a: b\r\n";
  std::string tiny_chunks = post + "Transfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < (1 << 20); ++i) tiny_chunks += "1;aaaaaaaaaa\r\nx\r\n";
  const std::vector<std::pair<const char*, std::string>> inputs = {
      {"a plain request", post + "Content-Length: 2\r\n\r\nab"},
      {"lines that end with LF alone", "GET / HTTP/1.1\nHost: a\n\n"},
      {"one header line that ends with LF alone", "GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n"},
      {"a folded header", post + "X: a\r\n b\r\n\r\n"},
      {"a space before the colon", post + "Content-Length : 2\r\n\r\nab"},
      {"no Host", "GET / HTTP/1.1\r\n\r\n"},
      {"two Hosts", post + "Host: b\r\n\r\n"},
      {"Content-Length twice, equal", post + "Content-Length: 2\r\nContent-Length: 2\r\n\r\nab"},
      {"Content-Length twice, different", post + "Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc"},
      {"Content-Length: 2, 2", post + "Content-Length: 2, 2\r\n\r\nab"},
      {"Content-Length: +2", post + "Content-Length: +2\r\n\r\nab"},
      {"Content-Length and Transfer-Encoding",
       post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
      {"Transfer-Encoding twice", post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
      {"Transfer-Encoding: gzip, chunked", post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"},
      {"Transfer-Encoding: xchunked", post + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"},
      {"Transfer-Encoding in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
      {"a chunk of 0x2 bytes", post + "Transfer-Encoding: chunked\r\n\r\n0x2\r\nab\r\n0\r\n\r\n"},
      {"a chunk of 2^64 bytes", post + "Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\nab\r\n0\r\n\r\n"},
      {"a NUL in a value", post + "X: a" + std::string(1, '\0') + "b\r\n\r\n"},
      {"a lone CR in a value", post + "X: a\rb\r\n\r\n"},
      {"a target in absolute form", "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n"},
      {"HTTP/3.7", "GET / HTTP/3.7\r\nHost: a\r\n\r\n"},
      {"200 headers", many_headers + "\r\n"},
      {"a million chunks of a byte", tiny_chunks + "0\r\n\r\n"},
  };
  for (const auto& [what, in] : inputs) {
    std::printf("%-40s | %-12s | %s\n", what, ours_says(in).c_str(), beast_says(in).c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc == 2 ? argv[1] : "";
  if (what == "speed") {
    speed();
  } else if (what == "hostile") {
    hostile();
  } else {
    std::fputs("usage: http_parsers speed | hostile\n", stderr);
    return 2;
  }
  return sum == 1 ? 1 : 0;
}
