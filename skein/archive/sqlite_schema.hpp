// The tables of an archive's file, and how a file of an earlier version gets them. One thread.
//
//   tasks    a row per finished task, with its checksum (row.hpp)
//   marks    numbers: last_finished, rows, removed, lost (store.hpp, Marks), and unsummed_after, unsummed_to: rows of
//            the first version between these have no checksum yet
//   losses   what was accepted as lost
//   notes    texts by name
//   words    a full-text index over params, results and messages
#pragma once

#include <string>

#include "skein/archive/sqlite.hpp"

namespace skein::inline v0::archive {

// Of the schema; kept as the file's user_version. 1: no checksums, no losses, no notes.
inline constexpr std::uint64_t k_archive_version = 2;

// Makes the tables of a new file, or brings an old one to this version; what takes long is left to Store::upgrade().
[[nodiscard]] ArchiveResult<void> set_up_archive(const Database& db, const std::string& path);

}  // namespace skein::inline v0::archive
