// REST described as OpenAPI 3.1, from the table of operations. Pure; any thread.
#pragma once

#include <boost/json/object.hpp>

namespace skein::inline v0::rest {

// The whole file. What an answer may hold is closed: a member that is not in its schema does not come.
[[nodiscard]] const boost::json::object& openapi();

}  // namespace skein::inline v0::rest
