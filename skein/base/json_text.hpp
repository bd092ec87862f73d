// JSON as text: is it JSON, and where in it are the members of an object? Nothing is built or copied, so that a value
// which only passes through stays as it was written. Pure; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace skein::inline v0 {

struct JsonFault {
  std::string why;
  std::size_t at = 0;  // the byte
};

// Nothing when the text is one JSON value (RFC 8259, valid UTF-8) nested at most `depth_max` deep.
[[nodiscard]] std::optional<JsonFault> check_json_text(std::string_view text, std::size_t depth_max);

// Walks the members of an object in a text that check_json_text found good.
class JsonMembers {
 public:
  struct Member {
    std::string_view name;   // as written between its quotes
    std::string_view value;  // likewise, a string with its quotes
  };
  explicit JsonMembers(std::string_view object);
  // Nothing at the end, or when it is no object.
  [[nodiscard]] std::optional<Member> next();

 private:
  void skip_space();
  [[nodiscard]] std::string_view take_value();

  std::string_view rest_;
};

// Its text with quotes, to be put into JSON. What is not UTF-8 in it becomes U+FFFD.
[[nodiscard]] std::string quoted_json(std::string_view text);
// The text of a JSON string given with its quotes; nothing when it is something else.
[[nodiscard]] std::optional<std::string> unquoted_json(std::string_view value);
// The same value on one line. The text must be JSON.
[[nodiscard]] std::string on_one_line(std::string_view json);

}  // namespace skein::inline v0
