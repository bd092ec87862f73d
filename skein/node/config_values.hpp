// Times and sizes as the config file writes them, see base/time_text.hpp and base/units.hpp. Pure functions.
#pragma once

#include "skein/base/time_text.hpp"
#include "skein/base/units.hpp"
