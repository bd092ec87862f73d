#include "skein/operations/json_check.hpp"

#include <fmt/format.h>

#include "skein/base/json_text.hpp"

namespace skein::inline v0::operations {

std::optional<Error> check_json(std::string_view text, std::size_t depth_max) {
  const auto fault = check_json_text(text, depth_max);
  if (!fault) return std::nullopt;
  return Error{Code::invalid_json, fmt::format("the params are not JSON: {} at byte {}", fault->why, fault->at),
               fmt::format("send one JSON value, nested at most {} deep", depth_max), std::chrono::milliseconds(0)};
}

}  // namespace skein::inline v0::operations
