// Descriptors held in reserve for files that must always be opened: the journal's. A program at its limit of open
// files (EMFILE), or a machine at its own (ENFILE), has room again for a moment when one of them is given up.
//
// with_spare() calls what opens something; when that fails for want of a descriptor it gives up a spare and tries
// again, as often as there are spares: another thread may have taken the place. They are taken back as soon as there is
// room. Any thread.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "skein/base/fd.hpp"

namespace skein::inline v0 {

inline constexpr std::size_t k_spare_descriptors = 16;

[[nodiscard]] inline bool is_want_of_descriptors(int error) { return error == EMFILE || error == ENFILE; }

class SpareDescriptors {
 public:
  explicit SpareDescriptors(std::size_t wanted = k_spare_descriptors) : wanted_(wanted) {}
  SpareDescriptors(const SpareDescriptors&) = delete;
  SpareDescriptors& operator=(const SpareDescriptors&) = delete;

  // `open` gives a descriptor, or a negative number and errno.
  template <class Open>
  [[nodiscard]] int with_spare(Open open) {
    refill();
    int fd = open();
    while (fd < 0 && is_want_of_descriptors(errno) && give_up_one()) fd = open();
    if (fd < 0 && is_want_of_descriptors(errno)) failures_.fetch_add(1, std::memory_order_relaxed);
    return fd;
  }
  // Takes as many as are wanted and can be had; gives how many are held.
  std::size_t refill();
  [[nodiscard]] std::size_t held() const;
  // How often none could be had, although all spares were given up.
  [[nodiscard]] std::uint64_t failures() const { return failures_.load(std::memory_order_relaxed); }

 private:
  // False when none is left; errno then still says that none is free.
  bool give_up_one();

  const std::size_t wanted_;
  mutable std::mutex mutex_;
  std::vector<Fd> held_;  // guarded by mutex_
  std::atomic<std::uint64_t> failures_{0};
};

// The program's own.
[[nodiscard]] SpareDescriptors& spare_descriptors();

}  // namespace skein::inline v0
