// Journals that agree: what a group owes its callers, on virtual time.
#include <gtest/gtest.h>

#include "skein/journal/test_members.hpp"

namespace skein::journal {
namespace {

using tests::Members;
using namespace std::chrono_literals;

class MemberGroup : public testing::Test {
 protected:
  Members members_;
};

TEST_F(MemberGroup, applies_the_same_everywhere) {
  members_.found(3);
  for (int i = 0; i < 20; ++i) members_.add_one();
  EXPECT_TRUE(members_.run_until([&] { return members_.agree(); }));
  for (auto& member : members_.all) EXPECT_EQ(member.machine->get("n"), "20");
}

TEST_F(MemberGroup, goes_on_without_its_leader_which_catches_up_when_it_is_back) {
  members_.found(3);
  members_.add_one();
  auto& first = members_.await_leader();
  members_.kill(first);
  members_.add_one();
  EXPECT_NE(members_.leader(), &first);
  members_.open(first);
  members_.add_one();
  EXPECT_TRUE(members_.run_until([&] { return members_.agree(); }));
  EXPECT_EQ(first.machine->get("n"), "3");
}

TEST_F(MemberGroup, what_only_a_cut_off_leader_has_is_not_done_and_its_caller_is_told) {
  members_.found(3);
  members_.add_one();
  auto& old = members_.await_leader();
  old.is_cut_off = true;
  const auto lost = members_.append(old, kv_put("lost", "x"));
  members_.add_one();
  EXPECT_FALSE(lost->has_value()) << "nobody knows yet";
  old.is_cut_off = false;
  EXPECT_TRUE(members_.run_until([&] { return lost->has_value() && members_.agree(); }));
  EXPECT_EQ((*lost)->outcome, Outcome::not_leader);
  for (auto& member : members_.all) EXPECT_EQ(member.machine->get("lost"), std::nullopt);
}

TEST_F(MemberGroup, what_reached_the_others_before_its_leader_was_cut_off_is_applied_and_its_caller_is_told) {
  members_.found(3);
  members_.add_one();
  auto& old = members_.await_leader();
  const auto kept = members_.append(old, kv_put("kept", "x"));
  // It is on its way to the others when the leader is cut off from their answers.
  members_.run(1ms);
  for (auto& message : members_.sent) members_.all[message.to - 1].core->receive(message);
  old.is_cut_off = true;
  members_.run(1ms);
  EXPECT_FALSE(kept->has_value());
  members_.add_one();
  old.is_cut_off = false;
  EXPECT_TRUE(members_.run_until([&] { return kept->has_value() && members_.agree(); }));
  EXPECT_EQ((*kept)->outcome, Outcome::applied) << (*kept)->why;
  EXPECT_EQ(old.machine->get("kept"), "x");
}

TEST_F(MemberGroup, only_linear_reads_need_the_leader) {
  members_.found(3);
  members_.add_one();
  auto& leader = members_.await_leader();
  auto& follower = members_.all[leader.id % 3];
  EXPECT_TRUE(members_.run_until([&] { return members_.agree(); }));
  std::optional<ReadAnswer> linear;
  std::optional<ReadAnswer> local;
  std::optional<ReadAnswer> at;
  const Position reached = follower.core->replica().position();
  EXPECT_TRUE(follower.core->admission().admit_read() && follower.core->admission().admit_read() &&
              follower.core->admission().admit_read());
  follower.core->read(Read::linear(), [&](ReadAnswer answer) { linear = std::move(answer); });
  follower.core->read(Read::local(), [&](ReadAnswer answer) { local = std::move(answer); });
  follower.core->read(Read::at(reached + 1), [&](ReadAnswer answer) { at = std::move(answer); });
  members_.run(2ms);
  ASSERT_TRUE(linear && local);
  EXPECT_EQ(linear->outcome, Outcome::not_leader);
  EXPECT_EQ(linear->leader, name_of_member(leader.id));
  EXPECT_EQ(local->outcome, Outcome::applied);
  EXPECT_EQ(local->position, reached);
  EXPECT_FALSE(at);
  members_.add_one();
  EXPECT_TRUE(members_.run_until([&] { return at.has_value(); }));
  EXPECT_EQ(at->outcome, Outcome::applied);
}

TEST_F(MemberGroup, a_linear_read_of_a_leader_that_was_replaced_is_never_answered_as_applied) {
  members_.found(3);
  members_.add_one();
  auto& old = members_.await_leader();
  old.is_cut_off = true;
  std::optional<ReadAnswer> read;
  EXPECT_TRUE(old.core->admission().admit_read());
  old.core->read(Read::linear(), [&](ReadAnswer answer) { read = std::move(answer); });
  members_.add_one();
  old.is_cut_off = false;
  EXPECT_TRUE(members_.run_until([&] { return read.has_value(); }));
  EXPECT_EQ(read->outcome, Outcome::not_leader);
}

TEST_F(MemberGroup, a_leader_whose_disk_takes_most_of_a_second_leads_on_and_loses_nothing) {
  members_.found(3);
  members_.add_one();
  auto& leader = members_.await_leader();
  const Term term = leader.core->consensus().term();
  leader.is_disk_held = true;
  const auto answer = members_.append(leader, kv_add("n", 1));
  members_.run(900ms);
  EXPECT_TRUE(leader.leads()) << "deciding does not wait for the disk, so its heartbeats went on";
  EXPECT_FALSE(answer->has_value()) << "what is applied here is stored here";
  leader.is_disk_held = false;
  EXPECT_TRUE(members_.run_until([&] { return answer->has_value(); }));
  EXPECT_EQ((*answer)->outcome, Outcome::applied);
  for (auto& member : members_.all) EXPECT_EQ(member.core->consensus().term(), term) << member.id;
}

TEST_F(MemberGroup, a_leader_whose_disk_is_stuck_gives_leadership_away_within_two_seconds) {
  members_.found(3);
  members_.add_one();
  auto& stuck = members_.await_leader();
  stuck.is_disk_held = true;
  const auto answer = members_.append(stuck, kv_put("kept", "x"));
  members_.run(2s);
  EXPECT_FALSE(stuck.leads());
  ASSERT_NE(members_.leader(), nullptr) << "the others have healthy disks";
  members_.add_one();
  stuck.is_disk_held = false;
  EXPECT_TRUE(members_.run_until([&] { return answer->has_value() && members_.agree(); }));
  EXPECT_EQ((*answer)->outcome, Outcome::applied) << "a majority had it";
  EXPECT_EQ(stuck.machine->get("kept"), "x");
}

TEST_F(MemberGroup, grows_from_one_to_three_and_outlives_the_first) {
  members_.found(1);
  for (int i = 0; i < 5; ++i) members_.add_one();
  for (int i = 0; i < 2; ++i) {
    auto& joiner = members_.join();
    for (const auto kind : {consensus::MemberChange::Kind::add_learner, consensus::MemberChange::Kind::add_voter}) {
      bool is_proposed = false;
      // One change at a time: the one before must be decided.
      EXPECT_TRUE(members_.run_until([&] {
        members_.all.front().core->change({{kind, joiner.id}}, [&](const auto& result) { is_proposed |= !!result; });
        members_.run(5ms);
        return is_proposed;
      }));
    }
  }
  EXPECT_TRUE(members_.run_until([&] { return members_.agree(); }));
  EXPECT_EQ(members_.all.back().core->consensus().membership().voters().size(), 3U);
  members_.kill(members_.all.front());
  members_.add_one();
  EXPECT_EQ(members_.leader()->machine->get("n"), "6");
}

// A member is away, the others go on, and drop the log that it would need: it is to get a snapshot.
Members::Member& leave_one_behind(Members& members) {
  members.limits.spares_kept = 0;
  members.found(3);
  members.add_one();
  auto& leader = members.await_leader();
  auto& away = members.all[leader.id % 3];
  members.kill(away);
  for (int i = 0; i < 60; ++i) members.add_one();
  members.take_snapshot(leader);
  members.run(20ms);
  for (int i = 0; i < 3; ++i) members.add_one();
  return away;
}

TEST_F(MemberGroup, one_that_was_away_too_long_gets_a_snapshot) {
  auto& away = leave_one_behind(members_);
  members_.open(away);
  EXPECT_TRUE(members_.run_until([&] { return members_.agree(); }));
  EXPECT_EQ(away.machine->get("n"), "64");
  EXPECT_GT(away.core->snapshot_position(), 0U);
  members_.kill(away);
  members_.open(away);
  members_.add_one();
  EXPECT_TRUE(members_.run_until([&] { return members_.agree(); }));
}

// From the at-th operation of its disk on, nothing is done any more; then it starts again. False when it was done
// before.
bool crashes_while_it_is_given_a_snapshot(std::size_t at) {
  Members members;
  auto& away = leave_one_behind(members);
  std::size_t done = 0;
  bool is_down = false;
  away.disk.fault = [&](TestDisk::Op, const std::string&) -> std::optional<DiskError::Code> {
    is_down = is_down || ++done >= at;
    return is_down ? std::optional(DiskError::Code::io) : std::nullopt;
  };
  members.try_to_open(away);
  for (int i = 0; i < 2'000 && away.core && !is_down && !members.agree(); ++i) members.run(1ms);
  const bool is_whole = away.core && !is_down && members.agree();
  members.kill(away);
  away.disk.fault = nullptr;
  members.open(away);
  EXPECT_TRUE(members.run_until([&] { return members.agree(); })) << "after a crash at operation " << at;
  EXPECT_EQ(away.machine->get("n"), "64");
  return !is_whole;
}

TEST(MemberInstall, a_crash_at_any_step_of_it_costs_nothing) {
  std::size_t crashes = 0;
  while (crashes_while_it_is_given_a_snapshot(crashes + 1) && !testing::Test::HasFailure()) ++crashes;
  EXPECT_GT(crashes, 15U);
}

TEST_F(MemberGroup, an_entry_that_nobody_can_apply_is_passed_over_by_all_once_that_is_decided) {
  members_.found(3);
  members_.add_one();
  auto& leader = members_.await_leader();
  const auto thrown = members_.append(leader, "throw");
  EXPECT_TRUE(members_.run_until([&] { return thrown->has_value(); }));
  EXPECT_EQ((*thrown)->outcome, Outcome::unknown);
  EXPECT_TRUE(leader.leads()) << "deciding goes on";
  const Position position = leader.core->replica().position() + 1;
  std::optional<AppendAnswer> skipped;
  leader.core->skip(position - 1, [&](AppendAnswer answer) { skipped = std::move(answer); });
  members_.run(2ms);
  ASSERT_TRUE(skipped);
  EXPECT_EQ(skipped->outcome, Outcome::refused) << "that one is applied";
  skipped.reset();
  leader.core->skip(position, [&](AppendAnswer answer) { skipped = std::move(answer); });
  EXPECT_TRUE(members_.run_until([&] { return skipped.has_value(); }));
  EXPECT_EQ(skipped->outcome, Outcome::applied) << skipped->why;
  members_.run(100ms);
  for (auto& member : members_.all) {
    EXPECT_NE(member.core->stopped().value_or("").find("start the node again"), std::string::npos);
    member.core->close(members_.now);
  }
  for (auto& member : members_.all) members_.open(member);
  members_.add_one();
  EXPECT_TRUE(members_.run_until([&] { return members_.agree(); }));
  EXPECT_EQ(members_.all.front().machine->get("n"), "2");
}

TEST_F(MemberGroup, a_folder_of_one_node_gets_a_configuration_and_a_membership_once) {
  members_.found(1);
  members_.add_one();
  auto& alone = members_.all.front();
  const ClusterId cluster = alone.core->replica().cluster();
  EXPECT_EQ(cluster, 9U);
  alone.options.cluster = 10;
  alone.core->close();
  members_.open(alone);
  EXPECT_EQ(alone.core->replica().cluster(), cluster);
  EXPECT_EQ(alone.core->replica().position(), 4U) << "configuration, membership, a command, and that it leads again";
}

}  // namespace
}  // namespace skein::journal
