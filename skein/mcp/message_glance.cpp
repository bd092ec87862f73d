#include "skein/mcp/message_glance.hpp"

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <charconv>
#include <utility>

#include "skein/mcp/json_rpc.hpp"

namespace skein::inline v0::mcp {
namespace {

constexpr std::size_t k_simple_digits = 18;                       // of a number that fits for certain
constexpr std::size_t k_key_text_max = 16;                        // names of members that matter are shorter
constexpr std::size_t k_value_text_max = 6 * k_id_bytes_max + 2;  // every byte may be written as \u00xx

bool is_json_space(char each) { return each == ' ' || each == '\t' || each == '\r' || each == '\n'; }

// A string in which every character stands for itself; its quotes are left out.
bool is_simple_string(std::string_view text) {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return false;
  return std::ranges::all_of(text.substr(1, text.size() - 2),
                             [](char each) { return each >= ' ' && each <= '~' && each != '"' && each != '\\'; });
}

// A positive whole number without a leading zero, far from the largest.
bool is_simple_number(std::string_view text) {
  if (text.empty() || text.size() > k_simple_digits || text.front() == '0') return false;
  return std::ranges::all_of(text, [](char each) { return each >= '0' && each <= '9'; });
}

// Null for what is no JSON. What nearly all ids and methods look like is read without a parser.
boost::json::value value_of(std::string_view text) {
  if (is_simple_string(text)) return boost::json::string(text.substr(1, text.size() - 2));
  if (is_simple_number(text)) {
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
  }
  boost::json::error_code error;
  boost::json::value value = boost::json::parse(text, error);
  return error ? boost::json::value() : value;
}

// Which bytes may change what is seen.
using Stops = std::array<bool, 256>;
constexpr Stops stops_of(std::string_view all) {
  Stops stops{};
  for (const char each : all) stops[static_cast<unsigned char>(each)] = true;
  return stops;
}
constexpr Stops k_stops = stops_of("\"{}[],:");
constexpr Stops k_stops_deeper = stops_of("\"{}[]");
constexpr Stops k_stops_in_strings = stops_of("\"\\");

}  // namespace

void MessageGlance::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    if (!is_recorded()) bytes.remove_prefix(skipped(bytes));
    if (bytes.empty()) return;
    take(bytes.front());
    bytes.remove_prefix(1);
  }
}

// How many bytes from here on change nothing; only of what is not recorded.
std::size_t MessageGlance::skipped(std::string_view bytes) const {
  if (is_escaped_) return 0;
  const auto& stops = in_string_ ? k_stops_in_strings : depth_ > 1 ? k_stops_deeper : k_stops;
  std::size_t at = 0;
  while (at < bytes.size() && !stops[static_cast<unsigned char>(bytes[at])]) ++at;
  return at;
}

bool MessageGlance::is_recorded() const {
  return depth_ == 1 && (is_key_ || member_ == Member::id || member_ == Member::method);
}

void MessageGlance::take(char each) {
  if (in_string_) {
    record(each);
    if (is_escaped_) {
      is_escaped_ = false;
    } else if (each == '\\') {
      is_escaped_ = true;
    } else if (each == '"') {
      in_string_ = false;
    }
    return;
  }
  switch (each) {
    case '"':
      in_string_ = true;
      return record(each);
    case '{':
    case '[':
      ++depth_;
      is_plain_ = false;
      if (depth_ != 1) return;
      is_object_ = each == '{';
      is_key_ = true;
      return;
    case '}':
    case ']':
      if (depth_ == 1) end_member();
      if (depth_ > 0) --depth_;
      return;
    case ',':
      if (depth_ == 1) end_member();
      return;
    case ':':
      if (depth_ == 1 && is_key_) return end_key();
      return record(each);
    default:
      if (!is_json_space(each)) record(each);
  }
}

void MessageGlance::record(char each) {
  if (!is_recorded()) return;
  if (recorded_.size() < (is_key_ ? k_key_text_max : k_value_text_max)) {
    recorded_ += each;
  } else {
    is_plain_ = false;
  }
}

void MessageGlance::end_key() {
  const std::string key = std::exchange(recorded_, {});
  member_ = Member::other;
  if (key == R"("id")") member_ = Member::id;
  if (key == R"("method")") member_ = Member::method;
  if (key == R"("result")") member_ = Member::result;
  if (key == R"("error")") member_ = Member::error;
  has_result_ = has_result_ || (is_object_ && member_ == Member::result);
  has_error_ = has_error_ || (is_object_ && member_ == Member::error);
  is_key_ = false;
  is_plain_ = true;
}

void MessageGlance::end_member() {
  const std::string text = std::exchange(recorded_, {});
  const Member member = std::exchange(member_, Member::other);
  const bool is_plain = std::exchange(is_plain_, true);
  is_key_ = true;
  if (!is_object_ || (member != Member::id && member != Member::method)) return;
  boost::json::value value = is_plain ? value_of(text) : boost::json::value();
  if (member == Member::method) {
    const boost::json::string* name = value.if_string();
    method_ = name != nullptr && !has_method_ ? std::string(*name) : std::string();
    has_method_ = true;
    return;
  }
  const boost::json::string* name = value.if_string();
  const bool is_id = (name != nullptr && name->size() <= k_id_bytes_max) || value.is_int64() || value.is_uint64();
  id_ = is_id && !has_id_ ? std::move(value) : boost::json::value();
  has_id_ = true;
}

}  // namespace skein::inline v0::mcp
