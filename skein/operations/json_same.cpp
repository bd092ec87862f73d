#include "skein/operations/json_same.hpp"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <charconv>
#include <optional>
#include <string>

#include "skein/operations/json_exact.hpp"

namespace skein::inline v0::operations {
namespace {

constexpr std::size_t k_compared_depth = 512;

// As a double, if that holds the number exactly as far as its text tells; nothing when it is no number.
std::optional<double> number_in(const boost::json::value& value) {
  if (value.is_number()) return value.to_number<double>();
  const auto written = written_number(value);
  if (!written) return std::nullopt;
  double number = 0;
  const auto read = std::from_chars(written->data(), written->data() + written->size(), number);
  return read.ec == std::errc() ? std::optional(number) : std::nullopt;
}

bool is_same_number(const boost::json::value& left, const boost::json::value& right) {
  const auto written_left = written_number(left);
  const auto written_right = written_number(right);
  if (written_left && written_right && *written_left == *written_right) return true;
  const bool are_whole = !written_left && !written_right && !left.is_double() && !right.is_double();
  if (are_whole) return left == right;
  const auto one = number_in(left);
  const auto other = number_in(right);
  // Beyond 2^53 a double stands for several whole numbers: those are the same only as they are written.
  constexpr double k_exact = 9007199254740992.0;
  return one && other && *one == *other && *one > -k_exact && *one < k_exact;
}

bool is_same_value(const boost::json::value& left, const boost::json::value& right) {
  if (number_in(left) || number_in(right)) return is_same_number(left, right);
  if (left.kind() != right.kind()) return false;
  if (const auto* array = left.if_array()) return std::ranges::equal(*array, right.get_array(), is_same_value);
  const auto* object = left.if_object();
  if (object == nullptr) return left == right;
  const auto& other = right.get_object();
  return object->size() == other.size() && std::ranges::all_of(*object, [&](const auto& each) {
           const boost::json::value* found = other.if_contains(each.key());
           return found != nullptr && is_same_value(each.value(), *found);
         });
}

}  // namespace

bool is_same_json(std::string_view left, std::string_view right) {
  if (left == right) return true;
  const auto value_of = [](std::string_view text) -> std::optional<boost::json::value> {
    if (text.empty()) return boost::json::value();
    return exact_json(text, k_compared_depth);
  };
  const auto one = value_of(left);
  const auto other = value_of(right);
  return one && other && is_same_value(*one, *other);
}

}  // namespace skein::inline v0::operations
