#include "skein/node/config_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skein/node/config_keys.hpp"
#include "skein/node/config_reload.hpp"
#include "skein/node/executor_kinds.hpp"

namespace skein::inline v0::node {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Config config_to_check(const std::string& text) {
  auto config = parse_config(text, "skein.toml");
  EXPECT_TRUE(config) << config.error().describe();
  return config ? std::move(*config) : Config{};
}

std::vector<std::string> found_in(const std::string& text) {
  std::vector<std::string> lines;
  for (const ConfigFault& each : check_surroundings(config_to_check(text))) {
    lines.push_back(std::to_string(each.line) + ": " + each.message);
  }
  return lines;
}

TEST(ConfigCheck, finds_programs_that_are_not_there) {
  EXPECT_THAT(
      found_in("[executors.a]\nkind = \"command\"\ncommand = [\"/does/not/exist\"]\n"
               "[executors.b]\nkind = \"stdio\"\ncommand = [\"no-such-program\"]\nset_env = { PATH = \"/bin\" }\n"),
      ElementsAre("3: [executors.a] command: /does/not/exist is not there",
                  "6: [executors.b] command: 'no-such-program' is in no folder of its PATH, /bin"));
  EXPECT_THAT(found_in("[executors.a]\nkind = \"command\"\ncommand = [\"/etc/passwd\"]\n"),
              ElementsAre(HasSubstr("/etc/passwd may not be run")));
  EXPECT_THAT(found_in("[executors.a]\nkind = \"command\"\ncommand = [\"sh\"]\n"), IsEmpty());
}

TEST(ConfigCheck, finds_folders_that_are_not_there) {
  EXPECT_THAT(found_in("[executors.a]\nkind = \"command\"\ncommand = [\"./run\"]\ndirectory = \"/nope\"\n"),
              ElementsAre("4: [executors.a] directory: there is no folder /nope"));
}

TEST(ConfigCheck, finds_keys_that_mean_nothing_to_the_kind) {
  EXPECT_THAT(found_in("[executors.a]\nkind = \"stdio\"\ncommand = [\"sh\"]\noutput = \"text\"\n"),
              ElementsAre("4: [executors.a]: a stdio has no output"));
  EXPECT_THAT(found_in("[executors.a]\nkind = \"function\"\nmemory_max = \"1GiB\"\n"),
              ElementsAre("3: [executors.a]: a function has no memory_max"));
}

TEST(ConfigCheck, every_key_of_executors_means_something_to_some_kind) {
  for (const auto& key : keys_of<ExecutorConfig>()) {
    const auto has_it = [&](const ExecutorKind& kind) { return has_key(kind, key.name); };
    EXPECT_TRUE(std::ranges::any_of(executor_kinds(), has_it)) << key.name;
  }
  for (const ExecutorKind& kind : executor_kinds()) {
    for (const std::string_view key : kind.keys) {
      const auto is_it = [&](const auto& each) { return each.name == key; };
      EXPECT_TRUE(key == "set_env" || std::ranges::any_of(keys_of<ExecutorConfig>(), is_it)) << key;
    }
  }
}

TEST(ConfigReload, takes_over_what_is_live_and_names_the_rest) {
  const Config before = config_to_check("[node]\ndrain = \"5s\"\nname = \"one\"\n[http]\nidle = \"10s\"\n");
  const Config after = config_to_check(
      "[node]\ndrain = \"6s\"\nname = \"two\"\n[http]\nidle = \"20s\"\n[limits]\nopen_tasks = 77\nresult_bytes = 2048\n"
      "[dispatch]\nlease = \"40s\"\nstrategy = \"two_choices\"\n[dispatch.types.slow]\ntimeout = \"1h\"\n"
      "[executors.x]\nkind = \"function\"\n[swarms.x]\nexecutor = \"x\"\n");
  const ReloadPlan plan = plan_reload(before, after);
  EXPECT_THAT(plan.needs_restart, ElementsAre("[node] name", "[limits] result_bytes", "[http] idle"));
  EXPECT_EQ(plan.config.node.drain, std::chrono::seconds(6));
  EXPECT_EQ(plan.config.node.name, "one");
  EXPECT_EQ(plan.config.http.idle, std::chrono::seconds(10));
  EXPECT_EQ(plan.config.limits.open_tasks, 77U);
  EXPECT_EQ(plan.config.limits.result_bytes, before.limits.result_bytes);
  EXPECT_EQ(plan.config.dispatch.lease, std::chrono::seconds(40));
  EXPECT_EQ(plan.config.dispatch.strategy, Balance::two_choices);
  EXPECT_TRUE(plan.config.dispatch.types.contains("slow"));
  EXPECT_TRUE(plan.config.swarms.contains("x"));
  EXPECT_THAT(plan_reload(plan.config, after).needs_restart, Contains("[node] name"))
      << "it is named until the restart";
}

TEST(ConfigReload, tells_which_executors_differ) {
  const Config before = config_to_check("[executors.a]\nkind = \"function\"\n[executors.b]\nkind = \"function\"\n");
  const Config after =
      config_to_check("[executors.b]\nkind = \"function\"\nconcurrency = 3\n[executors.c]\nkind = \"function\"\n");
  EXPECT_THAT(changed_executors(before, after),
              ElementsAre(HasSubstr("'b' changed"), "executor 'c' added", "executor 'a' removed"));
  EXPECT_THAT(changed_executors(after, after), IsEmpty());
}

// Otherwise every verb in that folder would ask the node in the usual one.
TEST(ConfigCheck, a_data_folder_without_a_name_is_refused) {
  const auto nowhere = parse_config("[node]\ndata = \"\"\n", "skein.toml");
  ASSERT_FALSE(nowhere);
  EXPECT_THAT(nowhere.error().describe(), HasSubstr("skein.toml:2: [node] data: must not be empty"));
}

TEST(ConfigReload, agents_must_be_heard_more_often_than_they_are_waited_for) {
  const auto wrong = parse_config("[dispatch]\nheartbeat_every = \"10s\"\n", "skein.toml");
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().describe(), HasSubstr("skein.toml:2: [dispatch] heartbeat_every is 10s"));
  EXPECT_TRUE(parse_config("[dispatch]\nheartbeat_every = \"10s\"\nsilent_after = \"30s\"\n", "skein.toml"));
  EXPECT_TRUE(parse_config("[dispatch]\nlease = \"2s\"\n", "skein.toml")) << "as before there was such a key";
}

}  // namespace
}  // namespace skein::inline v0::node
