// The real disk: POSIX files. Stateless, so any number of threads may use one; file_disk() is the one to hand around.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "skein/journal/disk.hpp"

namespace skein::inline v0::journal {

class FileDisk : public Disk {
 public:
  [[nodiscard]] DiskResult<std::unique_ptr<File>> open(const std::string& path, Mode mode) override;
  [[nodiscard]] DiskResult<void> rename(const std::string& from, const std::string& to) override;
  [[nodiscard]] DiskResult<void> remove(const std::string& path) override;
  [[nodiscard]] DiskResult<void> make_dir(const std::string& dir) override;
  [[nodiscard]] DiskResult<std::vector<std::string>> list(const std::string& dir) override;
  [[nodiscard]] DiskResult<void> sync_dir(const std::string& dir) override;
  [[nodiscard]] DiskResult<std::uint64_t> free_bytes(const std::string& dir) override;
  [[nodiscard]] DiskResult<std::unique_ptr<FolderLock>> lock(const std::string& dir) override;

 private:
  [[nodiscard]] DiskResult<void> sync_name_of(const std::filesystem::path& dir);
};

[[nodiscard]] FileDisk& file_disk();

}  // namespace skein::inline v0::journal
