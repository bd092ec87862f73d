// One simulated life story of an archive beside a ledger, from a seed: tasks end, are inserted, sealed and dropped by
// the ledger; the power goes; the archive is cut, deleted, exchanged, or a record of it damaged; the journal goes back
// to an earlier moment; the wall clock jumps while retention removes what is old. What is lost must be noticed at the
// next start, and accepted before anything goes on; nothing else may be missing, or be another task's.
//
// Uses the real ledger, store in memory, comparison and clock; no journal and no processes. One thread; the same seed
// gives the same story.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace skein::sim {

// What the story of a seed violates.
[[nodiscard]] std::optional<std::string> tell_archive_story(std::uint64_t seed, std::size_t steps = 300);

}  // namespace skein::sim
