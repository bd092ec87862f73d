// A copy of the archive's write-ahead log, kept while a checkpoint takes the log into the archive's file.
//
// A checkpoint that is interrupted leaves pages of two moments in the file; only the log makes them whole again. Should
// that log be cut, garbled or deleted before the next start, records that were sealed long ago could be lost with it.
// So the log is copied and synced before each checkpoint, and the copy is void when the checkpoint is done.
//
// Invariants:
// 1. While the file may hold pages of an unfinished checkpoint, a whole copy of the log is on the disk.
// 2. restore() puts the copy in the log's place only if the copy is whole (length and CRC), was made of this very file
//    (inode and time of birth: a file that was replaced, or a folder that was copied, has others), and the log does not
//    begin with it. To put it there once more after a finished checkpoint changes nothing.
// 3. Both files stay open, so that a want of descriptors stops no seal.
//
// restore() needs the data folder's lock and is called before the database is opened. keep() and drop() are called by
// one thread at a time. The file: 40 bytes of header (magic, length, CRC-32C of the content, inode, birth, CRC-32C of
// the header), then the log's bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "skein/archive/archive_error.hpp"
#include "skein/base/fd.hpp"

namespace skein::inline v0::archive {

inline constexpr const char* k_seal_copy_suffix = "-seal";  // behind the archive's file name

class SealCopy {
 public:
  // The database is open, so its log is there. `path`: the archive's file.
  [[nodiscard]] static ArchiveResult<SealCopy> open(const std::string& path);

  // Before a checkpoint: copies the log and syncs the copy.
  [[nodiscard]] ArchiveResult<void> keep();
  // The checkpoint is done.
  [[nodiscard]] ArchiveResult<void> drop();

  // True when the log was lost or damaged in a checkpoint and is whole again.
  [[nodiscard]] static ArchiveResult<bool> restore(const std::string& path);

 private:
  SealCopy(std::string path, Fd log, Fd copy) : path_(std::move(path)), log_(std::move(log)), copy_(std::move(copy)) {}

  std::string path_;
  Fd log_;
  Fd copy_;
};

}  // namespace skein::inline v0::archive
