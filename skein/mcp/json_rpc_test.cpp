#include "skein/mcp/json_rpc.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace skein::inline v0::mcp {
namespace {

using testing::HasSubstr;

RpcFault fault_of(std::string_view text, const MessageLimits& limits = {}) {
  auto parsed = parse_message(text, limits);
  EXPECT_FALSE(parsed) << text;
  return parsed ? RpcFault{} : parsed.error();
}

TEST(JsonRpcTest, tells_requests_notifications_and_responses_apart) {
  const auto request = parse_message(R"({"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"cursor":"a"}})");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->kind, RpcMessage::Kind::request);
  EXPECT_EQ(request->method, "tools/list");
  EXPECT_EQ(request->id, 7);
  EXPECT_EQ(request->params.at("cursor"), "a");
  const auto notification = parse_message(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  ASSERT_TRUE(notification);
  EXPECT_EQ(notification->kind, RpcMessage::Kind::notification);
  const auto response = parse_message(R"({"jsonrpc":"2.0","id":"s-1","result":{"action":"accept"}})");
  ASSERT_TRUE(response);
  EXPECT_EQ(response->kind, RpcMessage::Kind::response);
  EXPECT_EQ(response->result.at("action"), "accept");
}

TEST(JsonRpcTest, gives_ids_back_as_they_came) {
  EXPECT_EQ(parse_message(R"({"jsonrpc":"2.0","id":"7","method":"m"})")->id, "7");
  EXPECT_EQ(parse_message(R"({"jsonrpc":"2.0","id":-7,"method":"m"})")->id, -7);
  EXPECT_EQ(parse_message(R"({"jsonrpc":"2.0","id":18446744073709551615,"method":"m"})")->id, UINT64_MAX);
}

TEST(JsonRpcTest, refuses_ids_that_cannot_go_back_unchanged) {
  for (const char* id : {"null", "1.5", "1e400", "true", "[]", "{}", "99999999999999999999999999"}) {
    const RpcFault fault = fault_of(std::string(R"({"jsonrpc":"2.0","method":"m","id":)") + id + "}");
    EXPECT_TRUE(fault.error.code == k_invalid_request || fault.error.code == k_parse_error) << id;
    EXPECT_TRUE(fault.id.is_null()) << id;
  }
  const std::string long_id(k_id_bytes_max + 1, 'x');
  EXPECT_EQ(fault_of(R"({"jsonrpc":"2.0","method":"m","id":")" + long_id + "\"}").error.code, k_invalid_request);
}

TEST(JsonRpcTest, says_what_is_no_message) {
  EXPECT_EQ(fault_of("{").error.code, k_parse_error);
  EXPECT_EQ(fault_of("").error.code, k_parse_error);
  EXPECT_EQ(fault_of("\"\xff\"").error.code, k_parse_error);
  EXPECT_EQ(fault_of("7").error.code, k_invalid_request);
  EXPECT_THAT(fault_of("[]").error.message, HasSubstr("one message at a time"));
  EXPECT_EQ(fault_of(R"({"jsonrpc":"1.0","id":1,"method":"m"})").id, 1);
  EXPECT_EQ(fault_of(R"({"jsonrpc":"2.0","id":1,"method":7})").error.code, k_invalid_request);
  EXPECT_EQ(fault_of(R"({"jsonrpc":"2.0","id":1})").error.code, k_invalid_request);
  EXPECT_EQ(fault_of(R"({"jsonrpc":"2.0","id":1,"result":{},"error":{}})").error.code, k_invalid_request);
  EXPECT_EQ(fault_of(R"({"jsonrpc":"2.0","result":{}})").error.code, k_invalid_request);
  const RpcFault params = fault_of(R"({"jsonrpc":"2.0","id":3,"method":"m","params":[1]})");
  EXPECT_EQ(params.error.code, k_invalid_params);
  EXPECT_EQ(params.id, 3);
}

TEST(JsonRpcTest, refuses_a_member_that_is_named_twice_wherever_it_stands) {
  EXPECT_THAT(fault_of(R"({"jsonrpc":"2.0","id":1,"id":2,"method":"m"})").error.message, HasSubstr("twice"));
  EXPECT_THAT(fault_of(R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[{"b":1,"b":1}]}})").error.message,
              HasSubstr("twice"));
  // Escaped, it is the same name.
  EXPECT_THAT(fault_of(R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1,"\u0061":2}})").error.message,
              HasSubstr("twice"));
}

TEST(JsonRpcTest, refuses_numbers_that_could_not_be_read_again) {
  EXPECT_THAT(fault_of(R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[1e999]}})").error.message,
              HasSubstr("too large"));
  EXPECT_TRUE(parse_message(R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[1e308]}})"));
}

TEST(JsonRpcTest, takes_colons_quotes_and_backslashes_in_texts_for_what_they_are) {
  const auto parsed = parse_message(R"({"jsonrpc":"2.0","id":"a:\"b\":\\","method":"m:","params":{":":"\\\":"}})");
  ASSERT_TRUE(parsed) << parsed.error().error.message;
  EXPECT_EQ(parsed->params.at(":"), "\\\":");
}

TEST(JsonRpcTest, holds_to_its_limits) {
  MessageLimits limits;
  limits.bytes = 60;
  limits.depth = 4;
  EXPECT_TRUE(parse_message(R"({"jsonrpc":"2.0","id":1,"method":"m","params":{}})", limits));
  EXPECT_THAT(fault_of(R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"longer"}})", limits).error.message,
              HasSubstr("longer than 60 bytes"));
  limits.bytes = 1000;
  EXPECT_TRUE(parse_message(R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[[1]]}})", limits));
  EXPECT_THAT(fault_of(R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[[[1]]]}})", limits).error.message,
              HasSubstr("nested more than 4"));
  const std::string deep(100'000, '[');
  EXPECT_EQ(fault_of(deep).error.code, k_invalid_request);
}

// A client waits for the answer to its id: without one it waits until its time is up.
TEST(JsonRpcTest, gives_the_id_of_a_request_that_cannot_be_read) {
  const std::string deep = R"({"method":"tools/call","params":)" + std::string(70, '[') + std::string(70, ']') +
                           R"(,"jsonrpc":"2.0","id":41})";
  EXPECT_EQ(fault_of(deep).id, 41);
  EXPECT_EQ(fault_of(R"({"jsonrpc":"2.0","id":"a","method":"m","params":{"x":}})").id, "a");
  EXPECT_EQ(fault_of(R"({"jsonrpc":"2.0","id":3,"method":"m","params":{"a":1,"a":1}})").id, 3);
  EXPECT_TRUE(fault_of(R"({"jsonrpc":"2.0","id":"skein-1","result":{"x":}})").id.is_null()) << "an answer is not asked";
}

TEST(JsonRpcTest, reads_half_a_character_as_one_that_says_so) {
  const auto value = [](std::string_view written) {
    const auto parsed =
        parse_message(fmt::format(R"({{"jsonrpc":"2.0","id":1,"method":"m","params":{{"a":"{}"}}}})", written));
    return parsed ? std::string(parsed->params.at("a").as_string()) : parsed.error().error.message;
  };
  EXPECT_EQ(value(R"(x\ud800)"), "x\xef\xbf\xbd");
  EXPECT_EQ(value(R"(\udc00\ud83d)"), "\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(value(R"(\ud83d\ude00 \uD83D)"), "\xf0\x9f\x98\x80 \xef\xbf\xbd") << "a whole one stays";
  EXPECT_EQ(value(R"(\\ud800 \ud800)"), "\\ud800 \xef\xbf\xbd") << "a backslash of its own is no escape";
  const auto exact =
      parse_message(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"a":"\ud800","b":1.50}}})");
  ASSERT_TRUE(exact);
  EXPECT_THAT(exact->written, HasSubstr(R"("a":"\ufffd","b":1.50)"));
}

TEST(JsonRpcTest, makes_what_it_reads) {
  EXPECT_EQ(make_result(7, {{"a", 1}}), (json::object{{"jsonrpc", "2.0"}, {"id", 7}, {"result", {{"a", 1}}}}));
  EXPECT_EQ(make_error("x", {k_invalid_params, "no", nullptr}),
            (json::object{{"jsonrpc", "2.0"}, {"id", "x"}, {"error", {{"code", -32602}, {"message", "no"}}}}));
  EXPECT_FALSE(make_notification("n", {}).contains("params"));
}

TEST(JsonRpc, takes_the_messages_of_a_batch_one_by_one) {
  EXPECT_TRUE(looks_like_batch(" \n[1]"));
  EXPECT_FALSE(looks_like_batch("{}"));
  EXPECT_FALSE(looks_like_batch(""));
  const auto batch = parse_batch(R"([{"jsonrpc":"2.0","id":1,"method":"a"},7,{"jsonrpc":"2.0","method":"b"}])");
  ASSERT_TRUE(batch);
  ASSERT_EQ(batch->size(), 3U);
  EXPECT_EQ((*batch)[0]->method, "a");
  EXPECT_FALSE((*batch)[1]);
  EXPECT_EQ((*batch)[2]->kind, RpcMessage::Kind::notification);
  EXPECT_FALSE(parse_batch("[]"));
  EXPECT_FALSE(parse_batch("[1"));
  std::string many = "[0";
  for (std::size_t i = 1; i < k_batch_max; ++i) many += ",0";
  EXPECT_TRUE(parse_batch(many + "]"));
  EXPECT_FALSE(parse_batch(many + ",0]"));
  EXPECT_FALSE(parse_message("[]"));
}

}  // namespace
}  // namespace skein::inline v0::mcp
