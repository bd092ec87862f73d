// HTTP/1.1 requests from bytes, and responses to bytes. Pure: knows no socket and no clock. One thread at a time.
//
// It is strict, because two readers that understand a request differently are how requests are smuggled: lines end with
// CR LF, a header is not folded, a body has one length, and whatever is not plainly right is refused and the connection
// closed. Only what a server of JSON needs is here; a body is whole before it is handed on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skein/net/http_status.hpp"

namespace skein::inline v0::net {

struct HttpLimits {
  std::size_t head_bytes = 16ULL << 10U;
  std::size_t headers = 64;
  std::size_t body_bytes = 4ULL << 20U;
};

struct HttpRequest {
  std::string method;
  std::string path;                                          // as sent, up to the '?'
  std::string query;                                         // without it
  std::vector<std::pair<std::string, std::string>> headers;  // names in small letters
  std::string body;
  bool keeps_alive = true;
  bool takes_chunks = true;  // not in HTTP/1.0

  // Null when there is none.
  [[nodiscard]] const std::string* header(std::string_view name) const;
};

class HttpReader {
 public:
  explicit HttpReader(const HttpLimits& limits) : limits_(limits) {}

  enum class State : std::uint8_t { needs_more, whole, refused };
  // `in`: what came of this connection, from the first byte of this request on. May be called again when there is more.
  State read(std::string_view in);

  // The whole request, which began at the first byte of `in`; `used` is its length. The reader then starts over.
  [[nodiscard]] HttpRequest take(std::size_t& used);
  // Of a request whose body has not come whole: its head. Null before the head is there.
  [[nodiscard]] const HttpRequest* head() const { return has_head_ ? &request_ : nullptr; }
  // The client waits to be told before it sends the body. Says so once.
  [[nodiscard]] bool wants_continue() { return std::exchange(wants_continue_, false); }
  // Of a refused one: the status and why, for people.
  [[nodiscard]] int status() const { return status_; }
  [[nodiscard]] const std::string& why() const { return why_; }

 private:
  State refuse(int status, std::string why);
  State read_head(std::string_view head);
  [[nodiscard]] bool read_request_line(std::string_view line);
  // Of a target in absolute form: takes the scheme and the authority off it.
  [[nodiscard]] bool read_authority(std::string_view& target);
  [[nodiscard]] bool read_header(std::string_view line);
  State settle_body();
  State read_sized(std::string_view in);
  State read_chunks(std::string_view in);

  HttpLimits limits_;
  HttpRequest request_;
  std::string authority_;  // of a target in absolute form; counts instead of Host
  std::size_t at_ = 0;     // read so far
  bool has_head_ = false;
  bool is_chunked_ = false;
  bool is_in_trailers_ = false;
  bool wants_continue_ = false;
  std::size_t body_bytes_ = 0;
  std::size_t trailer_bytes_ = 0;
  std::size_t framing_bytes_ = 0;  // around chunks
  int minor_ = 1;
  int status_ = 0;
  std::string why_;
};

// A response with a body of known length.
struct HttpResponse {
  int status = http_status::k_ok;
  std::vector<std::pair<std::string, std::string>> headers{};
  std::string body{};
  bool closes = false;  // the connection ends with it, whatever the client likes
};
[[nodiscard]] std::string http_text(const HttpResponse& response, bool keeps_alive);
// The head of one that comes in pieces, each of them a chunk; an empty chunk ends it.
[[nodiscard]] std::string http_stream_head(const HttpResponse& response, bool keeps_alive);
// The head of one that ends with the connection, for HTTP/1.0 (RFC 9112 6.1).
[[nodiscard]] std::string http_endless_head(const HttpResponse& response);
[[nodiscard]] std::string http_chunk(std::string_view bytes);

}  // namespace skein::inline v0::net
