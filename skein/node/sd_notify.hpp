// Telling the service manager how things are, as sd_notify does, without its library. Any thread.
#pragma once

#include <optional>
#include <string>

#include "skein/base/time.hpp"

namespace skein::inline v0::node {

enum class NotifyWait { forbidden, allowed };
// "READY=1", "STATUS=...", ...; lines with \n between them. False when there is no service manager, or it does not
// listen: both are fine. When what it has not read yet is too much, this waits, or with `forbidden` says nothing.
bool sd_notify(const std::string& state, NotifyWait wait = NotifyWait::allowed);
// How often the service manager wants to hear "WATCHDOG=1"; nothing when it does not.
[[nodiscard]] std::optional<Duration> sd_watchdog();

}  // namespace skein::inline v0::node
