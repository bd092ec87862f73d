#include "skein/mcp/message_glance.hpp"

#include <boost/json/parse.hpp>
#include <utility>

#include "skein/mcp/json_rpc.hpp"

namespace skein::inline v0::mcp {
namespace {

constexpr std::size_t k_key_text_max = 16;                        // names of members that matter are shorter
constexpr std::size_t k_value_text_max = 6 * k_id_bytes_max + 2;  // every byte may be written as \u00xx

bool is_json_space(char each) { return each == ' ' || each == '\t' || each == '\r' || each == '\n'; }

}  // namespace

void MessageGlance::feed(std::string_view bytes) {
  for (const char each : bytes) take(each);
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
  const bool matters = is_key_ || member_ == Member::id || member_ == Member::method;
  if (depth_ != 1 || !matters) return;
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
  boost::json::error_code error;
  boost::json::value value = is_plain ? boost::json::parse(text, error) : boost::json::value();
  if (error) value = nullptr;
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
