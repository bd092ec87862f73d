#include "skein/dispatch/capability.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skein/dispatch/swarm_load.hpp"

namespace skein::dispatch {
namespace {

using testing::HasSubstr;

TEST(CapabilityName, whatever_is_not_reserved_is_allowed) {
  for (const char* good : {"echo", "build:linux", "anything", "a=b", "swarm", "\u00fc"}) {
    EXPECT_EQ(capability_problem(good), std::nullopt) << good;
  }
}

TEST(CapabilityName, those_that_say_whose_agent_it_is_are_the_nodes_own) {
  EXPECT_THAT(capability_problem("any").value_or(""), HasSubstr("every agent has it"));
  for (const auto& own : {swarm_capability("a"), swarm_capability("")}) {
    EXPECT_THAT(capability_problem(own).value_or(""), HasSubstr("the node's own")) << own;
  }
}

TEST(CapabilityName, has_no_spaces_commas_or_control_characters_unless_a_ledger_has_it_already) {
  for (const char* odd : {"code review", " echo", "echo ", "a,b", "a\tb", "a\nb", " "}) {
    EXPECT_THAT(capability_problem(odd).value_or(""), HasSubstr("use '-' or '_' instead")) << odd;
    EXPECT_THAT(capability_text_problem(odd).value_or(""), HasSubstr("use '-' or '_' instead")) << odd;
    EXPECT_EQ(stored_capability_problem(odd), std::nullopt) << odd;
  }
  EXPECT_EQ(capability_text_problem("any"), std::nullopt) << "a task may require what the node itself gives";
  EXPECT_THAT(capability_text_problem("").value_or(""), HasSubstr("empty"));
}

TEST(CapabilityName, is_neither_empty_nor_too_long) {
  EXPECT_THAT(capability_problem("").value_or(""), HasSubstr("empty"));
  EXPECT_EQ(capability_problem(std::string(256, 'x')), std::nullopt);
  EXPECT_THAT(capability_problem(std::string(257, 'x')).value_or(""), HasSubstr("at most 256"));
}

}  // namespace
}  // namespace skein::dispatch
