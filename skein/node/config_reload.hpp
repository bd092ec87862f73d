// What a reload makes of a config that was read again: what is in force afterwards, and which keys need a restart. Goes
// by the `is_live` of every key. Pure.
#pragma once

#include <string>
#include <vector>

#include "skein/node/config.hpp"

namespace skein::inline v0::node {

struct ReloadPlan {
  Config config;                           // the file's, except where that needs a restart
  std::vector<std::string> needs_restart;  // "[http] listen": differs from what is in force, and stays as it was
};
// The next reload names what needs a restart again.
[[nodiscard]] ReloadPlan plan_reload(const Config& before, const Config& read);

// Which executors, [dispatch] and swarms differ, in words; for the answer to the reload.
[[nodiscard]] std::vector<std::string> changed_executors(const Config& before, const Config& after);

}  // namespace skein::inline v0::node
