#include "skein/dispatch/progress_marks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skein/dispatch/rule_world.hpp"

namespace skein::inline v0::dispatch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct MarkWorld : RuleWorld {
  SlotNumber its_task = task(swarm("own"));
  SlotNumber its_run = run(its_task, agent("ada"));
  Outgoing outgoing{options};
  ProgressMarks marks{tables, outgoing};
  Moment moment{at(1), 1'000};

  void told(const std::string& mark) { marks.told(its_run, ledger::body_of(mark), moment); }
  void applied() { marks.applied(tables.tasks[its_task].number, moment); }
  // The marks that were appended since this was last asked: they stand in a command as they are.
  std::vector<std::string> appended() {
    std::vector<Append> out;
    outgoing.take_ready(out);
    std::vector<std::string> found;
    for (const Append& append : out) {
      for (const std::string& command : append.commands) {
        for (std::size_t at = command.find("mark-"); at != std::string::npos; at = command.find("mark-", at + 1)) {
          found.push_back(command.substr(at, 6));
        }
      }
    }
    return found;
  }
};

TEST(ProgressMarks, appends_one_at_a_time_and_then_the_last_one_told) {
  MarkWorld world;
  world.told("mark-1");
  world.told("mark-2");
  world.told("mark-3");
  EXPECT_THAT(world.appended(), ElementsAre("mark-1"));
  world.applied();
  EXPECT_THAT(world.appended(), ElementsAre("mark-3"));
  world.applied();
  EXPECT_THAT(world.appended(), IsEmpty());
  world.told("mark-4");
  EXPECT_THAT(world.appended(), ElementsAre("mark-4"));
}

TEST(ProgressMarks, appends_the_last_one_at_once_when_the_attempt_ends) {
  MarkWorld world;
  world.told("mark-1");
  world.told("mark-2");
  world.marks.append_last(world.its_run, world.moment);
  EXPECT_THAT(world.appended(), ElementsAre("mark-1", "mark-2"));
  world.marks.append_last(world.its_run, world.moment);
  EXPECT_THAT(world.appended(), IsEmpty());
}

TEST(ProgressMarks, appends_none_after_an_outcome_was_told) {
  MarkWorld world;
  world.told("mark-1");
  world.told("mark-2");
  world.tables.runs[world.its_run].become(RunState::reported);
  EXPECT_THAT(world.appended(), ElementsAre("mark-1"));
  world.applied();
  EXPECT_THAT(world.appended(), IsEmpty());
}

TEST(ProgressMarks, takes_no_notice_of_a_mark_of_an_earlier_run) {
  MarkWorld world;
  world.applied();
  world.marks.applied(99, world.moment);
  EXPECT_THAT(world.appended(), IsEmpty());
}

}  // namespace
}  // namespace skein::inline v0::dispatch
