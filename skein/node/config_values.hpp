// Times and sizes as the config file writes them, see base/units.hpp. Pure functions.
#pragma once

#include "skein/base/units.hpp"

namespace skein::inline v0::node {

using skein::bytes_text;
using skein::parse_bytes;
using skein::parse_time;
using skein::time_text;

}  // namespace skein::inline v0::node
