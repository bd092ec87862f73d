#include "skein/operations/json_exact.hpp"

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/value_stack.hpp>
#include <string>

#include "skein/operations/json_forms.hpp"

namespace skein::inline v0::operations {
namespace {

using Bad = boost::system::error_code;

constexpr char k_as_written = '\xFF';
constexpr std::string_view k_number_bytes = "0123456789+-.eE";

// Builds the value; the parser itself knows what JSON is.
struct ExactBuilder {
  static constexpr std::size_t max_object_size = json::object::max_size();
  static constexpr std::size_t max_array_size = json::array::max_size();
  static constexpr std::size_t max_key_size = json::string::max_size();
  static constexpr std::size_t max_string_size = json::string::max_size();
  using Text = json::string_view;

  bool on_document_begin(Bad& /*bad*/) { return true; }
  bool on_document_end(Bad& /*bad*/) { return true; }
  bool on_object_begin(Bad& /*bad*/) { return true; }
  bool on_object_end(std::size_t count, Bad& /*bad*/) {
    stack.push_object(count);
    return true;
  }
  bool on_array_begin(Bad& /*bad*/) { return true; }
  bool on_array_end(std::size_t count, Bad& /*bad*/) {
    stack.push_array(count);
    return true;
  }
  bool on_key_part(Text part, std::size_t /*bytes*/, Bad& /*bad*/) {
    stack.push_chars(part);
    return true;
  }
  bool on_key(Text part, std::size_t /*bytes*/, Bad& /*bad*/) {
    stack.push_key(part);
    return true;
  }
  bool on_string_part(Text part, std::size_t /*bytes*/, Bad& /*bad*/) {
    stack.push_chars(part);
    return true;
  }
  bool on_string(Text part, std::size_t /*bytes*/, Bad& /*bad*/) {
    stack.push_string(part);
    return true;
  }
  bool on_number_part(Text part, Bad& /*bad*/) {
    number.append(part);
    return true;
  }
  bool on_int64(std::int64_t value, Text last, Bad& /*bad*/) {
    if (take(json::value(value), last)) stack.push_int64(value);
    return true;
  }
  bool on_uint64(std::uint64_t value, Text last, Bad& /*bad*/) {
    if (take(json::value(value), last)) stack.push_uint64(value);
    return true;
  }
  bool on_double(double value, Text last, Bad& /*bad*/) {
    if (take(json::value(value), last)) stack.push_double(value);
    return true;
  }
  bool on_bool(bool value, Bad& /*bad*/) {
    stack.push_bool(value);
    return true;
  }
  bool on_null(Bad& /*bad*/) {
    stack.push_null();
    return true;
  }
  bool on_comment_part(Text /*part*/, Bad& /*bad*/) { return true; }
  bool on_comment(Text /*part*/, Bad& /*bad*/) { return true; }

  // False: its value would not be written as it was, so it is kept as text.
  bool take(const json::value& value, Text last) {
    number.append(last);
    const bool is_same = json_text(value) == number;
    if (!is_same) stack.push_string(k_as_written + number);
    number.clear();
    return is_same;
  }

  json::value_stack stack;
  std::string number;
};

}  // namespace

std::optional<json::value> exact_json(std::string_view text, std::size_t depth_max) {
  json::parse_options options;
  options.max_depth = depth_max;
  json::basic_parser<ExactBuilder> parser(options);
  parser.handler().stack.reset();
  Bad bad;
  const std::size_t read = parser.write_some(false, text.data(), text.size(), bad);
  if (bad || read != text.size()) return std::nullopt;
  return parser.handler().stack.release();
}

bool may_be_inexact(const json::value& value) {
  if (value.is_double()) return true;
  if (const json::array* array = value.if_array()) return std::ranges::any_of(*array, may_be_inexact);
  const json::object* object = value.if_object();
  return object != nullptr &&
         std::ranges::any_of(*object, [](const auto& each) { return may_be_inexact(each.value()); });
}

std::optional<std::string_view> written_number(const json::value& value) {
  const json::string* text = value.if_string();
  if (text == nullptr || text->size() < 2 || text->front() != k_as_written) return std::nullopt;
  const std::string_view number(text->data() + 1, text->size() - 1);
  if (number.find_first_not_of(k_number_bytes) != std::string_view::npos) return std::nullopt;
  return number;
}

}  // namespace skein::inline v0::operations
