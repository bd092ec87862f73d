// A finished task as a row of the archive, and back. Pure.
#pragma once

#include <string>
#include <string_view>

#include "skein/archive/sqlite.hpp"
#include "skein/archive/store.hpp"

namespace skein::inline v0::archive {

// The columns of `tasks`, in the order in which bind_row binds and read_row reads them.
inline constexpr std::string_view k_columns =
    "finish_number, id, number, swarm, type, state, ending, priority, attempts, attempts_max, deliveries, fence,"
    " timeout_ms, submitted_at, not_before, deadline_at, assigned_at, started_at, finished_at, agent, message,"
    " retried_as, details, params, result, mark";
// The same without what can be long.
inline constexpr std::string_view k_brief_columns =
    "finish_number, id, number, swarm, type, state, ending, priority, attempts, attempts_max, deliveries, fence,"
    " timeout_ms, submitted_at, not_before, deadline_at, assigned_at, started_at, finished_at, agent, message,"
    " retried_as, details";
inline constexpr int k_column_count = 26;

// Sixteen hex digits and sixteen more: sorts as the id does, and is easy to type into a SQLite shell.
[[nodiscard]] std::string row_id(ledger::TaskId id);

// The task must stay until the statement is reset.
void bind_row(Statement& statement, const ledger::FinishedTask& each);
// Nothing when the row makes no sense: another program wrote to it, or the file is damaged.
[[nodiscard]] Finished read_row(const Statement& row, bool brief);

}  // namespace skein::inline v0::archive
