// The table of operations as JSON Schema: what a request may say, and what an answer holds. Pure; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <string_view>
#include <vector>

#include "skein/operations/table.hpp"

namespace skein::inline v0::operations {

// Of one parameter, with its default; its help as the description.
[[nodiscard]] json::object schema_of(const Param& param, Way way);
// An object of these parameters, as far as they are on this way in. Closed.
[[nodiscard]] json::object schema_of(const std::vector<Param>& params, Way way);
// A value for the default of a parameter on this way in; null when it has none.
[[nodiscard]] json::value default_of(const Param& param, Way way);

}  // namespace skein::inline v0::operations
