// The disk as all threads of one open journal use it: the log's, and those of work beside it. They share a folder, and
// a folder has one state of its names: the system reports a failed sync once, to the first that syncs; the next one is
// told that all is well although names of its own are lost. So
//
// 1. syncs of the folder exclude each other, and a failure is recorded before the next can begin;
// 2. once one has failed, for whatever reason, every later one fails, as does one that is under way meanwhile.
//
// So nobody relies on a name that was lost by another's sync. All other calls go to the disk below unchanged: a file
// is synced by one thread at a time, which hands it on with the result of its work. Any thread may call anything; the
// journal owns one of these for as long as it has the folder open, and no other folder is synced through it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "skein/journal/disk.hpp"

namespace skein::inline v0::journal {

class SharedDisk final : public Disk {
 public:
  explicit SharedDisk(Disk& below) : below_(below) {}

  [[nodiscard]] DiskResult<void> sync_dir(const std::string& dir) override;
  // Whether a sync of the folder has failed. Never waits.
  [[nodiscard]] bool failed() const { return failed_.load(std::memory_order_acquire); }
  // The error that a sync of the folder would return: nothing while all is well. Waits for a sync that is under way.
  [[nodiscard]] std::optional<DiskError> failure() const;

  [[nodiscard]] DiskResult<std::unique_ptr<File>> open(const std::string& path, Mode mode) override;
  [[nodiscard]] DiskResult<void> rename(const std::string& from, const std::string& to) override;
  [[nodiscard]] DiskResult<void> remove(const std::string& path) override;
  [[nodiscard]] DiskResult<void> make_dir(const std::string& dir) override;
  [[nodiscard]] DiskResult<std::vector<std::string>> list(const std::string& dir) override;
  [[nodiscard]] DiskResult<std::uint64_t> free_bytes(const std::string& dir) override;
  [[nodiscard]] DiskResult<std::unique_ptr<FolderLock>> lock(const std::string& dir) override;

 private:
  Disk& below_;
  // Recursive for the simulator alone, whose one thread does the work of another in the middle of a sync.
  mutable std::recursive_mutex mutex_;
  std::optional<DiskError> failure_;
  std::atomic<bool> failed_{false};
};

}  // namespace skein::inline v0::journal
