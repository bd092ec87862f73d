#include "skein/operations/command_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "skein/operations/table.hpp"

namespace skein::inline v0::operations {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Param& param_of(std::string_view operation, std::string_view name) {
  return *find_operation(operation)->param(name);
}

std::string read(const Param& param, const std::vector<std::string>& words, bool is_older = false) {
  const auto value = value_of_words(param, words, is_older);
  return value ? json_text(*value) : value.error().message;
}

TEST(CommandLine, names_options_after_parameters_and_keeps_the_older_ones) {
  EXPECT_EQ(option_of(param_of("task_submit", "delay_ms")), "delay");
  EXPECT_THAT(older_options_of(param_of("task_submit", "delay_ms")), ElementsAre("delay-ms"));
  EXPECT_EQ(option_of(param_of("task_submit", "timeout_ms")), "task-timeout");
  EXPECT_THAT(older_options_of(param_of("task_submit", "timeout_ms")), ElementsAre("task-timeout-ms"));
  EXPECT_EQ(option_of(param_of("swarm_create", "idle_shrink")), "idle-shrink");
  EXPECT_THAT(older_options_of(param_of("swarm_create", "min")), ElementsAre("agents-min"));
}

TEST(CommandLine, refuses_an_empty_id_of_a_task_which_every_id_begins_with) {
  EXPECT_EQ(read(param_of("task_cancel", "id"), {""}), "ID must not be empty; is a shell variable not set?");
  EXPECT_EQ(read(param_of("task_submit", "dependencies"), {""}),
            "--after must not be empty; is a shell variable not set?");
}

TEST(CommandLine, refuses_an_empty_name_of_what_a_task_or_a_token_is_for) {
  for (const auto& [operation, name] : std::vector<std::pair<const char*, const char*>>{{"task_submit", "agent"},
                                                                                        {"task_submit", "swarm"},
                                                                                        {"task_submit", "route_key"},
                                                                                        {"task_list", "swarm"},
                                                                                        {"task_list", "type"},
                                                                                        {"task_list", "text"},
                                                                                        {"agent_list", "swarm"},
                                                                                        {"agent_spawn", "executor"},
                                                                                        {"agent_spawn", "id"},
                                                                                        {"agent_spawn", "swarm"},
                                                                                        {"token_create", "swarm"}}) {
    EXPECT_THAT(read(param_of(operation, name), {""}), HasSubstr("must not be empty; is a shell variable not set?"))
        << operation << " " << name;
  }
}

TEST(CommandLine, reads_times_with_their_unit_and_older_options_in_milliseconds) {
  const Param& delay = param_of("task_submit", "delay_ms");
  EXPECT_EQ(read(delay, {"5s"}), "5000");
  EXPECT_EQ(read(delay, {"0"}), "0");
  EXPECT_EQ(read(delay, {"5000"}, true), "5000");
  EXPECT_THAT(read(delay, {"5"}), HasSubstr("--delay '5' must be a time such as 250ms, 5s or 2h"));
  EXPECT_THAT(read(delay, {"soon"}), HasSubstr("--delay 'soon' must be a time"));
}

TEST(CommandLine, reads_what_a_parameter_takes_and_says_what_it_should_be) {
  EXPECT_EQ(read(param_of("task_submit", "attempts"), {"3"}), "3");
  EXPECT_THAT(read(param_of("task_submit", "attempts"), {"-3"}), HasSubstr("--attempts '-3' must be a whole number"));
  EXPECT_THAT(read(param_of("swarm_scale", "max"), {"200000"}), HasSubstr("from 1 to 100000"));
  EXPECT_EQ(read(param_of("task_submit", "capabilities"), {"a", "b"}), R"(["a","b"])");
  EXPECT_EQ(read(param_of("agent_list", "capabilities"), {"a, b", "c"}), R"(["a","b","c"])");
  EXPECT_THAT(read(param_of("task_submit", "priority"), {"urgent"}), HasSubstr("low, normal, high or critical"));
}

TEST(CommandLine, says_in_help_what_kind_of_value_an_option_takes) {
  EXPECT_EQ(option_type(param_of("task_submit", "attempts")), "NUMBER");
  EXPECT_EQ(option_type(param_of("task_submit", "delay_ms")), "DURATION");
  EXPECT_EQ(option_type(param_of("swarm_create", "idle_shrink")), "DURATION");
  EXPECT_EQ(option_type(param_of("task_list", "finished_from")), "TIME");
  EXPECT_EQ(option_type(param_of("task_submit", "type")), "TEXT");
}

TEST(CommandLine, shows_words_and_defaults_in_help) {
  EXPECT_THAT(option_help(param_of("swarm_create", "idle_shrink")), HasSubstr("[default: 30s]"));
  EXPECT_THAT(option_help(param_of("swarm_override", "idle_shrink")), testing::Not(HasSubstr("[default")));
  EXPECT_THAT(option_help(param_of("task_submit", "priority")),
              HasSubstr("low, normal, high, critical [default: normal]"));
  EXPECT_THAT(option_help(param_of("trace", "within_ms")), HasSubstr("[default: 1s]"));
  EXPECT_THAT(option_help(param_of("task_list", "limit")), HasSubstr("[default: 50]"));
}

}  // namespace
}  // namespace skein::inline v0::operations
