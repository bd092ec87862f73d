#include "skein/node/node_error.hpp"

#include <cstddef>
#include <iterator>

namespace skein::inline v0 {

std::string_view name_of(NodeError::Kind kind) {
  static constexpr std::string_view k_names[] = {
      "bad_config", "folder_in_use", "folder_unusable", "no_address", "start_failed", "invalid", "not_found",
      "refused",    "overloaded",    "timed_out",       "unknown",    "stopped",      "internal"};
  static_assert(std::size(k_names) == static_cast<std::size_t>(NodeError::Kind::internal) + 1);
  return k_names[static_cast<std::size_t>(kind)];
}

}  // namespace skein::inline v0
