#include "skein/operations/json_check.hpp"

#include <fmt/format.h>

#include <boost/json/basic_parser_impl.hpp>

namespace skein::inline v0::operations {
namespace {

namespace json = boost::json;
using Bad = boost::system::error_code;

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

}  // namespace

std::optional<Error> check_json(std::string_view text, std::size_t depth_max) {
  json::parse_options options;
  options.max_depth = depth_max;
  json::basic_parser<Listener> parser(options);
  Bad bad;
  const std::size_t read = parser.write_some(false, text.data(), text.size(), bad);
  if (!bad && read == text.size()) return std::nullopt;
  const std::string why = !bad ? "there is more after the value" : bad.message();
  return Error{Code::invalid_json, fmt::format("the params are not JSON: {} at byte {}", why, read),
               fmt::format("send one JSON value, nested at most {} deep", depth_max), std::chrono::milliseconds(0)};
}

}  // namespace skein::inline v0::operations
