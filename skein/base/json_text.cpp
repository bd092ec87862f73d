#include "skein/base/json_text.hpp"

#include <algorithm>

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "skein/base/utf8.hpp"

namespace skein::inline v0 {
namespace {

namespace json = boost::json;
using Bad = boost::system::error_code;

constexpr std::string_view k_replacement = "\xEF\xBF\xBD";  // U+FFFD

// Agrees with everything; the parser itself knows what JSON is.
struct Listener {
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);
  using Text = json::string_view;

  bool on_document_begin(Bad&) { return true; }
  bool on_document_end(Bad&) { return true; }
  bool on_object_begin(Bad&) { return true; }
  bool on_object_end(std::size_t, Bad&) { return true; }
  bool on_array_begin(Bad&) { return true; }
  bool on_array_end(std::size_t, Bad&) { return true; }
  bool on_key_part(Text, std::size_t, Bad&) { return true; }
  bool on_key(Text, std::size_t, Bad&) { return true; }
  bool on_string_part(Text, std::size_t, Bad&) { return true; }
  bool on_string(Text, std::size_t, Bad&) { return true; }
  bool on_number_part(Text, Bad&) { return true; }
  bool on_int64(std::int64_t, Text, Bad&) { return true; }
  bool on_uint64(std::uint64_t, Text, Bad&) { return true; }
  bool on_double(double, Text, Bad&) { return true; }
  bool on_bool(bool, Bad&) { return true; }
  bool on_null(Bad&) { return true; }
  bool on_comment_part(Text, Bad&) { return true; }
  bool on_comment(Text, Bad&) { return true; }
};

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

std::optional<JsonFault> check_json_text(std::string_view text, std::size_t depth_max) {
  json::parse_options options;
  options.max_depth = depth_max;
  json::basic_parser<Listener> parser(options);
  Bad bad;
  const std::size_t read = parser.write_some(false, text.data(), text.size(), bad);
  if (!bad && read == text.size()) return std::nullopt;
  return JsonFault{!bad ? "there is more after the value" : bad.message(), read};
}

JsonMembers::JsonMembers(std::string_view object) : rest_(object) {
  skip_space();
  if (rest_.starts_with('{')) {
    rest_.remove_prefix(1);
  } else {
    rest_ = {};
  }
}

void JsonMembers::skip_space() {
  while (!rest_.empty() && is_space(rest_.front())) rest_.remove_prefix(1);
}

std::string_view JsonMembers::take_value() {
  std::size_t depth = 0;
  bool is_in_string = false;
  std::size_t at = 0;
  for (; at < rest_.size(); ++at) {
    const char c = rest_[at];
    if (is_in_string) {
      if (c == '\\') {
        ++at;
      } else if (c == '"') {
        is_in_string = false;
      }
      continue;
    }
    if (depth == 0 && (c == ',' || c == '}' || c == ']' || c == ':')) break;
    if (c == '"') is_in_string = true;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
  }
  std::string_view value = rest_.substr(0, std::min(at, rest_.size()));
  rest_.remove_prefix(value.size());
  while (!value.empty() && is_space(value.back())) value.remove_suffix(1);
  return value;
}

std::optional<JsonMembers::Member> JsonMembers::next() {
  skip_space();
  if (rest_.starts_with(',')) rest_.remove_prefix(1);
  skip_space();
  if (!rest_.starts_with('"')) return std::nullopt;
  Member member;
  const std::string_view name = take_value();
  member.name = name.size() < 2 ? std::string_view{} : name.substr(1, name.size() - 2);
  if (!rest_.starts_with(':')) return std::nullopt;
  rest_.remove_prefix(1);
  skip_space();
  member.value = take_value();
  return member;
}

std::string quoted_json(std::string_view text) {
  constexpr std::string_view k_hex = "0123456789abcdef";
  std::string out = "\"";
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char c = text.front();
    if (length == 0) {
      out += k_replacement;
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += "\\u00";
      out += k_hex[static_cast<unsigned char>(c) >> 4U];
      out += k_hex[static_cast<unsigned char>(c) & 0xFU];
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  out += '"';
  return out;
}

std::optional<std::string> unquoted_json(std::string_view value) {
  Bad bad;
  const json::value parsed = json::parse(json::string_view(value.data(), value.size()), bad);
  if (bad || !parsed.is_string()) return std::nullopt;
  return std::string(parsed.get_string());
}

std::string on_one_line(std::string_view json) {
  // Inside strings JSON allows no line break, so these are between the tokens.
  std::string line(json);
  std::replace_if(line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return line;
}

}  // namespace skein::inline v0
