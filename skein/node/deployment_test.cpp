#include "skein/node/deployment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skein::inline v0::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::string_view k_deployed_text = R"(
[executors.words]
kind = "command"
command = ["wc"]
[[agents]]
id = "ada"
[[agents]]
id = "bob"
executor = "words"
[[supervisors]]
name = "team"
[[supervisors.child]]
id = "carl"
worker = "agent"
params = { id = "carl", executor = "words" }
[[supervisors.child]]
id = "below"
[supervisors.child.supervisor]
[[supervisors.child.supervisor.child]]
id = "dora"
worker = "agent"
params = { id = "dora" }
)";

Config deployed_config(std::string text) {
  auto config = parse_config(text, "skein.toml");
  EXPECT_TRUE(config) << config.error().describe();
  return config ? std::move(*config) : Config{};
}

TEST(Deployment, names_every_agent_and_tree_with_the_agents_in_it) {
  const Units units = wanted_units(deployed_config(std::string(k_deployed_text)), [](const std::string&) { return 1; });
  ASSERT_EQ(units.size(), 3U);
  EXPECT_THAT(units.at("agent/ada").agents, ElementsAre("ada"));
  EXPECT_THAT(units.at("supervisor/team").agents, ElementsAre("carl", "dora"));
}

TEST(Deployment, replaces_those_whose_executor_or_definition_changed_and_no_others) {
  const Config config = deployed_config(std::string(k_deployed_text));
  const Units before = wanted_units(config, [](const std::string&) { return 1; });
  const Units after = wanted_units(config, [](const std::string& name) { return name == "words" ? 2 : 1; });
  EXPECT_THAT(plan_deployment(before, before).replace, IsEmpty());
  const DeploymentPlan plan = plan_deployment(before, after);
  EXPECT_THAT(plan.replace, ElementsAre("agent/bob", "supervisor/team"));
  EXPECT_THAT(plan.keep, ElementsAre("agent/ada"));
  EXPECT_THAT(plan.start, IsEmpty());
  EXPECT_THAT(plan.end, IsEmpty());
}

TEST(Deployment, a_tree_that_only_moved_in_the_file_stays) {
  const Units before =
      wanted_units(deployed_config(std::string(k_deployed_text)), [](const std::string&) { return 1; });
  const Units after = wanted_units(deployed_config("\n\n# moved\n" + std::string(k_deployed_text)),
                                   [](const std::string&) { return 1; });
  EXPECT_THAT(plan_deployment(before, after).replace, IsEmpty());
}

TEST(Deployment, starts_what_is_new_and_ends_what_is_gone) {
  const Units before =
      wanted_units(deployed_config(std::string(k_deployed_text)), [](const std::string&) { return 1; });
  const Units after = wanted_units(deployed_config("[[agents]]\nid = \"eve\"\n"), [](const std::string&) { return 1; });
  const DeploymentPlan plan = plan_deployment(before, after);
  EXPECT_THAT(plan.start, ElementsAre("agent/eve"));
  EXPECT_THAT(plan.end, ElementsAre("agent/ada", "agent/bob", "supervisor/team"));
}

}  // namespace
}  // namespace skein::inline v0::node
