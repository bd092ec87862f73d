#include "skein/journal/shared_disk.hpp"

namespace skein::inline v0::journal {

DiskResult<void> SharedDisk::sync_dir(const std::string& dir) {
  const std::lock_guard lock(mutex_);
  if (failure_) return std::unexpected(*failure_);
  const auto ok = below_.sync_dir(dir);
  if (!ok && ok.error().code == DiskError::Code::no_descriptors) return ok;  // it did not begin
  if (!ok && !failure_) {
    failure_ = ok.error();
    failed_.store(true, std::memory_order_release);
  }
  // Asked again: in the simulator another may have failed in the middle of this one.
  if (failure_) return std::unexpected(*failure_);
  return {};
}

std::optional<DiskError> SharedDisk::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

DiskResult<std::unique_ptr<File>> SharedDisk::open(const std::string& path, Mode mode) {
  return below_.open(path, mode);
}

DiskResult<void> SharedDisk::rename(const std::string& from, const std::string& to) { return below_.rename(from, to); }

DiskResult<void> SharedDisk::remove(const std::string& path) { return below_.remove(path); }

DiskResult<void> SharedDisk::make_dir(const std::string& dir) { return below_.make_dir(dir); }

DiskResult<std::vector<std::string>> SharedDisk::list(const std::string& dir) { return below_.list(dir); }

DiskResult<std::uint64_t> SharedDisk::free_bytes(const std::string& dir) { return below_.free_bytes(dir); }

DiskResult<std::unique_ptr<FolderLock>> SharedDisk::lock(const std::string& dir) { return below_.lock(dir); }

}  // namespace skein::inline v0::journal
