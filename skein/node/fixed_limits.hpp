// The limits that no config changes, for docs/limits.md. tests/tidy finds constants that are called a limit and are
// missing here. Pure.
#pragma once

#include <span>
#include <string_view>

namespace skein::inline v0::node {

struct FixedLimit {
  std::string_view what;
  std::string_view name;  // of the constant, with its layer
  std::string_view value;
  std::string_view at_limit;
};

[[nodiscard]] std::span<const FixedLimit> fixed_limits();

}  // namespace skein::inline v0::node
