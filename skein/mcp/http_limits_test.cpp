// Clients of HTTP and WebSocket that ask for more than they read, or do not end what they begin.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>

#include "skein/mcp/test_http.hpp"
#include "skein/net/test_frames.hpp"
#include "skein/runtime/testing.hpp"

namespace skein::inline v0::mcp {
namespace {

using namespace std::chrono_literals;
using net::frame_of;

constexpr int k_small_buffer = 4096;
constexpr int k_many = 100;

class HttpLimitsTest : public HttpTcpTest {
 protected:
  static net::HttpConnectionLimits little_output() {
    net::HttpConnectionLimits limits;
    limits.output_bytes = 64ULL << 10U;
    return limits;
  }
  static std::string many_lists() {
    std::string all;
    for (int i = 0; i < k_many; ++i) all += post_list(i);
    return all;
  }
};

TEST_F(HttpLimitsTest, holds_back_a_client_that_asks_for_more_than_it_reads_and_answers_all) {
  serve({}, little_output());
  TcpClient client(port_, k_small_buffer);
  ASSERT_TRUE(client.send(many_lists()));
  for (int i = 0; i < k_many; ++i) {
    const std::string got = body(client);
    ASSERT_FALSE(got.empty()) << "answer " << i << " did not come";
    EXPECT_EQ(json::parse(got).at("id"), i);
  }
}

TEST_F(HttpLimitsTest, does_not_close_a_client_that_reads_late_for_being_idle_or_slow) {
  auto limits = little_output();
  limits.stalled = 20s;
  limits.idle = 500ms;
  limits.receive = 500ms;
  serve({}, limits);
  TcpClient client(port_, k_small_buffer);
  constexpr int k_more = 300;  // more than the kernel takes of the answers
  std::string all;
  for (int i = 0; i < k_more; ++i) all += post_list(i);
  ASSERT_TRUE(client.send(all));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(tests::eventually([&] { return std::chrono::steady_clock::now() - begin > 1500ms; }));
  for (int i = 0; i < k_more; ++i) {
    const std::string got = body(client);
    ASSERT_FALSE(got.empty()) << "answer " << i << " did not come";
  }
  EXPECT_TRUE(client.is_closed()) << "then it is idle";
}

// Calls of the modern era: one that is never answered, and one that is answered late.
class HttpGoneTest : public HttpLimitsTest {
 protected:
  void serve_calls() {
    net::HttpConnectionLimits limits;
    limits.receive = 1s;
    serve({}, limits);
    const json::object anything{{"type", "object"}};
    catalog_->add(Tool{"waits", "Waits", "", anything, {}, {}, [this](Exchange&) { ++waiting_; }});
    catalog_->add(Tool{"is_late", "Is late", "", anything, {}, {}, [](Exchange& exchange) {
                         exchange.after(800ms, [](Exchange& late) { late.finish_error("here it is"); });
                       }});
  }
  static std::string call(const std::string& tool) {
    return post(modern_text(1, "tools/call", {{"name", tool}}), "Mcp-Method: tools/call\r\nMcp-Name: " + tool + "\r\n");
  }
  std::atomic<int> waiting_ = 0;
};

TEST_F(HttpGoneTest, notices_a_client_that_goes_while_its_plain_request_is_answered) {
  serve_calls();
  TcpClient client(port_);
  ASSERT_TRUE(client.send(call("waits")));
  ASSERT_TRUE(tests::eventually([&] { return waiting_ == 1; }));
  client.close();
  EXPECT_TRUE(tests::eventually([&] { return open_->load() == 0; })) << "nobody waits for the answer any more";
  TcpClient hasty(port_);
  ASSERT_TRUE(hasty.send(call("waits")));
  hasty.close();
  EXPECT_TRUE(tests::eventually([&] { return waiting_ == 2 && open_->load() == 0; }));
}

TEST_F(HttpGoneTest, answers_one_that_only_sends_nothing_more) {
  serve_calls();
  TcpClient client(port_);
  ASSERT_TRUE(client.send(call("is_late")));
  client.half_close();
  EXPECT_EQ(client.until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_THAT(body(client), testing::HasSubstr("here it is"));
}

TEST_F(HttpLimitsTest, closes_a_client_that_asks_and_takes_nothing) {
  auto limits = little_output();
  limits.stalled = 500ms;
  serve({}, limits);
  TcpClient client(port_, k_small_buffer);
  EXPECT_TRUE(tests::eventually([&] { return !client.send_what_fits(many_lists()); }))
      << "it is not read from for ever";
  EXPECT_TRUE(tests::eventually([&] { return open_->load() == 0; }));
}

TEST_F(HttpLimitsTest, closes_a_client_that_leaves_more_of_a_stream_than_it_may) {
  serve({}, little_output());
  TcpClient client(port_, k_small_buffer);
  client.send(post(endless_text(), "Mcp-Method: tools/call\r\nMcp-Name: never_stops\r\n"));
  EXPECT_TRUE(tests::eventually([&] { return open_->load() == 1; }));
  EXPECT_TRUE(tests::eventually([&] { return open_->load() == 0; })) << "long before it is stalled";
}

TEST_F(HttpLimitsTest, closes_a_websocket_client_that_leaves_more_than_it_may) {
  serve({}, little_output());
  TcpClient client(port_, k_small_buffer);
  client.send(upgrade() + frame_of(endless_text()));
  EXPECT_TRUE(tests::eventually([&] { return open_->load() == 1; }));
  EXPECT_TRUE(tests::eventually([&] { return open_->load() == 0; })) << "long before it is stalled";
}

TEST_F(HttpLimitsTest, closes_a_websocket_that_is_silent_and_does_not_answer_a_ping) {
  net::HttpConnectionLimits limits;
  limits.stalled = 1s;  // sets how often it is looked at
  serve({}, limits, {.ping_every = 300ms, .answer_within = 300ms});
  TcpClient client(port_);
  client.send(upgrade());
  client.until("\r\n\r\n");
  EXPECT_EQ(client.bytes(2), std::string("\x89\0", 2)) << "a ping";
  EXPECT_EQ(client.bytes(4).substr(2), "\x03\xf0") << "1008";
  EXPECT_TRUE(client.is_closed());
}

TEST_F(HttpLimitsTest, holds_back_a_websocket_client_that_asks_for_more_than_it_reads) {
  serve({}, little_output());
  TcpClient client(port_, k_small_buffer);
  std::string all = upgrade();
  for (int i = 0; i < k_many; ++i) all += frame_of(modern_text(i, "tools/list", {}));
  ASSERT_TRUE(client.send(all));
  client.until("\r\n\r\n");
  for (int i = 0; i < k_many; ++i) {
    const std::string mark = "\"id\":" + std::to_string(i) + ",";
    ASSERT_NE(client.until(mark).find(mark), std::string::npos) << "answer " << i << " did not come";
  }
}

TEST_F(HttpLimitsTest, does_not_close_a_websocket_client_for_what_it_has_not_read_from_it) {
  auto limits = little_output();
  limits.stalled = 20s;
  limits.idle = 1s;  // sets how often it is looked at
  serve({}, limits, {.ping_every = 500ms, .answer_within = 500ms});
  TcpClient client(port_, k_small_buffer);
  constexpr int k_more = 300;  // more than the kernel takes of the answers
  std::string all = upgrade();
  for (int i = 0; i < k_more; ++i) all += frame_of(modern_text(i, "tools/list", {}));
  ASSERT_TRUE(client.send(all));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(tests::eventually([&] { return std::chrono::steady_clock::now() - begin > 2s; }));
  client.until("\r\n\r\n");
  for (int i = 0; i < k_more; ++i) {
    const std::string mark = "\"id\":" + std::to_string(i) + ",";
    ASSERT_NE(client.until(mark).find(mark), std::string::npos) << "answer " << i << " did not come";
    client.send(frame_of("", {.first = 0x8a}));
  }
}

TEST_F(HttpLimitsTest, closes_a_websocket_client_that_takes_nothing) {
  auto limits = little_output();
  limits.stalled = 500ms;
  serve({}, limits);
  TcpClient client(port_, k_small_buffer);
  client.send(upgrade());
  const std::string asks = frame_of(modern_text(1, "tools/list", {}));
  EXPECT_TRUE(tests::eventually([&] { return !client.send_what_fits(asks); })) << "it is not read from for ever";
  EXPECT_TRUE(tests::eventually([&] { return open_->load() == 0; }));
}

TEST_F(HttpLimitsTest, closes_a_websocket_client_that_does_not_end_its_message) {
  net::HttpConnectionLimits limits;
  limits.stalled = 1s;  // sets how often it is looked at
  serve({}, limits, {.receive = 500ms});
  TcpClient client(port_);
  client.send(upgrade() + frame_of("{\"half\":").substr(0, 10));
  client.until("\r\n\r\n");
  std::string in = client.bytes(4);
  EXPECT_EQ(static_cast<std::uint8_t>(in[0]), 0x88U) << "a close";
  EXPECT_EQ(in.substr(2, 2), "\x03\xf0") << "1008";
  EXPECT_TRUE(client.is_closed());
}

}  // namespace
}  // namespace skein::inline v0::mcp
