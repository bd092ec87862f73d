// A consistent copy of an archive's file, also of one that a running node writes to: the state of one moment, in a file
// that needs nothing beside it. Any thread; blocks on the disk for as long as the copy takes, and stops no writer.
#pragma once

#include <cstdint>
#include <string>

#include "skein/archive/archive_error.hpp"

namespace skein::inline v0::archive {

// Makes the file `to`, which must not be there, checks it and syncs it (not its folder). Answers how many tasks it has.
[[nodiscard]] ArchiveResult<std::uint64_t> copy_archive(const std::string& from, const std::string& to);

}  // namespace skein::inline v0::archive
