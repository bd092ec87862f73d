// JSON values that keep numbers as they were written.
//
// A json::value holds a number as 64 bits, so 12345678901234567890123 or 0.1000000000000000055 would come out as
// another. exact_json() keeps such a one as a string that begins with a byte no UTF-8 has (0xFF), followed by the
// number as written; json_text() writes it without quotes. All other numbers are numbers. Pure; any thread.
#pragma once

#include <boost/json/value.hpp>
#include <optional>
#include <string_view>

namespace skein::inline v0::operations {

// Nothing when the text is not one JSON value nested at most `depth_max` deep. Duplicate members: the last one counts.
[[nodiscard]] std::optional<boost::json::value> exact_json(std::string_view text, std::size_t depth_max);
// A number in it may be another than it was written: one with a fraction, an exponent or more than 64 bits.
[[nodiscard]] bool may_be_inexact(const boost::json::value& value);
// The number as it was written, if this is one that exact_json() keeps so.
[[nodiscard]] std::optional<std::string_view> written_number(const boost::json::value& value);

}  // namespace skein::inline v0::operations
