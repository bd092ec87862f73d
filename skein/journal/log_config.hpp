// The configuration of a log: its first entry, so that every member applies it alike. A folder of an earlier version
// gets it at the first election after it was opened. A plain value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "skein/journal/entry.hpp"

namespace skein::inline v0::journal {

// Random, made with the first log of a group: a member of another group is told from one of this by it. 0 means none.
using ClusterId = std::uint64_t;

struct LogConfig {
  ClusterId cluster = 0;
  IdLimits ids;

  // The bytes of a config entry, and back. Nothing when they are none, or of a later version.
  [[nodiscard]] std::string encode() const;
  [[nodiscard]] static std::optional<LogConfig> decode(std::string_view bytes);

  friend bool operator==(const LogConfig&, const LogConfig&) = default;
};

}  // namespace skein::inline v0::journal
