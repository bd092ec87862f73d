#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skein/mcp/test_core.hpp"
#include "skein/operations/json_forms.hpp"

namespace skein::inline v0::mcp {
namespace {

using testing::ElementsAre;

constexpr StreamId k_batch_stream = 9;

class BatchTest : public CoreTest {
 protected:
  BatchTest() {
    catalog_->add(Tool{
        "wait", "", "Answers when the node does", json::parse(R"({"type":"object"})"), {}, {}, [](Exchange& exchange) {
          exchange.ask_node("info", {}, [](Exchange& then, const NodeAnswer&) { then.finish(text_result("waited")); });
        }});
  }
  // What was sent because of it.
  std::vector<Sent> batch(std::string_view text) {
    const std::size_t before = outlet_.sent.size();
    core().receive(k_batch_stream, text);
    return {outlet_.sent.begin() + static_cast<std::ptrdiff_t>(before), outlet_.sent.end()};
  }
  static constexpr const char* k_mixed = R"([{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"wait"}},
    {"jsonrpc":"2.0","method":"notifications/whatever"},{"jsonrpc":"2.0","id":"b","method":"ping"},5,
    {"jsonrpc":"2.0","id":"c","method":"no/such"}])";
};

TEST_F(BatchTest, is_answered_together_when_all_is_answered) {
  initialize("2025-03-26");
  EXPECT_TRUE(batch(k_mixed).empty()) << "one of them waits for the node";
  EXPECT_TRUE(outlet_.ended.empty());
  const std::size_t before = outlet_.sent.size();
  core().answered(outlet_.asked.back().call, {NodeAnswer::Kind::ok, nullptr});
  ASSERT_EQ(outlet_.sent.size(), before + 4);
  std::vector<std::string> ids;
  for (std::size_t i = before; i < outlet_.sent.size(); ++i) {
    const Sent& each = outlet_.sent[i];
    EXPECT_EQ(each.to, k_batch_stream);
    EXPECT_EQ(each.is_last, i + 1 == outlet_.sent.size());
    ids.push_back(text_in(each.message, "id"));
  }
  EXPECT_THAT(ids, ElementsAre("b", "", "c", "a"));
  EXPECT_EQ(core().under_way(), 0U);
}

TEST_F(BatchTest, is_only_for_sessions_of_2025_03_26) {
  for (const char* version : {"2025-06-18", "2025-11-25"}) {
    new_core();
    initialize(version);
    const auto sent = batch(k_mixed);
    ASSERT_EQ(sent.size(), 1U);
    EXPECT_EQ(sent[0].message.at("error").at("code"), k_invalid_request);
  }
  new_core();
  EXPECT_EQ(batch(k_mixed).at(0).message.at("error").at("code"), k_invalid_request);
}

TEST_F(BatchTest, without_requests_gets_no_answer) {
  initialize("2025-03-26");
  EXPECT_TRUE(batch(R"([{"jsonrpc":"2.0","method":"notifications/whatever"}])").empty());
  EXPECT_THAT(outlet_.ended, ElementsAre(k_batch_stream));
  EXPECT_EQ(batch("[]").at(0).message.at("error").at("code"), k_invalid_request);
}

TEST_F(BatchTest, does_without_what_was_cancelled) {
  initialize("2025-03-26");
  batch(R"([{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"wait"}},
            {"jsonrpc":"2.0","id":"b","method":"ping"}])");
  const std::size_t before = outlet_.sent.size();
  notify("notifications/cancelled", {{"requestId", "a"}});
  ASSERT_EQ(outlet_.sent.size(), before + 1);
  EXPECT_EQ(outlet_.sent.back().message.at("id"), "b");
  batch(R"([{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"wait"}}])");
  outlet_.ended.clear();
  notify("notifications/cancelled", {{"requestId", "a"}});
  EXPECT_EQ(outlet_.sent.size(), before + 1);
  EXPECT_THAT(outlet_.ended, ElementsAre(k_batch_stream, 3U)) << "and the stream of the notification";
}

TEST_F(BatchTest, keeps_numbers_as_they_were_written) {
  Tool keeps{"keep", "", "Keeps v", json::parse(R"({"type":"object"})"), {}, {}, [](Exchange& exchange) {
               exchange.ask_node("keep", {{"v", operations::json_text(exchange.arguments().at("v"))}}, {});
             }};
  keeps.as_written = "v";
  catalog_->add(std::move(keeps));
  initialize("2025-03-26");
  batch(R"([{"jsonrpc":"2.0","id":"a","method":"ping"},
            {"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"keep","arguments":{"v":[1e2,0.10]}}}])");
  EXPECT_EQ(outlet_.asked.back().params.at("v"), "[1e2,0.10]");
}

TEST_F(BatchTest, has_no_initialize_in_it) {
  initialize("2025-03-26");
  const auto sent =
      batch(R"([{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}])");
  EXPECT_EQ(sent.at(0).message.at("error").at("code"), k_invalid_request);
  EXPECT_EQ(core().session()->version, "2025-03-26");
}

}  // namespace
}  // namespace skein::inline v0::mcp
