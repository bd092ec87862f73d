#include "skein/agent/stdio_protocol.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skein/base/json_text.hpp"

namespace skein::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* k_task = "01900000-0000-7000-8000-000000000001";

StdioMessage good(const std::string& line) {
  auto message = parse_stdio_line(line, 8);
  EXPECT_TRUE(message) << line << ": " << message.error();
  return message.value_or(StdioHeartbeat{});
}
std::string bad(const std::string& line) {
  auto message = parse_stdio_line(line, 8);
  EXPECT_FALSE(message) << line;
  return message ? "" : message.error();
}
std::string about_task(const std::string& type, const std::string& rest) {
  return R"({"type":")" + type + R"(","task":")" + k_task + "\"" + rest + "}";
}

TEST(StdioProtocol, reads_hello_with_what_it_can_do) {
  const auto hello = std::get<StdioHello>(good(R"( {"type":"hello", "protocol":1, "capabilities":["a","b\"c\""]} )"));
  EXPECT_EQ(hello.protocol, 1U);
  EXPECT_THAT(hello.capabilities, ElementsAre("a", "b\"c\""));
  EXPECT_TRUE(std::get<StdioHello>(good(R"({"protocol":1,"type":"hello"})")).capabilities.empty());
  EXPECT_THAT(bad(R"({"type":"hello","protocol":1,"capabilities":["b c"]})"), HasSubstr("'b c' has a space"));
}

TEST(StdioProtocol, keeps_results_and_marks_as_they_were_written) {
  const auto result =
      std::get<StdioResult>(good(about_task("result", R"(,"fence":7,"result":{"a":[1.50,"}\""],"b":0.10})")));
  EXPECT_EQ(result.result, R"({"a":[1.50,"}\""],"b":0.10})");
  EXPECT_EQ(result.task.id.text(), k_task);
  EXPECT_EQ(result.task.fence, 7U);
  EXPECT_EQ(std::get<StdioResult>(good(about_task("result", ""))).result, "");
  EXPECT_EQ(std::get<StdioProgress>(good(about_task("progress", R"(,"mark":{"page":3} )"))).mark, R"({"page":3})");
}

TEST(StdioProtocol, reads_errors_with_their_class) {
  const auto plain = std::get<StdioError>(good(about_task("error", R"(,"message":"no \u00e4")")));
  EXPECT_EQ(plain.failure.error, ledger::ErrorClass::transient);
  EXPECT_EQ(plain.failure.message, "no ä");
  const auto limited =
      std::get<StdioError>(good(about_task("error", R"(,"class":"rate_limited","retry_after_ms":1500)")));
  EXPECT_EQ(limited.failure.error, ledger::ErrorClass::rate_limited);
  EXPECT_EQ(limited.failure.retry_after, std::chrono::milliseconds(1500));
  EXPECT_TRUE(std::get<StdioError>(good(about_task("error", R"(,"class":"cancelled")"))).is_given_up);
}

TEST(StdioProtocol, says_what_is_wrong_with_a_line) {
  EXPECT_THAT(bad("hello"), HasSubstr("no JSON"));
  EXPECT_THAT(bad(R"({"type":"heartbeat"} x)"), HasSubstr("more after"));
  EXPECT_THAT(bad("[]"), HasSubstr("no 'type'"));
  EXPECT_THAT(bad("{}"), HasSubstr("no 'type'"));
  EXPECT_THAT(bad(R"({"type":"dance"})"), HasSubstr("none of"));
  EXPECT_THAT(bad(R"({"type":"hello"})"), HasSubstr("protocol"));
  EXPECT_THAT(bad(R"({"type":"hello","protocol":1,"capabilities":[1]})"), HasSubstr("capabilities"));
  EXPECT_THAT(bad(R"({"type":"hello","protocol":1,"capabilities":["work","swarm=other"]})"), HasSubstr("reserved"));
  EXPECT_THAT(bad(R"({"type":"result"})"), HasSubstr("'task'"));
  EXPECT_THAT(bad(R"({"type":"result","task":"7"})"), HasSubstr("'task'"));
  EXPECT_THAT(bad(about_task("result", R"(,"fence":-1)")), HasSubstr("'fence'"));
  EXPECT_THAT(bad(about_task("progress", "")), HasSubstr("'mark'"));
  EXPECT_THAT(bad(about_task("error", R"(,"class":"odd")")), HasSubstr("'class'"));
  EXPECT_THAT(bad(about_task("error", R"(,"retry_after_ms":1.5)")), HasSubstr("retry_after_ms"));
  EXPECT_THAT(bad(about_task("result", R"(,"result":1,"result":2)")), HasSubstr("'result' twice"));
  EXPECT_THAT(bad(R"({"type":"heartbeat","type":"hello","protocol":1})"), HasSubstr("'type' twice"));
  EXPECT_THAT(bad("{\"type\":\"heartbeat\",\"x\":\"\xFF\"}"), HasSubstr("no JSON"));
  EXPECT_THAT(bad(R"({"type":"heartbeat","x":[[[[[[[[[1]]]]]]]]]})"), HasSubstr("no JSON"));
}

TEST(StdioProtocol, passes_over_fields_it_does_not_know) {
  good(R"({"type":"heartbeat","n":[{"type":"x"}],"more":{"type":"y"}})");
}

TEST(StdioProtocol, writes_a_task_on_one_line_whatever_its_params_look_like) {
  dispatch::Order order;
  order.ref = {3, 12};
  order.id = *ledger::TaskId::parse(k_task);
  order.shape = std::make_shared<const ledger::Shape>(ledger::Shape{"default", "say \"hi\"", {}});
  order.params = ledger::body_of("{\n  \"a\": 1.50\r\n}");
  order.mark = ledger::body_of("{\"page\":3}");
  order.timeout = std::chrono::seconds(2);
  order.attempt = 2;
  ledger::Extras extras;
  extras.trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  order.extras = std::make_shared<const ledger::Extras>(extras);
  const std::string line = stdio_task(order);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_FALSE(check_json_text(line, 8));
  EXPECT_THAT(line, HasSubstr(R"("fence":12,"attempt":2,"task_type":"say \"hi\"","timeout_ms":2000)"));
  EXPECT_THAT(line, HasSubstr(R"("mark":{"page":3},"params":{   "a": 1.50  }})"));
  EXPECT_THAT(line, HasSubstr(R"("traceparent":"00-4bf9)"));
  for (const auto& each : {stdio_hello("agent \xFF\n", 100), stdio_shutdown(),
                           stdio_cancel(order.id, 12, dispatch::StopReason::timed_out)}) {
    EXPECT_FALSE(check_json_text(each, 8)) << each;
    EXPECT_EQ(each.find('\n'), each.size() - 1);
  }
}

TEST(LineSplitter, cuts_a_stream_into_lines_wherever_its_pieces_end) {
  const std::string text = "one\ntwo\r\n\nthree\nrest";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    LineSplitter splitter(10);
    std::vector<std::string> lines;
    const auto take = [&](std::string_view line) {
      lines.emplace_back(line);
      return true;
    };
    for (std::size_t at = 0; at < text.size(); at += piece) {
      ASSERT_TRUE(splitter.feed(std::string_view(text).substr(at, piece), take));
    }
    EXPECT_THAT(lines, ElementsAre("one", "two", "", "three")) << piece;
    ASSERT_TRUE(splitter.feed("\n", take));
    EXPECT_EQ(lines.back(), "rest") << "what had begun is kept until its line ends; pieces of " << piece;
  }
}

TEST(LineSplitter, refuses_a_line_that_is_too_long_before_it_has_ended) {
  LineSplitter splitter(10);
  const auto fine = [](std::string_view) { return true; };
  EXPECT_TRUE(splitter.feed("0123456789\n0123456789", fine));
  EXPECT_FALSE(splitter.feed("x", fine));
  EXPECT_TRUE(splitter.is_too_long());
}

}  // namespace
}  // namespace skein::agent
