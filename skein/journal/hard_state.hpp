// The little that a member of a group must never forget: its term, its vote, and how far it knew the log to be decided.
// One small file, written aside, synced and renamed, so it is the old or the new and never a mixture. One thread.
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

// Nothing when the folder has none yet.
[[nodiscard]] StoreResult<std::optional<HardState>> load_hard_state(Disk& disk, const std::string& dir);
// That the log of a folder holds what the folder's hard state vouches for. The first start makes a segment, then the
// hard state, and only then is anything appended; so either without the other means that files were lost.
[[nodiscard]] StoreResult<void> check_decided(const std::string& dir, const std::optional<HardState>& hard,
                                              const LogImage& log);
[[nodiscard]] StoreResult<void> save_hard_state(Disk& disk, const std::string& dir, const HardState& state);

}  // namespace skein::inline v0::journal
