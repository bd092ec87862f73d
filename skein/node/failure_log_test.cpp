#include "skein/node/failure_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skein::node {
namespace {

using namespace std::chrono_literals;
using operations::Event;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Event failed(const std::string& why) {
  Event event;
  event.kind = Event::Kind::task_failed;
  event.task = {1, 2};
  event.type = "build";
  event.name = "default";
  event.message = why;
  return event;
}

TEST(FailureLog, has_a_line_for_each_task_that_failed) {
  FailureLog log;
  Event other = failed("");
  other.kind = Event::Kind::task_completed;
  EXPECT_THAT(log.lines({failed("exit 3\nno such file"), other}, Instant(1s)),
              ElementsAre("task " + ledger::TaskId{1, 2}.text() +
                          " of type 'build' in swarm 'default' failed: exit 3 no such file"));
  EXPECT_THAT(log.lines({failed("")}, Instant(1s)), ElementsAre(HasSubstr("failed: no reason was given")));
}

TEST(FailureLog, leaves_out_most_of_a_flood_and_says_how_many) {
  FailureLog log;
  const std::vector<Event> flood(k_failures_logged + 7, failed("x"));
  EXPECT_EQ(log.lines(flood, Instant(1s)).size(), k_failures_logged);
  EXPECT_THAT(log.lines({failed("y")}, Instant(1500ms)), IsEmpty());
  EXPECT_THAT(log.lines({failed("z")}, Instant(2s)),
              ElementsAre(HasSubstr("8 more tasks failed"), HasSubstr("failed: z")));
}

}  // namespace
}  // namespace skein::node
