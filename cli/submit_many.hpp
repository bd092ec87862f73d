// Many tasks of the same kind, for load: pipelined, and slower when the node says that it has enough.
#pragma once

#include <cstdint>

#include "cli/session.hpp"

namespace skein::cli {

inline constexpr std::size_t k_submits_under_way = 5'000;

// A submit that the node refuses for the moment (queue_full, overloaded) is sent again after the time that the node
// names, with fewer under way. It counts as refused once none was accepted for --timeout. The rate is of those
// accepted.
int submit_many(const Session& session, const json::object& params, std::uint64_t count, bool wait);

}  // namespace skein::cli
