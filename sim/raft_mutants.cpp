// Bugs planted in consensus, and the stories that must find them; see mutants.hpp. Those that others were bitten by,
// and those that these stories found in the core when it was new.
#include <cstdint>

#include "sim/mutants.hpp"
#include "sim/raft_world.hpp"

namespace skein::sim {
namespace {

constexpr std::uint64_t k_seeds_max = 2000;

const bool k_registered = add_mutants(
    k_seeds_max, [](std::uint64_t seed) { return raft::tell_raft_story(seed, false, 0).violation; },
    {
        {Bug::raft_decides_older_term, "an entry of an older term is decided by counting"},
        {Bug::raft_vote_before_stored, "a vote is answered before it is stored"},
        {Bug::raft_append_before_stored, "entries are acknowledged before they are stored"},
        {Bug::raft_own_log_counts_unstored, "a leader counts its own entries before they are stored"},
        {Bug::raft_stored_by_position, "an acknowledgement of storage goes by position, whatever was replaced since"},
        {Bug::raft_votes_twice, "a member votes twice in a term"},
        {Bug::raft_refusal_is_vote, "a refusal counts as a vote"},
        {Bug::raft_pre_vote_is_vote, "a pre-vote counts as a vote"},
        {Bug::raft_pre_vote_is_remembered, "a pre-vote changes the vote of the term"},
        {Bug::raft_pre_vote_without_lease, "a pre-vote is granted though a leader is heard"},
        {Bug::raft_vote_without_lease, "who was removed deposes a leader that the others hear"},
        {Bug::raft_lease_never_ends, "a leader that was heard once counts as alive for ever"},
        {Bug::raft_old_leader_not_told, "a leader of an old term is not told of the present one"},
        {Bug::raft_unstored_log_stands, "a member stands for election with a log that it has not stored"},
        {Bug::raft_leads_before_vote_stored, "a candidate leads before its own vote is stored"},
        {Bug::raft_longer_log_wins, "the longer log wins an election, whatever its terms"},
        {Bug::raft_newer_term_wins, "the newer last term wins an election, however short the log"},
        {Bug::raft_term_back_at_start, "a start takes the term from the log"},
        {Bug::raft_vote_forgotten_at_start, "a start forgets the vote"},
        {Bug::raft_removed_candidate_gives_up, "who is removed by an undecided entry does not stand any more"},
        {Bug::raft_membership_at_commit, "a membership counts only when it is decided"},
        {Bug::raft_membership_kept, "a membership stays in force when its entry is truncated"},
        {Bug::raft_membership_before_snapshot, "the membership of a snapshot is not taken over"},
        {Bug::raft_change_before_own_term, "the membership is changed before the leader's term decided anything"},
        {Bug::raft_two_changes, "two changes of the membership are under way at once"},
        {Bug::raft_quorum_off_by_one, "a quorum is one too small"},
        {Bug::raft_half_of_votes, "half of the votes win an election"},
        {Bug::raft_learner_counts, "learners count for the quorum"},
        {Bug::raft_read_without_round, "a read is confirmed without asking the others"},
        {Bug::raft_read_reuses_round, "a read is confirmed by answers to a round that began before it"},
        {Bug::raft_read_before_own_term, "a read is confirmed before the leader's term decided anything"},
        {Bug::raft_heartbeat_commit, "a heartbeat says more is decided than its receiver is known to have"},
        {Bug::raft_commit_beyond_message, "a follower takes more for decided than the message covers"},
        {Bug::raft_matching_tail_truncated, "an old message truncates entries that match"},
        {Bug::raft_next_at_match, "what a member has is sent to it again"},
        {Bug::raft_hint_is_match, "the hint of a refusal counts as a match"},
        {Bug::raft_snapshot_off_by_one, "an installed snapshot claims one position too many"},
        {Bug::raft_old_snapshot, "an old snapshot is installed over newer state"},
        {Bug::raft_snapshot_over_matching_log, "a snapshot drops entries that follow it in the log"},
        {Bug::raft_tail_beside_snapshot, "a conflicting tail stays beside an installed snapshot"},
        {Bug::raft_restored_before_installed, "a snapshot is restored before it is installed"},
        {Bug::raft_fetched_tail_applied, "entries are applied that were replaced after they were read"},
        {Bug::raft_batch_split, "a batch is split across messages"},
        {Bug::raft_entry_while_stepping_down, "a leader appends an entry of the new term while it steps down"},
        {Bug::raft_transfer_never_ends, "a transfer of leadership that fails never ends"},
        {Bug::raft_transfer_to_laggard, "leadership is handed to a member that is behind"},
        {Bug::raft_transfer_is_no_reason, "a leader that is heard keeps leadership from being handed over"},
        {Bug::raft_undecided_unbounded, "what is undecided grows without bound"},
        {Bug::raft_stuck_disk_ignored, "a leader leads on with a stuck disk"},
        {Bug::raft_quorum_not_checked, "a leader leads on though nobody answers"},
    });

}  // namespace
}  // namespace skein::sim
