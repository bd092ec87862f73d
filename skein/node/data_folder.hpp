// Keeps a data folder to its owner: nobody else may read, write or replace what is in it. Any thread; the caller must
// be alone in the folder, which its lock sees to (data_lock.hpp).
//
// A folder or file that others may read or write, and that is ours, is mended; so one that an older version made, or
// that was there before, is as good as a new one. What cannot be mended and would let others in is refused.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "skein/base/fd.hpp"

namespace skein::inline v0::node {

// Makes the folder (0700) when it is not there, and mends it when others may use it. Answers with what was mended, a
// line each for people. The error is complete, for people: it belongs to another user, others may write there and that
// cannot be changed, or it cannot be made.
[[nodiscard]] std::expected<std::vector<std::string>, std::string> keep_folder_private(const std::string& folder);
// The same for what is in it, and in the folders there; links are not followed. Lines for people: what was mended, and
// files that belong to somebody else.
[[nodiscard]] std::vector<std::string> keep_files_private(const std::string& folder);

// What others may do there, for people ("mode 0755: others can read it"); empty: nothing. For those who only look.
[[nodiscard]] std::vector<std::string> looseness_of(const std::string& folder);

// Opens a file of ours to be read and written, made (0600) when it is not there: a regular file of our own, with one
// name. The error is complete, for people; a link that somebody laid there is one.
[[nodiscard]] std::expected<Fd, std::string> open_own_file(const std::string& path);
// Whether an open file is such a one; the error likewise.
[[nodiscard]] std::expected<void, std::string> check_own_file(const std::string& path, const Fd& fd);

}  // namespace skein::inline v0::node
