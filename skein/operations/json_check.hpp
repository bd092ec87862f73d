// Is a text one JSON value, and not nested too deep? Nothing is built of it. Pure; any thread.
#pragma once

#include <optional>
#include <string_view>

#include "skein/operations/error.hpp"

namespace skein::inline v0::operations {

// Nothing when it is.
[[nodiscard]] std::optional<Error> check_json(std::string_view text, std::size_t depth_max);

}  // namespace skein::inline v0::operations
