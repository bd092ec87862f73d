// How a node is shown to people, for the verbs that do. Pure.
#pragma once

#include <string>

#include <boost/json/value.hpp>

namespace skein::cli {

// Some lines. `tasks` is null while the engine is away.
[[nodiscard]] std::string status_text(const boost::json::value& node, const boost::json::value& tasks);

}  // namespace skein::cli
