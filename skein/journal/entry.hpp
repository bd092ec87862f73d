// The words every part of the journal shares: positions, terms, command ids and entries. Plain values. Those that
// consensus uses as well are its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skein/consensus/entry.hpp"

namespace skein::inline v0::journal {

using consensus::CommandId;
using consensus::EntryKind;
using consensus::EntryView;
using consensus::Position;
using consensus::Term;

inline constexpr Position k_no_trim_limit = ~Position{0};

struct Command {
  CommandId id;
  std::string bytes;
};
using Batch = std::vector<Command>;

// How much is remembered of applied commands. Part of what a folder is: replaying its log with other limits could apply
// a command twice, so they are recorded when it is created and the recorded ones are used ever after.
struct IdLimits {
  std::uint64_t ids_kept = 262'144;      // the last so many command ids
  std::uint64_t id_result_bytes = 4096;  // a longer result is not kept; its id is

  friend bool operator==(const IdLimits&, const IdLimits&) = default;
};

}  // namespace skein::inline v0::journal
