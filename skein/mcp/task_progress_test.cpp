#include "skein/mcp/task_progress.hpp"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

namespace skein::inline v0::mcp {
namespace {

TEST(TaskProgressTest, tells_the_agents_mark_and_its_numbers) {
  TaskProgress progress;
  const auto word = progress.on_mark(boost::json::parse(R"({"step":3,"of":6,"note":"half"})"));
  EXPECT_EQ(word.progress, 3);
  EXPECT_EQ(word.total, 6);
  EXPECT_EQ(word.message, R"({"step":3,"of":6,"note":"half"})");
  EXPECT_EQ(progress.on_mark("compiling").message, "compiling");
}

TEST(TaskProgressTest, rises_with_every_word) {
  TaskProgress progress;
  double last = 0;
  const auto expect_risen = [&](const TaskProgress::Word& word) {
    EXPECT_GT(word.progress, last);
    EXPECT_FALSE(word.total && word.progress > *word.total);
    last = word.progress;
  };
  expect_risen(progress.on_time());
  EXPECT_EQ(progress.on_time().message, "the task is not finished yet");
  expect_risen(progress.on_time());
  expect_risen(progress.on_mark(boost::json::parse(R"({"step":2,"of":2})")));
  expect_risen(progress.on_mark(boost::json::parse(R"({"step":1,"of":2})")));  // the next attempt
  const auto still = progress.on_time();
  expect_risen(still);
  EXPECT_EQ(still.message, R"({"step":1,"of":2})") << "the last mark stands";
}

TEST(TaskProgressTest, takes_no_numbers_that_make_no_sense) {
  for (const char* mark : {R"({"step":-1,"of":2})", R"({"step":3,"of":2})", R"({"step":"1","of":2})", R"({"of":2})",
                           R"({"step":0,"of":0})", "[1,2]", "7"}) {
    EXPECT_FALSE(TaskProgress().on_mark(boost::json::parse(mark)).total) << mark;
  }
}

}  // namespace
}  // namespace skein::inline v0::mcp
