#include "skein/node/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "skein/node/config_keys.hpp"
#include "skein/node/config_values.hpp"
#include "skein/node/declared_supervisors.hpp"

namespace skein::inline v0::node {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string faults_of(std::string_view text) {
  const auto config = parse_config(text, "skein.toml");
  return config ? "" : config.error().describe();
}

Config config_of(std::string_view text) {
  auto config = parse_config(text, "skein.toml");
  EXPECT_TRUE(config) << config.error().describe();
  return config ? std::move(*config) : Config{};
}

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in) << path;
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(ConfigTest, defaults_are_of_no_file) {
  const auto config = load_config("");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->file, "") << "doctor would look for it";
}

TEST(ConfigTest, an_empty_file_is_a_swarm_of_function_agents) {
  const Config config = config_of("");
  ASSERT_EQ(config.swarms.size(), 1U);
  const SwarmConfig& swarm = config.swarms.at("default");
  EXPECT_EQ(swarm.executor, "function");
  EXPECT_EQ(swarm.min, 5U);
  EXPECT_EQ(swarm.max, 100U);
  EXPECT_EQ(swarm.idle_shrink, std::chrono::seconds(30));
  EXPECT_EQ(config.node.drain, std::chrono::seconds(30));
  EXPECT_EQ(config.http.listen, "127.0.0.1:7433");
  EXPECT_TRUE(config.http.enabled);
  EXPECT_EQ(config.limits, ledger::Limits{});
}

TEST(ConfigTest, the_node_has_a_name_that_the_ledger_takes) {
  EXPECT_THAT(faults_of("[node]\nname = \"a node\"\n"), HasSubstr("[node] name 'a node': a name has letters"));
  EXPECT_THAT(faults_of("[node]\nname = \"" + std::string(300, 'x') + "\"\n"), HasSubstr("at most 128 of them"));
  EXPECT_THAT(faults_of("[limits]\nname_bytes = 16\n[node]\nname = \"seventeen-letters\"\n"),
              HasSubstr("at most 16 of them"));
  EXPECT_EQ(faults_of("[limits]\nname_bytes = 17\n[node]\nname = \"seventeen-letters\"\n"), "");
}

TEST(ConfigTest, the_template_is_right_and_has_one_executor_of_each_kind) {
  const Config config = config_of(config_template());
  EXPECT_EQ(config.executors.at("function").kind, "function");
  EXPECT_EQ(config.executors.at("count").kind, "command");
  EXPECT_EQ(config.executors.at("lines").kind, "stdio");
  EXPECT_EQ(config.swarms.size(), 3U);
}

TEST(ConfigTest, reads_every_kind_of_value) {
  const Config config = config_of(R"(
[node]
name = "alpha"
drain = "2min"
[limits]
params_bytes = "128KiB"
open_tasks = 5
[dispatch]
strategy = "two_choices"
lease = "10s"
retry = { growth = "linear", first = "50ms", jitter = 0.2 }
[dispatch.types.build]
timeout = "1h"
[executors.make]
kind = "command"
command = ["make", "-j2"]
env = ["PATH"]
set_env = { LANG = "C" }
memory_max = "1GiB"
file_max = "1MiB"
processes_max = 20
[swarms.build]
executor = "make"
capabilities = ["build"]
min = 1
max = 2
[[agents]]
id = "ada"
role = "specialist"
[archive]
keep = "24h"
)");
  EXPECT_EQ(config.node.drain, std::chrono::minutes(2));
  EXPECT_EQ(config.dispatch.node, "alpha");
  EXPECT_EQ(config.limits.params_bytes, 128U << 10U);
  EXPECT_EQ(config.limits.open_tasks, 5U);
  EXPECT_EQ(config.dispatch.strategy, Balance::two_choices);
  EXPECT_EQ(config.dispatch.retry.growth, Growth::linear);
  EXPECT_EQ(config.dispatch.types.at("build").timeout, std::chrono::hours(1));
  EXPECT_THAT(config.executors.at("make").command, ElementsAre("make", "-j2"));
  EXPECT_EQ(config.executors.at("make").set_env.at("LANG"), "C");
  EXPECT_EQ(config.executors.at("make").memory_max, 1U << 30U);
  EXPECT_EQ(config.executors.at("make").file_max, 1U << 20U);
  EXPECT_EQ(config.executors.at("make").processes_max, 20U);
  EXPECT_EQ(config.swarms.size(), 1U);
  EXPECT_EQ(config.agents.at(0).id, "ada");
  EXPECT_EQ(config.archive.limits.retention.age, std::chrono::hours(24));
}

TEST(ConfigTest, finds_every_error_at_once_with_its_line_and_what_was_meant) {
  EXPECT_EQ(faults_of("[node]\n"
                      "drain = 5\n"
                      "nmae = \"x\"\n"
                      "[swarms.build]\n"
                      "exectuor = \"make\"\n"
                      "min = 9\n"
                      "max = 3\n"
                      "[nodes]\n"),
            "skein.toml:2: [node] drain: must be a time such as \"500ms\", \"5s\", \"2min\" or \"1h\"\n"
            "skein.toml:3: unknown key 'nmae' (did you mean 'name'?)\n"
            "skein.toml:4: [swarms.build]: min is 9 and max is 3; min must not be greater\n"
            "skein.toml:5: unknown key 'exectuor' (did you mean 'executor'?)\n"
            "skein.toml:8: unknown section 'nodes' (did you mean 'node'?)\n");
}

TEST(ConfigTest, an_executor_that_is_not_there_is_an_error_with_the_nearest_one) {
  EXPECT_EQ(faults_of("[executors.compile]\nkind = \"command\"\ncommand = [\"cc\"]\n"
                      "[swarms.a]\nexecutor = \"compiel\"\n"),
            "skein.toml:5: [swarms.a] executor: there is no executor 'compiel' (did you mean 'compile'?)\n");
}

TEST(ConfigTest, a_capability_that_is_reserved_is_an_error_with_its_line) {
  EXPECT_THAT(faults_of("[swarms.a]\ncapabilities = [\"build\", \"any\"]\n"),
              HasSubstr("skein.toml:2: [swarms.a]: the capability 'any' is reserved"));
  EXPECT_THAT(faults_of("[[agents]]\nid = \"ada\"\ncapabilities = [\"swarm=other\"]\n"),
              HasSubstr("skein.toml:3: agent 'ada': the capability 'swarm=other' is reserved"));
  EXPECT_THAT(faults_of("[[supervisors]]\nname = \"x\"\n[[supervisors.child]]\nid = \"a\"\nworker = \"agent\"\n"
                        "params = { id = \"a\", capabilities = \"a any\" }\n"),
              HasSubstr("the capability 'any' is reserved"));
}

TEST(ConfigTest, a_fallback_swarm_must_be_there_and_lead_nowhere_back) {
  const auto config = parse_config("[swarms.a]\nfallback = \"b\"\n[swarms.b]\nfallback = \"default\"\n", "skein.toml");
  ASSERT_TRUE(config) << config.error().describe();
  EXPECT_EQ(config->swarms.at("a").fallback, "b");
  EXPECT_EQ(faults_of("[swarms.build]\n[swarms.a]\nfallback = \"biuld\"\n"),
            "skein.toml:3: [swarms.a] fallback: there is no swarm 'biuld' (did you mean 'build'?)\n");
  EXPECT_EQ(faults_of("[swarms.a]\nfallback = \"a\"\n"),
            "skein.toml:2: [swarms.a] fallback: a swarm cannot be its own fallback\n");
  EXPECT_EQ(faults_of("[swarms.a]\nfallback = \"b\"\n[swarms.b]\nfallback = \"a\"\n"),
            "skein.toml:2: [swarms.a] fallback: 'a' -> 'b' -> 'a' is a circle: its tasks would come back\n"
            "skein.toml:4: [swarms.b] fallback: 'b' -> 'a' -> 'b' is a circle: its tasks would come back\n");
}

TEST(ConfigTest, a_kind_of_executor_that_is_not_there_is_an_error_that_names_those_that_are) {
  EXPECT_THAT(faults_of("[executors.x]\nkind = \"llm\"\n"), HasSubstr("(known: function, command, stdio)"));
  EXPECT_THAT(faults_of("[executors.x]\nkind = \"cmd\"\n"),
              HasSubstr("skein.toml:2: [executors.x] kind: unknown 'cmd'"));
}

TEST(ConfigTest, a_command_without_a_command_line_is_an_error) {
  EXPECT_THAT(faults_of("[executors.x]\nkind = \"stdio\"\n"), HasSubstr("skein.toml:1: [executors.x] needs a command"));
  EXPECT_THAT(faults_of("[executors.x]\nkind = \"function\"\ncommand = [\"a\"]\n"),
              HasSubstr("[executors.x] command: kind = \"function\" does not use this key"));
}

TEST(ConfigTest, tasks_may_be_kept_for_less_than_an_hour) {
  const auto config = parse_config("[archive]\nkeep = \"90s\"\n", "skein.toml");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->archive.limits.retention.age, std::chrono::seconds(90));
}

TEST(ConfigTest, the_limits_of_all_swarms_count_for_each_that_names_none) {
  const auto config = parse_config(
      "[limits]\nswarm_tasks = 7\nswarm_bytes = \"2MiB\"\n"
      "[swarms.one]\nexecutor = \"function\"\n[swarms.two]\nexecutor = \"function\"\nopen_tasks = 9\n",
      "skein.toml");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->swarms.at("one").open_tasks, 7U);
  EXPECT_EQ(config->swarms.at("one").open_bytes, 2U << 20U);
  EXPECT_EQ(config->swarms.at("two").open_tasks, 9U);
  const auto plain = parse_config("[limits]\nswarm_tasks = 7\n", "skein.toml");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->swarms.at("default").open_tasks, 7U);
}

TEST(ConfigTest, ranges_hold) {
  EXPECT_THAT(faults_of("[limits]\nparams_bytes = \"1GiB\"\n"), HasSubstr("must be from 1KiB to 384KiB"));
  EXPECT_THAT(faults_of("[dispatch]\nlease = \"1ms\"\n"), HasSubstr("must be from 1s to 24h"));
  EXPECT_THAT(faults_of("[swarms.a]\nprefetch = 101\n"), HasSubstr("must be from 0 to 100"));
  EXPECT_THAT(faults_of("[http]\nlisten = \"7433\"\n"), HasSubstr("must be HOST:PORT"));
}

TEST(ConfigTest, agents_need_ids_of_their_own) {
  EXPECT_THAT(faults_of("[[agents]]\nid = \"a\"\n[[agents]]\nid = \"a\"\n"), HasSubstr("is defined twice"));
  EXPECT_THAT(faults_of("[[agents]]\n"), HasSubstr("needs an id"));
}

TEST(ConfigTest, declared_supervisors_are_checked_with_the_rest) {
  const char* good =
      "[[supervisors]]\nname = \"pair\"\nstrategy = \"one_for_all\"\n"
      "[[supervisors.child]]\nid = \"left\"\nworker = \"agent\"\nparams = { id = \"left\", capabilities = \"a b\" }\n";
  const Config config = config_of(good);
  std::vector<AgentConfig> agents;
  const auto trees = declared_supervisors(config, [&](const AgentConfig& agent) -> StartFunction {
    agents.push_back(agent);
    return [](Self, const std::any&) -> ChildStarting { return ChildStart::ignore(); };
  });
  ASSERT_EQ(trees.size(), 1U);
  EXPECT_EQ(trees[0].name, "pair");
  ASSERT_EQ(agents.size(), 1U);
  EXPECT_THAT(agents[0].capabilities, ElementsAre("a", "b"));

  EXPECT_THAT(faults_of("[[supervisors]]\nname = \"x\"\nstrategy = \"one_for_al\"\n"),
              HasSubstr("skein.toml:3: [[supervisors]] unknown strategy 'one_for_al' (did you mean 'one_for_all'?)"));
  EXPECT_THAT(faults_of("[[supervisors]]\nname = \"x\"\n[[supervisors.child]]\nid = \"a\"\nworker = \"agent\"\n"
                        "params = { id = \"a\", executor = \"nobody\" }\n"),
              HasSubstr("there is no executor 'nobody'"));
}

TEST(ConfigTest, settings_win_over_the_file) {
  const auto config = parse_config("[node]\nname = \"a\"\n", "skein.toml", {"node.name=b", "swarms.default.min=2"});
  ASSERT_TRUE(config) << config.error().describe();
  EXPECT_EQ(config->node.name, "b");
  EXPECT_EQ(config->swarms.at("default").min, 2U);
  const auto wrong = parse_config("", "skein.toml", {"node.nmae=b"});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().describe(), "--set: unknown key 'nmae' (did you mean 'name'?)\n");
}

TEST(ConfigTest, no_token_is_for_loopback_only_and_http_that_was_named_is_known) {
  const std::string everywhere = "listen = \"0.0.0.0:1\"\nauth = \"none\"\n";
  EXPECT_THAT(faults_of("[http]\n" + everywhere), HasSubstr("[http] auth: 'none' is for loopback only"));
  EXPECT_THAT(faults_of("[tcp]\nenabled = true\n" + everywhere), HasSubstr("[tcp] auth: 'none' is for loopback only"));
  EXPECT_TRUE(parse_config("[tcp]\n" + everywhere, "skein.toml")) << "it is off";
  EXPECT_FALSE(default_config().http.is_named);
  EXPECT_FALSE(parse_config("[http]\nidle = \"1s\"\n", "skein.toml")->http.is_named);
  EXPECT_TRUE(parse_config("[http]\nenabled = true\n", "skein.toml")->http.is_named);
  EXPECT_TRUE(parse_config("", "skein.toml", {"http.listen=127.0.0.1:1"})->http.is_named);
}

TEST(ConfigTest, what_is_no_toml_says_where) {
  EXPECT_THAT(faults_of("[node]\nname = \n"), HasSubstr("skein.toml:2: "));
  for (const std::string text : {"[!]", "[[!]]", "[.node]", "[ = 1]", "[node.!]", "! = 1", "[\x7f]", "x = { ! = 1 }",
                                 "\u00e9 = 1", "[\u00e9]", "\ufedf", "x = 1\u00e9"}) {
    EXPECT_THAT(faults_of("\n" + text + "\n"), HasSubstr("skein.toml:2: ")) << text;
  }
  EXPECT_THAT(faults_of(std::string("[\0node]\n", 8)), HasSubstr("skein.toml:1: "));
}

TEST(ConfigTest, capabilities_come_from_role_and_functions_when_none_are_given) {
  const Config config = default_config();
  const ExecutorConfig& function = config.executors.at("function");
  EXPECT_THAT(capabilities_of({}, "specialist", function), testing::IsSupersetOf({"analyze", "echo"}));
  EXPECT_THAT(capabilities_of({"x"}, "specialist", function), ElementsAre("x"));
}

TEST(ConfigTest, times_and_sizes_read_as_they_are_written) {
  for (const char* text : {"0s", "5ms", "90s", "2min", "24h"}) EXPECT_EQ(time_text(*parse_time(text)), text);
  for (const char* text : {"17", "256KiB", "64MiB", "4GiB"}) EXPECT_EQ(bytes_text(*parse_bytes(text)), text);
  for (const char* text : {"", "5", "s", "-5s", "5 s", "99999999h"}) EXPECT_FALSE(parse_time(text)) << text;
  EXPECT_FALSE(parse_bytes("99999999999GiB"));
}

// The pages are part of the product: they must say what the program does.
TEST(ConfigDocsTest, limits_page_is_what_the_program_prints) {
  EXPECT_EQ(read("docs/limits.md"), limits_page()) << "run: build/bin/skein config limits --markdown > docs/limits.md";
}

TEST(ConfigDocsTest, config_page_has_every_key_in_its_section) {
  const std::string page = read("docs/config.md");
  for (const KeyInfo& each : all_keys(Config{})) {
    const std::size_t begin = page.find("\n## " + each.section);
    ASSERT_NE(begin, std::string::npos) << each.section;
    const std::string section = page.substr(begin, page.find("\n## ", begin + 1) - begin);
    const std::size_t row = section.find("\n| `" + each.key + "` |");
    ASSERT_NE(row, std::string::npos) << each.section << " " << each.key;
    const std::string line = section.substr(row + 1, section.find('\n', row + 1) - row - 1);
    const bool has_plain_default = !each.value.empty() && each.key != "timeout";
    if (has_plain_default) {
      EXPECT_THAT(line, HasSubstr("`" + each.value + "`")) << each.section << " " << each.key;
    }
  }
}

TEST(Config, older_names_of_swarm_settings_get_todays_as_a_suggestion) {
  for (const auto& [older, meant] : {std::pair{"agents_min", "min"},
                                     {"agents_max", "max"},
                                     {"idle_after_ms", "idle_shrink"},
                                     {"breaker_open_ms", "breaker_open"}}) {
    EXPECT_THAT(faults_of(std::string("[swarms.x]\n") + older + " = 1\n"),
                HasSubstr(std::string("unknown key '") + older + "' (did you mean '" + meant + "'?)"));
  }
}

}  // namespace
}  // namespace skein::inline v0::node
