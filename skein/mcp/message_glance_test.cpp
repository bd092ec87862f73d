#include "skein/mcp/message_glance.hpp"

#include <gtest/gtest.h>

namespace skein::inline v0::mcp {
namespace {

TEST(MessageGlance, sees_id_and_method_wherever_they_stand) {
  const MessageGlance first(R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"id":8,"method":"no"}})");
  EXPECT_EQ(first.id(), 7);
  EXPECT_EQ(first.method(), "tools/call");
  EXPECT_FALSE(first.is_answer());
  const MessageGlance last(R"( { "method" : "a\u002fb" , "params" : [ {"id":1}, "}{,:" ] , "id" : "x\"y" } )");
  EXPECT_EQ(last.id(), "x\"y");
  EXPECT_EQ(last.method(), "a/b");
}

TEST(MessageGlance, takes_a_message_in_pieces_of_any_size) {
  const std::string text = R"({"params":{"long":"\\\"{[,:"},"id":"abc","method":"ping"})";
  MessageGlance glance;
  for (const char each : text) glance.feed(std::string_view(&each, 1));
  EXPECT_EQ(glance.id(), "abc");
  EXPECT_EQ(glance.method(), "ping");
  glance.reset();
  EXPECT_TRUE(glance.id().is_null());
}

TEST(MessageGlance, tells_what_stood_before_a_fault) {
  EXPECT_EQ(MessageGlance(R"({"jsonrpc":"2.0","id":5,"params":"\ud800"})").id_to_answer(), 5);
  EXPECT_EQ(MessageGlance(R"({"id":6,"method":"x","params":{)").id_to_answer(), 6);
  EXPECT_EQ(MessageGlance(R"({"id":6,"params":)" + std::string(100, '[')).id_to_answer(), 6);
  EXPECT_TRUE(MessageGlance(R"({"id":6)").id().is_null()) << "a number that may go on is not known yet";
  EXPECT_TRUE(MessageGlance("no JSON at all: \"id\":1,").id().is_null());
  EXPECT_TRUE(MessageGlance(R"([{"id":1}])").id().is_null());
}

TEST(MessageGlance, gives_no_id_that_is_not_one) {
  for (const char* text : {R"({"id":null})", R"({"id":1.5})", R"({"id":{"a":1}})", R"({"id":[1]})", R"({"id":true})",
                           R"({"id":1,"id":2})", R"({"x":{"id":1}})"}) {
    EXPECT_TRUE(MessageGlance(text).id().is_null()) << text;
  }
  EXPECT_TRUE(MessageGlance(R"({"id":")" + std::string(300, 'x') + "\"}").id().is_null());
  EXPECT_TRUE(MessageGlance(R"({"id":")" + std::string(100'000, 'x') + "\"}").id().is_null());
}

TEST(MessageGlance, answers_no_answers) {
  const MessageGlance result(R"({"id":"skein-3","result":{"error":1}})");
  EXPECT_TRUE(result.is_answer());
  EXPECT_FALSE(result.has_error());
  EXPECT_EQ(result.id(), "skein-3");
  EXPECT_TRUE(result.id_to_answer().is_null());
  EXPECT_TRUE(MessageGlance(R"({"error":{"code":1},"id":2})").has_error());
}

}  // namespace
}  // namespace skein::inline v0::mcp
