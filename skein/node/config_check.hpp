// What is wrong with a config that can be read: programs and folders that are not there, keys that mean nothing where
// they stand. For `skein config check`, which takes it for errors, and for the node, which warns of it and starts all
// the same: a program may be installed later. Looks at the file system; any thread.
#pragma once

#include <vector>

#include "skein/node/config.hpp"

namespace skein::inline v0::node {

// In the order of their lines.
[[nodiscard]] std::vector<ConfigFault> check_surroundings(const Config& config);

}  // namespace skein::inline v0::node
