// What workloads on the real disk share: a folder, what a sync of that disk takes, percentiles. One thread.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/stopwatch.hpp"

namespace skein::bench {

inline double percentile(std::vector<double> samples, double p) {
  if (samples.empty()) throw std::runtime_error("nothing was measured");
  const auto at = static_cast<std::size_t>(p * static_cast<double>(samples.size() - 1));
  std::ranges::nth_element(samples, samples.begin() + static_cast<std::ptrdiff_t>(at));
  return samples[at];
}

// A folder that is gone when the workload is done: in SKEIN_BENCH_DIR, or else in the current directory, since /tmp is
// often memory.
class BenchDir {
 public:
  explicit BenchDir(const std::string& name) {
    const char* set = std::getenv("SKEIN_BENCH_DIR");  // NOLINT(concurrency-mt-unsafe): nobody sets it
    const std::filesystem::path above = set != nullptr ? set : ".";
    path_ = above / (name + "-bench-" + std::to_string(::getpid()));
    std::filesystem::create_directories(path_);
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

}  // namespace skein::bench
