// Appending the same commands again until their fate is known: what to do next, given the journal's answer and the
// time. The gate of the operations, the dispatcher and the archiver each hold one for what they append.
//
// Pure, a value: it knows neither journal nor timer. Its holder appends, waits and calls. Commands carry ids, so
// that the journal applies them once, however often they are appended.
//
// Invariants:
//   1. Once in doubt, only `applied` ends the doubt: that the journal turns the repeated commands away says nothing of
//      those before. What then fails, fails as `unknown`; except a refusal without a time limit, see 3.
//   2. The waits double from `first` up to `max`, and start over after reset().
//   3. It ends: by `applied`, by `stopped`, by the time limit. Without a limit a refusal ends it too, since a command
//      that can never be accepted would be repeated for ever.
#pragma once

#include <cstdint>

#include "skein/base/time.hpp"
#include "skein/journal/journal.hpp"

namespace skein::inline v0::journal {

struct AppendAgainLimits {
  Duration first{};
  Duration max{};
  Duration time = k_forever;     // from the first answer that is not known, after which it fails
  bool when_turned_away = true;  // repeats `overloaded` and `not_leader` too; else only what is in doubt
};

class AppendAgain {
 public:
  struct Next {
    enum class Kind : std::uint8_t { again, failed };
    Kind kind = Kind::failed;
    Duration wait{};                     // again: before the next append
    Outcome outcome = Outcome::unknown;  // failed: with this
  };

  // For every answer but `applied`, which ends it.
  [[nodiscard]] Next answered(Outcome outcome, Instant now, const AppendAgainLimits& limits);
  // The wait that comes next.
  [[nodiscard]] Duration next_wait(const AppendAgainLimits& limits);
  void reset() { *this = {}; }

 private:
  [[nodiscard]] bool repeats(Outcome outcome, const AppendAgainLimits& limits) const;

  Duration wait_{};  // the next, once there was one
  Instant give_up_at_ = Instant::max();
  bool is_repeating_ = false;
  bool is_in_doubt_ = false;  // an append may have been applied
};

}  // namespace skein::inline v0::journal
