// What the journal needs of a disk, and nothing more: the real one (file_disk.hpp) and the simulator's are two
// implementations, and everything above runs unchanged on both.
//
// A Disk may be called from several threads at once; a File from one at a time. Nothing written is safe before sync();
// nothing created, renamed or removed is safe before sync_dir() of its folder.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace skein::inline v0::journal {

struct DiskError {
  // no_descriptors: nothing could be opened, so nothing was done; the same call can be repeated.
  enum class Code { not_found, exists, no_space, no_descriptors, busy, io };
  Code code = Code::io;
  std::string what;  // a sentence's end: "write seg-1.log: No space left on device"
};

template <class T>
using DiskResult = std::expected<T, DiskError>;

class File {
 public:
  File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  virtual ~File() = default;

  // Reads up to into.size() bytes; fewer only where the file ends.
  [[nodiscard]] virtual DiskResult<std::size_t> read_at(std::uint64_t offset, std::span<char> into) = 0;
  // Writes all of it or fails. After a failure the contents of the range are unknown.
  [[nodiscard]] virtual DiskResult<void> write_at(std::uint64_t offset, std::string_view bytes) = 0;
  // fdatasync. After a failure nothing written since the last success may be trusted, and trying again proves nothing.
  [[nodiscard]] virtual DiskResult<void> sync() = 0;
  [[nodiscard]] virtual DiskResult<void> truncate(std::uint64_t bytes) = 0;
  [[nodiscard]] virtual DiskResult<std::uint64_t> size() = 0;
};

// Held while a program has a folder open; released by its destructor or the program's end.
class FolderLock {
 public:
  FolderLock() = default;
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  virtual ~FolderLock() = default;
};

class Disk {
 public:
  enum class Mode { read, write, create };  // write: read and write what exists; create: make it or empty it

  Disk() = default;
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;
  virtual ~Disk() = default;

  [[nodiscard]] virtual DiskResult<std::unique_ptr<File>> open(const std::string& path, Mode mode) = 0;
  [[nodiscard]] virtual DiskResult<void> rename(const std::string& from, const std::string& to) = 0;
  [[nodiscard]] virtual DiskResult<void> remove(const std::string& path) = 0;
  // Makes the folder and those above it that are missing, durably; no error when it is there.
  [[nodiscard]] virtual DiskResult<void> make_dir(const std::string& dir) = 0;
  // Names (not paths) of what is in the folder, sorted. not_found when there is no such folder.
  [[nodiscard]] virtual DiskResult<std::vector<std::string>> list(const std::string& dir) = 0;
  [[nodiscard]] virtual DiskResult<void> sync_dir(const std::string& dir) = 0;
  [[nodiscard]] virtual DiskResult<std::uint64_t> free_bytes(const std::string& dir) = 0;
  // busy when another program holds it.
  [[nodiscard]] virtual DiskResult<std::unique_ptr<FolderLock>> lock(const std::string& dir) = 0;
};

[[nodiscard]] inline std::string path_in(std::string_view dir, std::string_view name) {
  std::string path;
  path.reserve(dir.size() + 1 + name.size());
  path.append(dir).append("/").append(name);
  return path;
}

// Removes what is in the way or of no use. That it may fail does no harm: what is left is found at the next open.
inline void try_remove(Disk& disk, const std::string& path) { [[maybe_unused]] const auto ignored = disk.remove(path); }

}  // namespace skein::inline v0::journal
