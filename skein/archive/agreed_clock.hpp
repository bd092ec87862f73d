// Whether the wall clock may be trusted: it must have gone as fast as the time since boot for a whole day. Deletion by
// age asks here, so that a clock that is wrong for a while, or at a start, deletes nothing.
//
// The time since boot goes on while the program does not run, so a restart of the program changes nothing. After a
// restart of the machine it is not known how long it was off: up to k_reboot_gap is taken from the wall clock. A longer
// gap makes the day start over, and so does every jump.
//
// A plain value: no clock is read here. Kept as text, so that a start goes on where the run before ended.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "skein/base/job_queue.hpp"
#include "skein/ledger/task.hpp"

namespace skein::inline v0::archive {

class AgreedClock {
 public:
  static constexpr std::chrono::milliseconds k_agreed_for = std::chrono::hours(24);
  static constexpr std::chrono::milliseconds k_reboot_gap = std::chrono::hours(1);
  // Allowed between the clocks since they were first held against each other, and a thousandth of that time besides.
  static constexpr std::chrono::milliseconds k_tolerance = std::chrono::minutes(1);

  // Nothing for a text that is not one of text()'s: the day starts over.
  [[nodiscard]] static AgreedClock read(std::string_view text);
  [[nodiscard]] std::string text() const;

  // Looks at both clocks. The wall time, when it may be believed.
  std::optional<ledger::WallMs> look(ledger::WallMs wall, BootTime boot);
  // How long they have agreed.
  [[nodiscard]] std::chrono::milliseconds agreed() const { return std::chrono::milliseconds(agreed_ms_); }
  // How often they did not since this was made.
  [[nodiscard]] std::uint64_t jumps() const { return jumps_; }

 private:
  void begin(ledger::WallMs wall, BootTime boot);

  bool has_begun_ = false;
  ledger::WallMs first_wall_ = 0;  // when they were first held against each other, in this run of the machine
  std::uint64_t first_ms_ = 0;
  ledger::WallMs last_wall_ = 0;
  BootTime last_;
  std::uint64_t agreed_ms_ = 0;
  std::uint64_t jumps_ = 0;
};

}  // namespace skein::inline v0::archive
