// A consistent copy of a journal's folder, also of one that a running node is writing to; and the way back.
//
// The copy is made as DEST.unfinished, checked in full, and only then gets its name: a folder called DEST is whole. It
// holds at least everything that was answered before the copy began. One thread; the source is not changed.
#pragma once

#include <string>

#include "skein/journal/disk.hpp"
#include "skein/journal/log_tools.hpp"
#include "skein/journal/store_error.hpp"

namespace skein::inline v0::journal {

// Answers what the copy holds. The way back is the same: a copy of a backup is a journal to start with. An error when
// `dest` is there already, or when the source is damaged.
[[nodiscard]] StoreResult<JournalImage> back_up_journal(Disk& disk, const std::string& dir, const std::string& dest);

}  // namespace skein::inline v0::journal
