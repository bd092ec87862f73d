// The little that a member of a group must never forget: who it is, its term, its vote, how far it knew the log to be
// decided, and which snapshot is taking the place of its log. One small file, written aside, synced and renamed, so it
// is the old or the new and never a mixture. One thread.
//
// Version 1 is what a journal of one node writes: without an id, and without a snapshot. Version 2 has both.
#pragma once

#include <optional>
#include <string>

#include "skein/consensus/hard_state.hpp"
#include "skein/journal/disk.hpp"
#include "skein/journal/entry.hpp"
#include "skein/journal/log_scan.hpp"
#include "skein/journal/store_error.hpp"

namespace skein::inline v0::journal {

using consensus::HardState;

inline constexpr const char* k_hard_state_name = "hard-state";

// A snapshot that takes the place of the log: written before anything of the log is touched, cleared when all is done.
struct Installing {
  Position position = 0;
  Term term = 0;

  friend bool operator==(const Installing&, const Installing&) = default;
};

struct MemberState {
  HardState hard;
  consensus::MemberId self = 0;  // 0: a folder of version 1
  std::optional<Installing> installing = std::nullopt;

  friend bool operator==(const MemberState&, const MemberState&) = default;
};

// Nothing when the folder has none yet.
[[nodiscard]] StoreResult<std::optional<MemberState>> load_member_state(Disk& disk, const std::string& dir);
// Version 1 when the member has no id, else version 2.
[[nodiscard]] StoreResult<void> save_member_state(Disk& disk, const std::string& dir, const MemberState& state);

// Nothing when the folder has none yet.
[[nodiscard]] StoreResult<std::optional<HardState>> load_hard_state(Disk& disk, const std::string& dir);
// That the log of a folder holds what the folder's hard state vouches for. The first start makes a segment, then the
// hard state, and only then is anything appended; so either without the other means that files were lost.
[[nodiscard]] StoreResult<void> check_decided(const std::string& dir, const std::optional<HardState>& hard,
                                              const LogImage& log);
[[nodiscard]] StoreResult<void> save_hard_state(Disk& disk, const std::string& dir, const HardState& state);

}  // namespace skein::inline v0::journal
