// A finished task as a row of the archive, and back. Pure.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "skein/archive/sqlite.hpp"
#include "skein/archive/store.hpp"

namespace skein::inline v0::archive {

// The columns of `tasks`, in the order in which bind_row binds and read_row reads them.
inline constexpr std::string_view k_columns =
    "finish_number, id, number, swarm, type, state, ending, priority, attempts, attempts_max, deliveries, fence,"
    " timeout_ms, submitted_at, not_before, deadline_at, assigned_at, started_at, finished_at, agent, message,"
    " retried_as, details, checksum, params, result, mark";
// The same without what can be long.
inline constexpr std::string_view k_brief_columns =
    "finish_number, id, number, swarm, type, state, ending, priority, attempts, attempts_max, deliveries, fence,"
    " timeout_ms, submitted_at, not_before, deadline_at, assigned_at, started_at, finished_at, agent, message,"
    " retried_as, details, checksum";
inline constexpr int k_column_count = 27;

// Of a row: CRC-32C over the columns every reader sees in the upper half, over number, id and the long ones in the
// lower. So a list need not read what is long to be sure of the rest, and a link changes the upper half alone.
using RowChecksum = std::uint64_t;
inline constexpr int k_checksum_column = 23;  // of both

// Rows of the first version had no checksum; those with these numbers have not got theirs yet.
struct Unsummed {
  ledger::FinishNumber after = 0;
  ledger::FinishNumber up_to = 0;

  [[nodiscard]] bool has(ledger::FinishNumber number) const { return number > after && number <= up_to; }
};

// Sixteen hex digits and sixteen more: sorts as the id does, and is easy to type into a SQLite shell.
[[nodiscard]] std::string row_id(ledger::TaskId id);

// The task must stay until the statement is reset. Answers its checksum, which is bound too.
RowChecksum bind_row(Statement& statement, const ledger::FinishedTask& each);
// A task, or what is wrong with the row: another program wrote to it, or the file is damaged.
[[nodiscard]] std::expected<Finished, std::string_view> read_row(const Statement& row, bool brief,
                                                                 const Unsummed& unsummed = {});
// Of a row of k_columns as it stands, whatever it says of itself.
[[nodiscard]] RowChecksum checksum_of(const Statement& row);
// Of a row of k_brief_columns, were it retried as this; the lower half is as it was.
[[nodiscard]] RowChecksum checksum_with(const Statement& row, std::string_view retried_as);

}  // namespace skein::inline v0::archive
