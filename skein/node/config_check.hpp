// Finds what is wrong with a config that can be read: programs, interpreters, folders, users and functions that are not
// there, keys without a meaning where they stand. For `skein config check`, which takes it for errors, and for the
// node, which only warns and still starts: a program may be installed later. Looks at the file system and the
// system's users; any thread.
#pragma once

#include <string>
#include <vector>

#include "skein/node/config.hpp"

namespace skein::inline v0::node {

// In the order of their lines. `functions`: those that the program has besides the built-in ones. An executor of no
// kind is passed over: reading the file has said so.
[[nodiscard]] std::vector<ConfigFault> check_surroundings(const Config& config,
                                                          const std::vector<std::string>& functions = {});

// All that is wrong with a file, keys and surroundings together; no faults: it is right.
[[nodiscard]] ConfigFaults check_config(const ConfigResult& config, const std::string& file);

}  // namespace skein::inline v0::node
