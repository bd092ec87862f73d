// Admission: the limits on commands that are appended and not yet answered, on their size, and on the disk's room.
//
// Thread-safe; one counter covers a batch from admit() to release(), wherever it is in between.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "skein/journal/journal.hpp"

namespace skein::inline v0::journal {

class Admission {
 public:
  explicit Admission(const JournalLimits& limits) : limits_(limits) {}

  // Nothing when the batch is in, and then its charge() stays counted until release(); else the answer to give.
  [[nodiscard]] std::optional<AppendAnswer> admit(const Batch& batch, Urgency urgency);
  void release(std::uint64_t charged) { in_flight_.fetch_sub(charged, std::memory_order_relaxed); }
  [[nodiscard]] static std::uint64_t charge(const Batch& batch);

  // True when one more read may wait; give it back with release_read.
  [[nodiscard]] bool admit_read();
  void release_read() { reads_.fetch_sub(1, std::memory_order_relaxed); }

  void set_disk_low(bool low) { disk_low_.store(low, std::memory_order_relaxed); }
  [[nodiscard]] bool disk_low() const { return disk_low_.load(std::memory_order_relaxed); }
  // The file system refused room for the next segment although it has some (a quota). For the status: nothing is
  // refused because of it, since only an attempt shows whether there is room again.
  void set_segment_refused(bool refused) { segment_refused_.store(refused, std::memory_order_relaxed); }
  [[nodiscard]] bool segment_refused() const { return segment_refused_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t in_flight() const { return in_flight_.load(std::memory_order_relaxed); }

 private:
  const JournalLimits limits_;
  std::atomic<std::uint64_t> in_flight_{0};
  std::atomic<std::uint64_t> reads_{0};
  std::atomic<bool> disk_low_{false};
  std::atomic<bool> segment_refused_{false};
};

}  // namespace skein::inline v0::journal
