#include "skein/node/config_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

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
              ElementsAre(HasSubstr("/etc/passwd is not executable")));
  EXPECT_THAT(found_in("[executors.a]\nkind = \"command\"\ncommand = [\"sh\"]\n"), IsEmpty());
}

TEST(ConfigCheck, finds_scripts_whose_interpreter_is_not_there) {
  const auto folder = std::filesystem::temp_directory_path() / ("skein-config-check-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const auto script = [&](const std::string& first_line) {
    const auto file = folder / "run";
    std::ofstream(file) << first_line << "\necho\n";
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    return found_in("[executors.a]\nkind = \"command\"\ncommand = [\"" + file.string() +
                    "\"]\nset_env = { PATH = \"/usr/bin:/bin\" }\n");
  };
  EXPECT_THAT(script("#!/no/such -x"), ElementsAre("3: [executors.a] command: " + (folder / "run").string() +
                                                   " names the interpreter /no/such, which does not exist"));
  EXPECT_THAT(script("#!/usr/bin/env python3x"), ElementsAre(HasSubstr("'python3x', which is in no folder")));
  EXPECT_THAT(script("#!/usr/bin/env -S A=1 python3x -u"), ElementsAre(HasSubstr("interpreter 'python3x'")));
  EXPECT_THAT(script("#!/usr/bin/env sh"), IsEmpty());
  EXPECT_THAT(script("#! /bin/sh -e"), IsEmpty());
  std::filesystem::remove_all(folder);
}

TEST(ConfigCheck, finds_users_groups_and_functions_that_are_not_there) {
  const std::string program = "[executors.a]\nkind = \"command\"\ncommand = [\"sh\"]\n";
  EXPECT_THAT(found_in(program + "user = \"no-such-user\"\n"),
              ElementsAre("4: [executors.a] user = \"no-such-user\": there is no such user on this machine"));
  EXPECT_THAT(found_in(program + "group = \"no-such-group\"\n"), ElementsAre(HasSubstr("4: [executors.a] group")));
  EXPECT_THAT(found_in(program + "user = \"root\"\n"), IsEmpty()) << "whether the node may is the node's to say";
  const std::string text = "[executors.f]\nkind = \"function\"\nfunctions = [\"echo\", \"ecco\", \"mine\"]\n";
  EXPECT_THAT(found_in(text), ElementsAre(HasSubstr("3: [executors.f] functions: there is no function 'ecco'"),
                                          HasSubstr("there is no function 'mine'")));
  EXPECT_EQ(check_surroundings(config_to_check(text), {"mine"}).size(), 1U) << "the program has that one";
}

TEST(ConfigCheck, finds_agents_of_a_swarm_that_is_not_there) {
  const std::string swarms = "[swarms.words]\nexecutor = \"function\"\n";
  EXPECT_THAT(found_in(swarms + "[[agents]]\nid = \"ada\"\nswarm = \"wrds\"\n"),
              ElementsAre(HasSubstr("[[agents]] 'ada': there is no [swarms.wrds] (did you mean 'words'?)")));
  EXPECT_THAT(found_in(swarms + "[[agents]]\nid = \"ada\"\nswarm = \"words\"\n[[agents]]\nid = \"bob\"\n"), IsEmpty());
}

TEST(ConfigCheck, shows_wrong_keys_and_missing_programs_together) {
  const std::string text =
      "[executors.a]\nkind = \"command\"\ncommand = [\"/does/not/exist\"]\nmemry_max = 1\n[executors.b]\nkind = "
      "\"x\"\n";
  const ConfigFaults found = check_config(parse_config(text, "skein.toml"), "skein.toml");
  EXPECT_THAT(found.describe(), HasSubstr("skein.toml:3: [executors.a] command: /does/not/exist is not there\n"
                                          "skein.toml:4: unknown key 'memry_max'"));
  EXPECT_THAT(check_config(parse_config("[executors.a\n", "skein.toml"), "skein.toml").faults, testing::SizeIs(1));
}

TEST(ConfigCheck, shows_all_that_is_wrong_with_an_executor) {
  EXPECT_THAT(found_in("[executors.a]\nkind = \"command\"\ncommand = [\"/does/not/exist\"]\ndirectory = \"/nope\"\n"
                       "user = \"no-such-user\"\ngroup = \"no-such-group\"\n"),
              ElementsAre("3: [executors.a] command: /does/not/exist is not there",
                          "4: [executors.a] directory: there is no folder /nope",
                          HasSubstr("5: [executors.a] user = \"no-such-user\""),
                          HasSubstr("6: [executors.a] group = \"no-such-group\"")));
}

TEST(ConfigCheck, shows_what_is_wrong_with_supervisors_beside_everything_else) {
  const std::string text =
      "[node]\nlog_levl = \"info\"\n[[supervisors]]\nname = \"team\"\nstrategy = \"one_for_non\"\nperiod = 7\n"
      "[[supervisors.child]]\nid = \"ada\"\nworker = \"agnt\"\nrestart = \"seldom\"\n";
  const std::string found = check_config(parse_config(text, "skein.toml"), "skein.toml").describe();
  for (const char* each :
       {"skein.toml:2: unknown key 'log_levl'", "skein.toml:5: [[supervisors]] unknown strategy 'one_for_non'",
        "skein.toml:6: [[supervisors]] period must be a string", "skein.toml:9: [[supervisors]] unknown worker 'agnt'",
        "skein.toml:10: [[supervisors]] unknown restart 'seldom'"}) {
    EXPECT_THAT(found, HasSubstr(each));
  }
}

TEST(ConfigCheck, finds_folders_that_are_not_there) {
  EXPECT_THAT(found_in("[executors.a]\nkind = \"command\"\ncommand = [\"./run\"]\ndirectory = \"/nope\"\n"),
              ElementsAre("4: [executors.a] directory: there is no folder /nope"));
}

TEST(ConfigCheck, finds_keys_that_mean_nothing_to_the_kind) {
  EXPECT_THAT(found_in("[executors.a]\nkind = \"stdio\"\ncommand = [\"sh\"]\noutput = \"text\"\n"),
              ElementsAre("4: [executors.a] output: kind = \"stdio\" does not use this key"));
  EXPECT_THAT(found_in("[executors.a]\nkind = \"function\"\nmemory_max = \"1GiB\"\n"),
              ElementsAre("3: [executors.a] memory_max: kind = \"function\" does not use this key"));
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
