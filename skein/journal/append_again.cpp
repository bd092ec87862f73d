#include "skein/journal/append_again.hpp"

#include <algorithm>
#include <utility>

namespace skein::inline v0::journal {

AppendAgain::Next AppendAgain::answered(Outcome outcome, Instant now, const AppendAgainLimits& limits) {
  if (outcome == Outcome::unknown) is_in_doubt_ = true;
  if (repeats(outcome, limits)) {
    if (!std::exchange(is_repeating_, true)) give_up_at_ = later(now, limits.time);
    if (now < give_up_at_) return {.kind = Next::Kind::again, .wait = next_wait(limits)};
    outcome = is_in_doubt_ ? Outcome::unknown : outcome;
  } else if (is_in_doubt_ && outcome != Outcome::refused) {
    outcome = Outcome::unknown;
  }
  return {.kind = Next::Kind::failed, .outcome = outcome};
}

bool AppendAgain::repeats(Outcome outcome, const AppendAgainLimits& limits) const {
  switch (outcome) {
    case Outcome::unknown:
      return true;
    case Outcome::overloaded:
    case Outcome::not_leader:
      return is_in_doubt_ || limits.when_turned_away;
    case Outcome::refused:
      return is_in_doubt_ && limits.time != k_forever;
    case Outcome::applied:
    case Outcome::stopped:
      return false;
  }
  return false;
}

Duration AppendAgain::next_wait(const AppendAgainLimits& limits) {
  if (wait_ == Duration::zero()) wait_ = limits.first;
  return std::exchange(wait_, std::min(wait_ * 2, limits.max));
}

}  // namespace skein::inline v0::journal
