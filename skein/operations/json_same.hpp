// Whether two JSON texts say the same. Pure; any thread.
#pragma once

#include <string_view>

namespace skein::inline v0::operations {

// Spaces, the order of members and how a number is written make no difference: 1, 1.0 and 1e0 are one. Numbers that 64
// bits cannot hold are compared as they are written. An empty text is null; one that is no JSON is itself alone.
[[nodiscard]] bool is_same_json(std::string_view left, std::string_view right);

}  // namespace skein::inline v0::operations
