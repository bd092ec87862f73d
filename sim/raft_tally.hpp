// The thirty pitfalls of Raft that others were bitten by, and how often a story met the situation of each. Counted by
// the observer and the world, not by the core. For pitfalls of real processes the nearest simulated situation counts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace skein::sim::raft {

inline constexpr std::size_t k_pitfalls = 30;

// By the number of the pitfall, less one: the situation that is counted.
inline constexpr std::array<const char*, k_pitfalls> k_situations = {
    "1 a leader is elected after the last one died, with pre-vote and check-quorum on",
    "2 a member that campaigns itself is asked for a pre-vote",
    "3 a member of an older term asks for a pre-vote",
    "4 a vote is given in a term in which a pre-vote went to another",
    "5 a member that campaigns hears of a higher term",
    "6 somebody outside the group asks for votes",
    "7 a change is proposed before an entry of the leader's term is decided",
    "8 an entry with a membership is truncated",
    "9 a snapshot replaces a log with a membership that was not decided",
    "10 a snapshot is sent that was taken at, or right after, a change of the membership",
    "11 a snapshot comes that is older than what is decided",
    "12 a crash while a snapshot is being installed",
    "13 a snapshot is installed while decided entries are not applied",
    "14 a snapshot comes to a member that campaigns",
    "15 a snapshot is on its way to a member that is dead or paused",
    "16 the log is trimmed while a snapshot is on its way",
    "17 a leader learns of a higher term with entries that are not stored",
    "18 entries are replaced while storing them is under way",
    "19 an old answer comes, for less than what is known to match",
    "20 a read is asked for before an entry of the leader's term is decided",
    "21 an answer to an older round comes while a read waits",
    "22 a read is asked of a leader that was replaced and does not know it (nearest to a stopped process)",
    "23 a read is asked while clocks run at different speeds",
    "24 a leader's disk is stuck for so long that it gives leadership away (nearest to a held thread)",
    "25 leadership is handed to a member that is behind, dead or cut off",
    "26 a leader refuses proposals because too much is undecided",
    "27 entries come faster than a follower stores or reads them (nearest to memory of a stopped process)",
    "28 a message is lost to a partition of one direction only",
    "29 a folder is wiped, and its machine joins as a new member",
    "30 a folder is found to have rotted, and its machine joins as a new member",
};

using PitfallTally = std::array<std::uint64_t, k_pitfalls>;

}  // namespace skein::sim::raft
