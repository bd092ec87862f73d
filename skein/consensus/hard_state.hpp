// What a member must never forget. A plain value.
#pragma once

#include "skein/consensus/entry.hpp"
#include "skein/consensus/membership.hpp"

namespace skein::inline v0::consensus {

struct HardState {
  Term term = 0;
  MemberId voted_for = 0;  // 0 for none
  Position commit = 0;     // decided at least up to here; may lag behind

  friend bool operator==(const HardState&, const HardState&) = default;
};

}  // namespace skein::inline v0::consensus
