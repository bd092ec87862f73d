// Makes a new archive from what is left of an old one and from what the ledger still has: for a file that is damaged or
// gone. The new one is written aside and takes the old one's place only when it is whole; the old files stay beside it
// as *.damaged. Nobody else may have the archive open. One thread; blocks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skein/archive/store.hpp"

namespace skein::inline v0::archive {

struct RebuildReport {
  std::uint64_t from_old = 0;     // records read from the old file
  std::uint64_t from_ledger = 0;  // finished tasks that the ledger still has; they win
  std::uint64_t missing = 0;      // finish numbers up to the last archived that were found nowhere; recorded as lost
  std::uint64_t damaged = 0;      // records of the old file whose checksum is wrong; they are not taken
  bool old_file = false;          // there was one
  std::string old_error;          // why the old file could not be read to its end; empty when it could
  std::string kept_as;            // where the old file is now

  [[nodiscard]] std::string describe() const;
};

struct RebuildFrom {
  // Finished tasks that the ledger still has, and those that its log tells of. They win over the old file's.
  std::vector<Finished> ledger;
  ledger::FinishNumber archived_up_to = 0;  // what the ledger dropped because the archive had it
  std::string folder;                       // id of the data folder; an old file of another one is not read
  ledger::WallMs now = 0;                   // for the record of what is missing
};

[[nodiscard]] ArchiveResult<RebuildReport> rebuild_archive(const std::string& path, const RebuildFrom& from);

// Gives the files of an archive a name that is free: path + what, or with a number. Answers it.
[[nodiscard]] ArchiveResult<std::string> put_archive_aside(const std::string& path, const std::string& what);

}  // namespace skein::inline v0::archive
