#include "skein/journal/file_disk.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "skein/base/fd.hpp"
#include "skein/base/spare_descriptors.hpp"

namespace skein::inline v0::journal {
namespace {

DiskError error_from(std::string_view doing, const std::string& path, int code) {
  DiskError error{DiskError::Code::io,
                  fmt::format("{} {}: {}", doing, path, std::error_code(code, std::generic_category()).message())};
  if (code == ENOENT) error.code = DiskError::Code::not_found;
  if (code == EEXIST) error.code = DiskError::Code::exists;
  if (code == ENOSPC || code == EDQUOT || code == EFBIG) error.code = DiskError::Code::no_space;
  if (is_want_of_descriptors(code)) error.code = DiskError::Code::no_descriptors;
  if (code == EWOULDBLOCK) error.code = DiskError::Code::busy;
  return error;
}

std::unexpected<DiskError> failed(std::string_view doing, const std::string& path, int code = errno) {
  return std::unexpected(error_from(doing, path, code));
}

// The journal's files come first: when no descriptor is free, a spare is given up for them.
Fd opened(const std::string& path, int flags) {
  return Fd(spare_descriptors().with_spare([&] { return ::open(path.c_str(), flags | O_CLOEXEC, 0600); }));
}

class PosixFile final : public File {
 public:
  PosixFile(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  DiskResult<std::size_t> read_at(std::uint64_t offset, std::span<char> into) override {
    std::size_t got = 0;
    while (got < into.size()) {
      const auto n = ::pread(fd_.get(), into.data() + got, into.size() - got, static_cast<off_t>(offset + got));
      if (n == 0) break;
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return failed("read", path_);
      got += static_cast<std::size_t>(n);
    }
    return got;
  }

  DiskResult<void> write_at(std::uint64_t offset, std::string_view bytes) override {
    std::size_t put = 0;
    while (put < bytes.size()) {
      const auto n = ::pwrite(fd_.get(), bytes.data() + put, bytes.size() - put, static_cast<off_t>(offset + put));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return failed("write", path_);
      put += static_cast<std::size_t>(n);
    }
    return {};
  }

  DiskResult<void> sync() override {
    if (::fdatasync(fd_.get()) != 0) return failed("sync", path_);
    return {};
  }

  DiskResult<void> truncate(std::uint64_t bytes) override {
    if (::ftruncate(fd_.get(), static_cast<off_t>(bytes)) != 0) return failed("truncate", path_);
    return {};
  }

  DiskResult<std::uint64_t> size() override {
    struct stat st{};
    if (::fstat(fd_.get(), &st) != 0) return failed("stat", path_);
    return static_cast<std::uint64_t>(st.st_size);
  }

 private:
  Fd fd_;
  std::string path_;
};

class PosixLock final : public FolderLock {
 public:
  explicit PosixLock(Fd fd) : fd_(std::move(fd)) {}

 private:
  Fd fd_;
};

}  // namespace

DiskResult<std::unique_ptr<File>> FileDisk::open(const std::string& path, Mode mode) {
  int flags = 0;
  if (mode == Mode::read) flags |= O_RDONLY;
  if (mode == Mode::write) flags |= O_RDWR;
  if (mode == Mode::create) flags |= O_RDWR | O_CREAT | O_TRUNC;
  Fd fd = opened(path, flags);
  if (!fd) return failed("open", path);
  return std::make_unique<PosixFile>(std::move(fd), path);
}

DiskResult<void> FileDisk::rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return failed("rename", from);
  return {};
}

DiskResult<void> FileDisk::remove(const std::string& path) {
  if (::unlink(path.c_str()) == 0) return {};
  if (errno != EISDIR && errno != EPERM) return failed("remove", path);
  if (::rmdir(path.c_str()) != 0) return failed("remove", path);
  return {};
}

// A folder whose name is lost in a power cut takes everything in it along. One that is there already may have been made
// by a program that died before it synced the folder above.
DiskResult<void> FileDisk::make_dir(const std::string& dir) {
  std::error_code error;
  auto full = std::filesystem::absolute(dir, error).lexically_normal();
  if (error) return failed("make folder", dir, error.value());
  if (!full.has_filename()) full = full.parent_path();
  auto there = full;
  while (!std::filesystem::is_directory(there, error) && there.has_relative_path()) there = there.parent_path();
  if (auto ok = sync_name_of(there); !ok) return ok;
  auto at = there;
  for (const auto& part : full.lexically_relative(there)) {
    if (part == ".") break;
    at /= part;
    if (::mkdir(at.c_str(), 0700) != 0 && errno != EEXIST) return failed("make folder", at.string());
    if (auto ok = sync_dir(at.parent_path().string()); !ok) return ok;
  }
  return {};
}

// Syncs the folder above one that exists. That of a mount is on another disk, and one that we may not read is not ours
// to sync: its maker did that.
DiskResult<void> FileDisk::sync_name_of(const std::filesystem::path& dir) {
  const auto above = dir.parent_path();
  struct stat inner{};
  struct stat outer{};
  if (::stat(dir.c_str(), &inner) != 0 || ::stat(above.c_str(), &outer) != 0 || inner.st_dev != outer.st_dev) return {};
  if (::access(above.c_str(), R_OK) != 0) return {};
  return sync_dir(above.string());
}

DiskResult<std::vector<std::string>> FileDisk::list(const std::string& dir) {
  std::error_code error;
  std::vector<std::string> names;
  std::filesystem::directory_iterator at(dir, error);
  if (error) return failed("list", dir, error.value());
  while (at != std::filesystem::directory_iterator()) {
    names.push_back(at->path().filename().string());
    at.increment(error);
    if (error) return failed("list", dir, error.value());
  }
  std::ranges::sort(names);
  return names;
}

DiskResult<void> FileDisk::sync_dir(const std::string& dir) {
  const Fd fd = opened(dir, O_RDONLY | O_DIRECTORY);
  if (!fd) return failed("open folder", dir);
  if (::fsync(fd.get()) != 0) return failed("sync folder", dir);
  return {};
}

DiskResult<std::uint64_t> FileDisk::free_bytes(const std::string& dir) {
  struct statvfs st{};
  if (::statvfs(dir.c_str(), &st) != 0) return failed("ask for the free space of", dir);
  return static_cast<std::uint64_t>(st.f_bavail) * st.f_frsize;
}

DiskResult<std::unique_ptr<FolderLock>> FileDisk::lock(const std::string& dir) {
  const std::string path = dir + "/lock";
  Fd fd = opened(path, O_RDWR | O_CREAT);
  if (!fd) return failed("open", path);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return failed("lock", path);
  return std::make_unique<PosixLock>(std::move(fd));
}

FileDisk& file_disk() {
  static FileDisk disk;
  return disk;
}

}  // namespace skein::inline v0::journal
