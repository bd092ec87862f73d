// What workloads on the real disk share: a folder, what a sync of that disk takes, percentiles. One thread.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bench/stopwatch.hpp"
#include "bench/sweeper.hpp"
#include "skein/journal/file_disk.hpp"

namespace skein::bench {

inline double percentile(std::vector<double> samples, double p) {
  if (samples.empty()) throw std::runtime_error("nothing was measured");
  const auto at = static_cast<std::size_t>(p * static_cast<double>(samples.size() - 1));
  std::ranges::nth_element(samples, samples.begin() + static_cast<std::ptrdiff_t>(at));
  return samples[at];
}

// A folder that is gone when the workload is done, or the program has ended, however that was: in SKEIN_BENCH_DIR, or
// else in the current directory, since /tmp is often memory.
class BenchDir {
 public:
  explicit BenchDir(const std::string& name) {
    const char* set = std::getenv("SKEIN_BENCH_DIR");  // NOLINT(concurrency-mt-unsafe): nobody sets it
    const std::filesystem::path above = set != nullptr ? set : ".";
    path_ = above / (name + "-bench-" + std::to_string(::getpid()));
    std::filesystem::create_directories(path_);
    path_ = std::filesystem::absolute(path_);
    sweeper_.emplace(path_.string());
  }
  BenchDir(const BenchDir&) = delete;
  BenchDir& operator=(const BenchDir&) = delete;
  ~BenchDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
  std::optional<Sweeper> sweeper_;
};

// Overwrites written blocks and syncs them, which is what the journal does to the disk.
class SyncProbe {
 public:
  explicit SyncProbe(const std::string& path) : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    const std::string zeros(k_file_bytes, '\0');
    is_good_ = fd_ >= 0 && ::pwrite(fd_, zeros.data(), zeros.size(), 0) == static_cast<ssize_t>(zeros.size()) &&
               ::fsync(fd_) == 0;
  }
  SyncProbe(const SyncProbe&) = delete;
  SyncProbe& operator=(const SyncProbe&) = delete;
  ~SyncProbe() {
    if (fd_ >= 0) ::close(fd_);
  }

  void run(std::size_t count, std::vector<double>& samples_us) {
    const std::string block(k_block_bytes, 'x');
    for (std::size_t i = 0; i < count && is_good_; ++i) {
      const auto begin = Clock::now();
      const auto at = static_cast<off_t>(next_++ * block.size() % k_file_bytes);
      is_good_ =
          ::pwrite(fd_, block.data(), block.size(), at) == static_cast<ssize_t>(block.size()) && ::fdatasync(fd_) == 0;
      samples_us.push_back(us_since(begin));
    }
    if (!is_good_) throw std::runtime_error("can't write and sync a file");
  }

 private:
  static constexpr std::size_t k_file_bytes = 4U << 20U;
  static constexpr std::size_t k_block_bytes = 4096;
  int fd_;
  bool is_good_ = false;
  std::size_t next_ = 0;
};

// The real disk, but that a sync takes a fixed time and does nothing: what is measured on it is not the disk's mood.
// Any thread, as a Disk.
class SteadyDisk final : public journal::Disk {
 public:
  explicit SteadyDisk(Clock::duration sync) : sync_(sync) {}

  journal::DiskResult<std::unique_ptr<journal::File>> open(const std::string& path, Mode mode) override {
    auto file = real_.open(path, mode);
    if (!file) return file;
    return std::make_unique<SteadyFile>(std::move(*file), sync_);
  }
  journal::DiskResult<void> rename(const std::string& from, const std::string& to) override {
    return real_.rename(from, to);
  }
  journal::DiskResult<void> remove(const std::string& path) override { return real_.remove(path); }
  journal::DiskResult<void> make_dir(const std::string& dir) override { return real_.make_dir(dir); }
  journal::DiskResult<std::vector<std::string>> list(const std::string& dir) override { return real_.list(dir); }
  journal::DiskResult<void> sync_dir(const std::string&) override { return {}; }
  journal::DiskResult<std::uint64_t> free_bytes(const std::string& dir) override { return real_.free_bytes(dir); }
  journal::DiskResult<std::unique_ptr<journal::FolderLock>> lock(const std::string& dir) override {
    return real_.lock(dir);
  }

 private:
  class SteadyFile final : public journal::File {
   public:
    SteadyFile(std::unique_ptr<journal::File> real, Clock::duration sync) : real_(std::move(real)), sync_(sync) {}
    journal::DiskResult<std::size_t> read_at(std::uint64_t offset, std::span<char> into) override {
      return real_->read_at(offset, into);
    }
    journal::DiskResult<void> write_at(std::uint64_t offset, std::string_view bytes) override {
      return real_->write_at(offset, bytes);
    }
    journal::DiskResult<void> sync() override {
      std::this_thread::sleep_for(sync_);
      return {};
    }
    journal::DiskResult<void> truncate(std::uint64_t bytes) override { return real_->truncate(bytes); }
    journal::DiskResult<std::uint64_t> size() override { return real_->size(); }

   private:
    std::unique_ptr<journal::File> real_;
    Clock::duration sync_;
  };

  journal::Disk& real_ = journal::file_disk();
  Clock::duration sync_;
};

}  // namespace skein::bench
