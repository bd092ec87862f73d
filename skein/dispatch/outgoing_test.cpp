#include "skein/dispatch/outgoing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skein::inline v0::dispatch {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

struct OutgoingWorld {
  DispatcherOptions options;
  Outgoing outgoing{options};

  std::uint64_t add(std::uint32_t slot, bool is_completion = false, std::size_t bytes = 64) {
    ledger::Assign op;
    op.agent = "ada";
    return outgoing.add({slot, OpKind::assign, slot}, op, is_completion, bytes);
  }
  std::vector<Append> take() {
    std::vector<Append> out;
    outgoing.take_ready(out);
    return out;
  }
};

TEST(Outgoing, gathers_operations_into_one_append_and_says_what_was_in_it) {
  OutgoingWorld world;
  const std::uint64_t id = world.add(1);
  EXPECT_EQ(world.add(2), id);
  EXPECT_TRUE(world.outgoing.is_gathering(id));
  const auto taken = world.take();
  ASSERT_THAT(taken, SizeIs(1));
  EXPECT_EQ(taken[0].id, id);
  EXPECT_THAT(taken[0].commands, SizeIs(1));
  EXPECT_FALSE(world.outgoing.is_gathering(id));
  const auto refs = world.outgoing.answered(id);
  ASSERT_THAT(refs, SizeIs(2));
  EXPECT_EQ(refs[1].slot, 2U);
  EXPECT_THAT(world.outgoing.answered(id), IsEmpty()) << "it is answered once";
}

TEST(Outgoing, makes_a_new_command_and_a_new_append_when_one_is_full) {
  OutgoingWorld world;
  world.options.ops_per_command = 2;
  world.options.append_bytes = 600;
  world.outgoing = Outgoing(world.options);
  const std::uint64_t first = world.add(1);
  EXPECT_EQ(world.add(2), first);
  EXPECT_EQ(world.add(3), first) << "in its second command";
  EXPECT_EQ(world.add(4), first);
  EXPECT_NE(world.add(5, false, 1'000), first) << "it would be more than append_bytes";
  const auto taken = world.take();
  ASSERT_THAT(taken, SizeIs(2));
  EXPECT_THAT(taken[0].commands, SizeIs(2));
}

TEST(Outgoing, keeps_half_of_its_appends_for_completions) {
  OutgoingWorld world;
  world.options.appends_in_flight = 4;
  world.outgoing = Outgoing(world.options);
  for (std::uint32_t i = 1; i <= 2; ++i) {
    world.add(i);
    EXPECT_THAT(world.take(), SizeIs(1));
  }
  EXPECT_FALSE(world.outgoing.has_room());
  world.add(3);
  EXPECT_THAT(world.take(), IsEmpty());
  world.add(4, true);
  const auto taken = world.take();
  ASSERT_THAT(taken, SizeIs(1)) << "a completion goes, and takes along what has gathered";
  EXPECT_EQ(taken[0].urgency, journal::Urgency::completion);
  EXPECT_EQ(world.outgoing.in_flight(), 3U);
}

TEST(Outgoing, makes_a_task_wait_for_an_operation_but_not_for_a_note) {
  OutgoingWorld world;
  TaskRecord task;
  world.outgoing.add_for(task, 1, OpKind::progress, ledger::Progress{}, false);
  EXPECT_EQ(task.batch, 0U);
  world.outgoing.add_for(task, 1, OpKind::complete, ledger::Complete{}, true);
  EXPECT_NE(task.batch, 0U);
}

TEST(Outgoing, drops_what_was_not_taken_and_still_knows_what_is_under_way) {
  OutgoingWorld world;
  const std::uint64_t under_way = world.add(1);
  world.take();
  world.add(2);
  world.outgoing.drop_queued();
  EXPECT_THAT(world.take(), IsEmpty());
  EXPECT_THAT(world.outgoing.answered(under_way), SizeIs(1));
}

}  // namespace
}  // namespace skein::inline v0::dispatch
