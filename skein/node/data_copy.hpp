// A copy of a node's data folder, journal and archive, made while the node runs or without it; and the way back.
//
// The copy is made as DEST.unfinished, checked in full, and only then gets its name: a folder called DEST is whole.
// It is laid out as a data folder is. The journal is copied first: it drops only what the archive has durably, so an
// archive copied after it lacks nothing. Restoring takes out of the archive again what finished after the journal's
// last entry, for to that journal those tasks are open.
//
// A folder that is a journal's itself is copied as that alone. One thread; may block on the disk for long.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

namespace skein::inline v0::node {

struct DataCopy {
  std::string dest;
  std::uint64_t last = 0;      // position up to which the journal goes
  std::uint64_t archived = 0;  // tasks in the archive
  bool has_archive = false;

  // One line for people.
  [[nodiscard]] std::string describe() const;
};

// Errors are complete, for people.
[[nodiscard]] std::expected<DataCopy, std::string> back_up_data(const std::string& data, const std::string& dest);
[[nodiscard]] std::expected<DataCopy, std::string> restore_data(const std::string& backup, const std::string& dest);

}  // namespace skein::inline v0::node
