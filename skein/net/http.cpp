#include "skein/net/http.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "skein/net/http_status.hpp"

namespace skein::inline v0::net {
namespace {

constexpr std::size_t k_target_bytes = 2048;
constexpr std::size_t k_chunk_line_bytes = 256;

bool is_token(std::string_view text) {
  const auto is_good = [](char each) {
    const bool is_word = (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') || (each >= '0' && each <= '9');
    return is_word || std::string_view("!#$%&'*+-.^_`|~").find(each) != std::string_view::npos;
  };
  return !text.empty() && std::ranges::all_of(text, is_good);
}

// Two searches: find_first_of() would look at one byte at a time, which took half of the time of a request.
bool has_line_end(std::string_view line) {
  return line.find('\r') != std::string_view::npos || line.find('\n') != std::string_view::npos;
}

// What may stand in a header's value.
bool is_field_text(std::string_view text) {
  return std::ranges::all_of(text, [](char each) {
    const auto byte = static_cast<unsigned char>(each);
    return byte == '\t' || (byte >= 0x20 && byte != 0x7f);
  });
}

bool is_target_text(std::string_view text) {
  return std::ranges::all_of(text, [](char each) { return each > 0x20 && each < 0x7f; });
}

std::string small(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](char each) { return each >= 'A' && each <= 'Z' ? static_cast<char>(each + 32) : each; });
  return out;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::optional<std::size_t> number_in(std::string_view text, int base) {
  std::size_t number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (text.empty() || read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

// One of the words of a list like "keep-alive, Upgrade".
bool has_word(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    if (small(trimmed(list.substr(0, end))) == word) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

}  // namespace

const std::string* HttpRequest::header(std::string_view name) const {
  const auto found = std::ranges::find_if(headers, [&](const auto& each) { return each.first == name; });
  return found != headers.end() ? &found->second : nullptr;
}

HttpReader::State HttpReader::refuse(int status, std::string why) {
  status_ = status;
  why_ = std::move(why);
  return State::refused;
}

HttpReader::State HttpReader::read(std::string_view in) {
  if (status_ != 0) return State::refused;
  if (!has_head_) {
    const std::size_t from = at_ > 3 ? at_ - 3 : 0;
    const std::size_t end = in.find("\r\n\r\n", from);
    // The last three bytes may be the beginning of its end.
    if (end == std::string_view::npos ? in.size() > limits_.head_bytes + 3 : end > limits_.head_bytes) {
      return refuse(http_status::k_header_fields_too_large,
                    fmt::format("the head has more than {} bytes", limits_.head_bytes));
    }
    if (end == std::string_view::npos) {
      at_ = in.size();
      return State::needs_more;
    }
    at_ = end + 4;
    has_head_ = true;
    const State state = read_head(in.substr(0, end));
    if (state != State::needs_more) return state;
  }
  return is_chunked_ ? read_chunks(in) : read_sized(in);
}

HttpReader::State HttpReader::read_head(std::string_view head) {
  std::size_t line_number = 0;
  while (true) {
    const std::size_t end = std::min(head.find("\r\n"), head.size());
    const std::string_view line = head.substr(0, end);
    if (has_line_end(line)) return refuse(http_status::k_bad_request, "a line must end with CR LF");
    if (line_number > limits_.headers) {
      return refuse(http_status::k_header_fields_too_large,
                    fmt::format("there are more than {} headers", limits_.headers));
    }
    if (!(line_number == 0 ? read_request_line(line) : read_header(line))) return State::refused;
    ++line_number;
    if (end == head.size()) break;
    head.remove_prefix(end + 2);
  }
  return settle_body();
}

bool HttpReader::read_request_line(std::string_view line) {
  const std::size_t first = line.find(' ');
  const std::size_t second = first == std::string_view::npos ? first : line.find(' ', first + 1);
  const auto wrong = [&](int status, const char* why) {
    refuse(status, why);
    return false;
  };
  if (second == std::string_view::npos) return wrong(http_status::k_bad_request, "the first line is no request");
  const std::string_view version = line.substr(second + 1);
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    return version.starts_with("HTTP/") ? wrong(http_status::k_version_not_supported, "HTTP/1.1 is spoken here")
                                        : wrong(http_status::k_bad_request, "the first line is no request");
  }
  minor_ = version.back() - '0';
  const std::string_view method = line.substr(0, first);
  std::string_view target = line.substr(first + 1, second - first - 1);
  if (!is_token(method)) return wrong(http_status::k_bad_request, "the method is none");
  if (target.size() > k_target_bytes) return wrong(http_status::k_uri_too_long, "the path is too long");
  if (!is_target_text(target)) return wrong(http_status::k_bad_request, "the path must begin with /");
  if (!target.starts_with('/') && !read_authority(target)) return false;
  request_.method = method;
  const std::size_t mark = target.find('?');
  request_.path = target.substr(0, mark);
  if (request_.path.empty()) request_.path = "/";
  if (mark != std::string_view::npos) request_.query = target.substr(mark + 1);
  return true;
}

// RFC 9112 3.2.2: a server must accept it, and take the host from it.
bool HttpReader::read_authority(std::string_view& target) {
  const std::size_t mark = target.find("://");
  const std::string scheme = small(target.substr(0, std::min(mark, target.size())));
  if (mark == std::string_view::npos || (scheme != "http" && scheme != "https")) {
    refuse(http_status::k_bad_request, "the path must begin with /");
    return false;
  }
  if (scheme == "https") {
    refuse(http_status::k_misdirected, "http is served here, not https");
    return false;
  }
  target.remove_prefix(mark + 3);
  const std::size_t end = std::min(target.find_first_of("/?"), target.size());
  authority_ = target.substr(0, end);
  target.remove_prefix(end);
  // A user before the host is a trick more often than not (RFC 9110 4.2.4).
  if (authority_.empty() || authority_.find_first_of("@#") != std::string::npos) {
    refuse(http_status::k_bad_request, "the target names no host");
    return false;
  }
  return true;
}

bool HttpReader::read_header(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) {
    refuse(http_status::k_bad_request, "a header is a name, a colon and a value");
    return false;
  }
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (!is_field_text(value)) {
    refuse(http_status::k_bad_request, "a header has bytes that do not belong there");
    return false;
  }
  request_.headers.emplace_back(small(line.substr(0, colon)), value);
  return true;
}

HttpReader::State HttpReader::settle_body() {
  const auto count = [&](std::string_view name) {
    return std::ranges::count_if(request_.headers, [&](const auto& each) { return each.first == name; });
  };
  if (count("host") > 1 || (minor_ == 1 && count("host") == 0)) {
    return refuse(http_status::k_bad_request, "there must be exactly one Host header");
  }
  if (!authority_.empty()) {
    std::erase_if(request_.headers, [](const auto& each) { return each.first == "host"; });
    request_.headers.emplace_back("host", authority_);
  }
  const auto closes = [](const auto& each) { return each.first == "connection" && has_word(each.second, "close"); };
  request_.takes_chunks = minor_ == 1;
  request_.keeps_alive = minor_ == 1 && std::ranges::none_of(request_.headers, closes);
  const auto codings = count("transfer-encoding");
  const auto lengths = count("content-length");
  if (codings + lengths > 1) return refuse(http_status::k_bad_request, "the body must have one length");
  if (codings == 1) {
    if (minor_ == 0 || small(*request_.header("transfer-encoding")) != "chunked") {
      return refuse(http_status::k_not_implemented, "no transfer encoding but chunked is known here");
    }
    is_chunked_ = true;
  } else if (lengths == 1) {
    const std::string& text = *request_.header("content-length");
    const auto length = number_in(text, 10);
    const bool is_digits = std::ranges::all_of(text, [](char each) { return each >= '0' && each <= '9'; });
    if (!is_digits || text.empty()) return refuse(http_status::k_bad_request, "Content-Length is no number");
    if (!length || *length > limits_.body_bytes) {
      return refuse(http_status::k_content_too_large,
                    fmt::format("the body has more than {} bytes", limits_.body_bytes));
    }
    body_bytes_ = *length;
  }
  const std::string* expect = request_.header("expect");
  wants_continue_ = minor_ == 1 && expect != nullptr && small(*expect) == "100-continue";
  return State::needs_more;
}

HttpReader::State HttpReader::read_sized(std::string_view in) {
  if (in.size() - at_ < body_bytes_) return State::needs_more;
  request_.body = in.substr(at_, body_bytes_);
  at_ += body_bytes_;
  return State::whole;
}

HttpReader::State HttpReader::read_chunks(std::string_view in) {
  while (true) {
    const std::size_t end = in.find("\r\n", at_);
    const std::size_t length = (end == std::string_view::npos ? in.size() : end) - at_;
    const std::size_t most = is_in_trailers_ ? limits_.head_bytes : k_chunk_line_bytes;
    if (length > (end == std::string_view::npos ? most + 1 : most)) {
      return refuse(http_status::k_bad_request, "a line between chunks is too long");
    }
    if (end == std::string_view::npos) return State::needs_more;
    const std::string_view line = in.substr(at_, length);
    if (has_line_end(line)) return refuse(http_status::k_bad_request, "a line must end with CR LF");
    if (is_in_trailers_) {
      // Passed over, and bounded by the head's limit together.
      at_ = end + 2;
      if (line.empty()) return State::whole;
      trailer_bytes_ += line.size();
      if (trailer_bytes_ > limits_.head_bytes) return refuse(http_status::k_bad_request, "the trailers are too long");
      continue;
    }
    const auto size = number_in(line.substr(0, line.find(';')), 16);
    if (!size || line.front() == '-') return refuse(http_status::k_bad_request, "a chunk has no size");
    if (*size > limits_.body_bytes - request_.body.size()) {
      return refuse(http_status::k_content_too_large,
                    fmt::format("the body has more than {} bytes", limits_.body_bytes));
    }
    if (*size == 0) {
      is_in_trailers_ = true;
      at_ = end + 2;
      continue;
    }
    if (in.size() - end - 2 < *size + 2) return State::needs_more;
    if (in.substr(end + 2 + *size, 2) != "\r\n")
      return refuse(http_status::k_bad_request, "a chunk is longer than it says");
    request_.body += in.substr(end + 2, *size);
    at_ = end + 2 + *size + 2;
    // What came is kept until the request is whole, and with a byte in each chunk that is many times the body.
    framing_bytes_ += length + 4;
    if (framing_bytes_ > limits_.body_bytes)
      return refuse(http_status::k_content_too_large, "the body comes in too many small chunks");
  }
}

HttpRequest HttpReader::take(std::size_t& used) {
  used = at_;
  HttpRequest request = std::move(request_);
  const HttpLimits limits = limits_;
  *this = HttpReader(limits);
  return request;
}

namespace {

std::string head_of(const HttpResponse& response, bool keeps_alive) {
  std::string text = fmt::format("HTTP/1.1 {} {}\r\n", response.status, http_reason(response.status));
  for (const auto& [name, value] : response.headers) text += fmt::format("{}: {}\r\n", name, value);
  if (!keeps_alive) text += "Connection: close\r\n";
  return text;
}

}  // namespace

std::string http_text(const HttpResponse& response, bool keeps_alive) {
  std::string text = head_of(response, keeps_alive);
  if (response.status != http_status::k_no_content && response.status != http_status::k_switching_protocols)
    text += fmt::format("Content-Length: {}\r\n", response.body.size());
  text += "\r\n";
  text += response.body;
  return text;
}

std::string http_stream_head(const HttpResponse& response, bool keeps_alive) {
  return head_of(response, keeps_alive) + "Transfer-Encoding: chunked\r\n\r\n";
}

std::string http_endless_head(const HttpResponse& response) { return head_of(response, false) + "\r\n"; }

std::string http_chunk(std::string_view bytes) { return fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes); }

}  // namespace skein::inline v0::net
