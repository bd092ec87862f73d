// An operation on the command line: which option stands for which parameter, and what the words that are given mean.
// Pure; any thread.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "skein/operations/error.hpp"
#include "skein/operations/param.hpp"

namespace skein::inline v0::operations {

// Without dashes: "task-timeout". A time that the table has in milliseconds is written with its unit: --delay 5s.
[[nodiscard]] std::string option_of(const Param& param);
// Options that are still taken and no longer shown: --delay-ms 5000, --agents-min 2.
[[nodiscard]] std::vector<std::string> older_options_of(const Param& param);
// For help: what it is, its words or range, and its default.
[[nodiscard]] std::string option_help(const Param& param);
// What it takes, in a word for --help: NUMBER, DURATION (5s), TIME (RFC 3339), TEXT, ...
[[nodiscard]] std::string option_type(const Param& param);

// What the words given for a parameter mean, for a request. A time needs its unit; with an older option it is a number
// of milliseconds.
[[nodiscard]] Result<boost::json::value> value_of_words(const Param& param, const std::vector<std::string>& words,
                                                        bool is_older_option);

}  // namespace skein::inline v0::operations
