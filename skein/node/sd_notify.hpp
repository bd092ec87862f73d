// Telling the service manager how things are, as sd_notify does, without its library. Any thread.
#pragma once

#include <optional>
#include <string>

#include "skein/base/time.hpp"

namespace skein::inline v0::node {

// "READY=1", "STATUS=...", ...; lines with \n between them. False when there is no service manager, or it does not
// listen: both are fine.
bool sd_notify(const std::string& state);
// How often the service manager wants to hear "WATCHDOG=1"; nothing when it does not.
[[nodiscard]] std::optional<Duration> sd_watchdog();

}  // namespace skein::inline v0::node
