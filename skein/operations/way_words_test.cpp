#include "skein/operations/way_words.hpp"

#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "skein/operations/error.hpp"
#include "skein/operations/json_forms.hpp"

namespace skein::operations {
namespace {

Principal bound_to_a_swarm() {
  Principal who;
  who.kind = Principal::Kind::token;
  who.rank = Rank::operate;
  who.bounds.swarm = "words";
  return who;
}

std::string mcp(std::string text) { return words_for(Way::mcp, *the_owner(), std::move(text)); }
std::string rest(std::string text) { return words_for(Way::rest, *the_owner(), std::move(text)); }

TEST(WayWords, a_command_is_named_as_the_tool_or_the_route_that_does_the_same) {
  EXPECT_EQ(mcp("'skein agents' lists them"), "the tool agent_list lists them");
  EXPECT_EQ(rest("'skein agents' lists them"), "GET /api/v1/agents lists them");
  EXPECT_EQ(rest("it is paused: 'skein agent resume ada'"), "it is paused: POST /api/v1/agents/ada/resume");
  EXPECT_EQ(rest("resume it with 'skein swarm resume words', or choose another"),
            "resume it with POST /api/v1/swarms/words/resume, or choose another");
  EXPECT_EQ(rest("change it with 'skein swarm set', or choose another"),
            "change it with PATCH /api/v1/swarms/{name}, or choose another");
}

TEST(WayWords, every_command_of_a_text_is_replaced) {
  EXPECT_EQ(mcp("'skein swarms' lists them, 'skein swarm create' makes one"),
            "the tool swarm_list lists them, the tool swarm_create makes one");
}

TEST(WayWords, what_has_no_counterpart_stays_as_it_is) {
  for (const std::string text : {"start one with 'skein up'", "an open quote: 'skein agents", "no command at all"}) {
    EXPECT_EQ(mcp(text), text);
    EXPECT_EQ(rest(text), text);
  }
  EXPECT_EQ(words_for(Way::cli, *the_owner(), "'skein agents'"), "'skein agents'");
  EXPECT_EQ(words_for(Way::socket, *the_owner(), "'skein agents'"), "'skein agents'");
}

TEST(WayWords, nobody_is_sent_to_a_tool_that_its_token_may_not_use) {
  const Principal who = bound_to_a_swarm();
  EXPECT_EQ(words_for(Way::mcp, who, "'skein agents' lists them"), "'skein agents' lists them");
  EXPECT_EQ(words_for(Way::mcp, who, "'skein tasks' lists them"), "the tool task_list lists them");
}

TEST(WayWords, errors_and_reasons_to_wait_are_put_into_words_and_a_users_texts_are_not) {
  json::value error = to_json(Error{Code::agent_not_found, "there is no agent 'x'", "'skein agents' lists them", {}});
  put_error_in_words_for(Way::mcp, *the_owner(), error);
  EXPECT_EQ(error.at("advice"), "the tool agent_list lists them");
  const char* const said = "run 'skein agents'";
  const json::object task{{"waits", said}, {"message", said}, {"result", said}};
  json::value answer = json::object{{"waits", said}, {"task", task}, {"tasks", json::array{task}}};
  put_waits_in_words_for(Way::mcp, *the_owner(), answer);
  EXPECT_EQ(answer.at("waits"), "run the tool agent_list");
  for (const json::value* each : {&answer.at("task"), &answer.at("tasks").at(0)}) {
    EXPECT_EQ(each->at("waits"), "run the tool agent_list");
    EXPECT_EQ(each->at("message"), said);
    EXPECT_EQ(each->at("result"), said);
  }
}

}  // namespace
}  // namespace skein::operations
