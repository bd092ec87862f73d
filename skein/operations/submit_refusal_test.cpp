#include "skein/operations/submit_refusal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skein::operations {
namespace {

using ledger::Verdict;
using testing::HasSubstr;

Error refused(Verdict verdict, const ledger::TaskSpec& spec, std::uint64_t number = 0) {
  return submit_refusal({verdict, std::nullopt, number, {1, 2}}, spec, ledger::Limits{});
}

ledger::TaskSpec plain() {
  ledger::TaskSpec spec;
  spec.swarm = "words";
  spec.type = "echo";
  spec.params = ledger::body_of(std::string(5'000, 'x'));  // more than the limits of other members
  return spec;
}

TEST(SubmitRefusal, names_the_member_that_is_no_name) {
  auto spec = plain();
  spec.type = "a\x1b[2J";
  EXPECT_EQ(refused(Verdict::malformed, spec).message, "type is no name");
  spec = plain();
  spec.capabilities = {"good", ""};
  EXPECT_EQ(refused(Verdict::malformed, spec).message, "one of capabilities is no name");
  EXPECT_EQ(refused(Verdict::malformed, spec).code, Code::invalid);
  EXPECT_THAT(refused(Verdict::malformed, plain()).message, HasSubstr("the task"));
}

TEST(SubmitRefusal, names_the_member_that_is_too_large) {
  auto spec = plain();
  spec.attempts_max = 101;
  EXPECT_EQ(refused(Verdict::too_large, spec, 100).message, "attempts is 101, the limit is 100");
  EXPECT_EQ(refused(Verdict::too_large, spec, 100).code, Code::invalid);
  spec = plain();
  spec.params = ledger::body_of(std::string(300'000, 'x'));
  EXPECT_EQ(refused(Verdict::too_large, spec, 262'144).message, "params has 300000 bytes, the limit is 262144");
  EXPECT_EQ(refused(Verdict::too_large, spec, 262'144).code, Code::too_large);
  spec = plain();
  spec.extras.key = std::string(257, 'k');
  EXPECT_EQ(refused(Verdict::too_large, spec, 256).message, "key has 257 bytes, the limit is 256");
  spec = plain();
  spec.capabilities.assign(33, "c");
  EXPECT_EQ(refused(Verdict::too_large, spec, 32).message, "capabilities has 33 names, the limit is 32");
  EXPECT_THAT(refused(Verdict::too_large, plain(), 7).message, HasSubstr("the limit is 7"));
}

TEST(SubmitRefusal, names_the_swarm_and_never_the_task_that_does_not_exist) {
  EXPECT_EQ(refused(Verdict::no_such_swarm, plain()).message, "there is no swarm 'words'");
  EXPECT_EQ(refused(Verdict::queue_full, plain(), 10).message, "the queue of swarm 'words' is full, the limit is 10");
  EXPECT_GT(refused(Verdict::queue_full, plain(), 10).retry_after.count(), 0);
  EXPECT_THAT(refused(Verdict::swarm_closed, plain()).message, HasSubstr("swarm 'words' accepts no tasks"));
  EXPECT_EQ(refused(Verdict::swarm_closed, plain()).advice,
            "resume it with 'skein swarm resume words', or choose another swarm");
  const std::string missing = ledger::TaskId{1, 2}.text();
  EXPECT_EQ(refused(Verdict::no_such_dependency, plain()).message,
            "the task depends on task " + missing + ", which does not exist");
}

}  // namespace
}  // namespace skein::operations
