#include <fmt/format.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>

#include "skein/base/json_text.hpp"
#include "skein/operations/json_exact.hpp"
#include "skein/operations/json_forms.hpp"

namespace skein::inline v0::operations {
namespace {

constexpr std::size_t k_shown_depth = 512;

void write(const json::value& value, std::string& out) {
  if (const auto* object = value.if_object()) {
    char before = '{';
    for (const auto& [key, member] : *object) {
      out += before;
      out += json::serialize(json::string_view(key));
      out += ':';
      write(member, out);
      before = ',';
    }
    out += before == '{' ? "{}" : "}";
  } else if (const auto* array = value.if_array()) {
    char before = '[';
    for (const auto& each : *array) {
      out += before;
      write(each, out);
      before = ',';
    }
    out += before == '[' ? "[]" : "]";
  } else if (const auto* number = value.if_double(); number != nullptr && std::isfinite(*number)) {
    const std::string text = fmt::format("{}", *number);
    out += text;
    if (text.find_first_of(".e") == std::string::npos) out += ".0";
  } else if (const auto written = written_number(value)) {
    out += *written;
  } else {
    out += json::serialize(value);
  }
}

}  // namespace

std::string json_text(const json::value& value) {
  std::string out;
  write(value, out);
  return out;
}

json::value json_or_text(std::string_view text) {
  if (text.empty()) return nullptr;
  if (auto value = exact_json(text, k_shown_depth)) return std::move(*value);
  // Some functions answer with text; what is not UTF-8 in it cannot be shown.
  return json::parse(quoted_json(text));
}

json::value own_json(std::string_view text) {
  json::parse_options options;
  options.max_depth = k_shown_depth;
  return json::parse(text, {}, options);
}

}  // namespace skein::inline v0::operations
