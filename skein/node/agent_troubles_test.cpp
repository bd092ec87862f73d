#include "skein/node/agent_troubles.hpp"

#include <gtest/gtest.h>

namespace skein::inline v0::node {
namespace {

class AgentTroublesTest : public testing::Test {
 protected:
  void SetUp() override { troubles_.starts("ada"); }
  void tell(EventKind kind, const std::string& supervisor = "named_agents") {
    SupervisionEvent event;
    event.kind = kind;
    event.supervisor = supervisor;
    event.child = "ada";
    event.reason = ExitReason::custom("it has not said hello");
    troubles_.on_event(event, "named_agents");
  }
  AgentTroubles troubles_;
};

TEST_F(AgentTroublesTest, an_agent_that_ends_before_it_has_joined_is_in_trouble_until_it_joins) {
  EXPECT_FALSE(troubles_.is_any());
  tell(EventKind::child_terminated);
  tell(EventKind::child_restarted);
  EXPECT_TRUE(troubles_.is_any()) << "also while it starts again";
  EXPECT_EQ(troubles_.why("ada"), "it has not said hello");
  EXPECT_EQ(troubles_.why("bob"), std::nullopt);
  troubles_.joined("ada");
  EXPECT_EQ(troubles_.why("ada"), std::nullopt);
  EXPECT_FALSE(troubles_.is_any());
}

TEST_F(AgentTroublesTest, an_agent_that_had_joined_is_in_trouble_only_when_it_fails_again) {
  troubles_.joined("ada");
  tell(EventKind::child_terminated);
  EXPECT_FALSE(troubles_.is_any());
  tell(EventKind::child_terminated);
  EXPECT_TRUE(troubles_.is_any());
}

TEST_F(AgentTroublesTest, an_agent_that_somebody_stopped_is_in_no_trouble) {
  tell(EventKind::child_terminated);
  tell(EventKind::child_stopped);
  EXPECT_FALSE(troubles_.is_any());
}

TEST_F(AgentTroublesTest, agents_that_the_config_does_not_name_are_not_kept) {
  for (int number = 1; number <= 1000; ++number) troubles_.joined("default-" + std::to_string(number));
  EXPECT_EQ(troubles_.remembered(), 1U) << "ada";
  tell(EventKind::child_terminated);
  EXPECT_EQ(troubles_.remembered(), 1U) << "an agent that is restarted is still named";
  troubles_.forget("ada");
  EXPECT_EQ(troubles_.remembered(), 0U);
  EXPECT_FALSE(troubles_.is_any());
}

TEST_F(AgentTroublesTest, children_of_other_supervisors_do_not_count) {
  tell(EventKind::child_terminated, "connections");
  EXPECT_FALSE(troubles_.is_any());
}

}  // namespace
}  // namespace skein::inline v0::node
