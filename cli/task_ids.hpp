// Ids of tasks as people type them: whole, or the beginning of one that only one task has.
#pragma once

#include <string>
#include <vector>

#include "cli/session.hpp"

namespace skein::cli {

inline constexpr std::size_t k_candidates_shown = 5;  // of those an ambiguous beginning could mean

// The whole id. An ambiguous beginning is refused with what it could mean; one that no task has with task_not_found.
[[nodiscard]] control::ClientResult<std::string> whole_id(control::Client& client, const Session& session,
                                                          const std::string& given);

// As a list shows it: whole, or on a narrow terminal what tells it from others.
[[nodiscard]] std::string shown_id(const std::string& id);

}  // namespace skein::cli
