// RFC 6455 clause by clause, with frames made by hand. Time is a number here.
#include "skein/net/websocket.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "skein/net/test_frames.hpp"

namespace skein::inline v0::net {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class WebSocketTest : public testing::Test {
 protected:
  // All of it, as a connection would hand it over.
  void receive(std::string_view bytes) {
    in_ += bytes;
    while (true) {
      std::optional<std::string> message;
      in_.erase(0, socket_.receive(in_, now_, message, out_));
      if (!message) return;
      messages_.push_back(*message);
    }
  }
  void pass(Duration time) {
    now_ = later(now_, time);
    socket_.on_time(now_, out_);
  }
  std::optional<SeenFrame> said() { return take_frame(out_); }
  // The code of the close that was said, when that is all that was, and the socket is over.
  unsigned closed_with() {
    const auto frame = said();
    return frame && frame->first == 0x88 && out_.empty() && socket_.is_over() ? frame->code() : 0;
  }

  Instant now_{};
  WebSocket socket_{{1000, 30s, 20s, 10s}, now_};
  std::string in_;
  std::string out_;
  std::vector<std::string> messages_;
};

TEST_F(WebSocketTest, section_5_7_takes_a_masked_text) {
  receive("\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58");  // as the RFC writes it
  EXPECT_THAT(messages_, ElementsAre("Hello"));
  EXPECT_EQ(WebSocket::text_frame("Hello"), "\x81\x05Hello");
}

TEST_F(WebSocketTest, section_5_2_reads_all_three_forms_of_a_length_in_pieces_of_a_byte) {
  const std::string all = frame_of("a") + frame_of(std::string(126, 'b')) + frame_of("c", {.is_wordy = true}) +
                          frame_of(std::string(1000, 'd')) + frame_of("");
  for (const char each : all) receive(std::string_view(&each, 1));
  EXPECT_THAT(messages_, ElementsAre("a", std::string(126, 'b'), "c", std::string(1000, 'd'), ""));
  EXPECT_THAT(out_, IsEmpty());
}

TEST_F(WebSocketTest, writes_all_three_forms_of_a_length) {
  for (const std::size_t size : {0UL, 125UL, 126UL, 65'535UL, 65'536UL}) {
    std::string bytes = WebSocket::text_frame(std::string(size, 'x'));
    EXPECT_EQ(bytes.size(), size + (size < 126 ? 2 : size < 65'536 ? 4 : 10));
    const auto frame = take_frame(bytes);
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->payload.size(), size);
    EXPECT_EQ(frame->first, 0x81);
  }
}

TEST_F(WebSocketTest, gives_one_message_at_a_time) {
  const std::string both = frame_of("one") + frame_of("two");
  std::optional<std::string> message;
  const std::size_t used = socket_.receive(both, now_, message, out_);
  EXPECT_EQ(message, "one");
  EXPECT_EQ(used, both.size() / 2);
}

TEST_F(WebSocketTest, section_5_1_refuses_a_frame_that_is_not_masked) {
  receive(frame_of("x", {.is_masked = false}));
  EXPECT_EQ(closed_with(), 1002U);
  EXPECT_THAT(messages_, IsEmpty());
}

TEST_F(WebSocketTest, section_5_2_refuses_reserved_bits_and_kinds) {
  for (const unsigned byte : {0xc1U, 0xa1U, 0x91U, 0x83U, 0x87U, 0x8bU, 0x8fU}) {
    const auto first = static_cast<std::uint8_t>(byte);
    WebSocket fresh({1000, 30s, 20s}, now_);
    std::optional<std::string> message;
    std::string out;
    fresh.receive(frame_of("x", {.first = first}), now_, message, out);
    EXPECT_TRUE(fresh.is_over()) << static_cast<int>(first);
    EXPECT_EQ(take_frame(out)->code(), 1002U) << static_cast<int>(first);
  }
}

TEST_F(WebSocketTest, section_5_4_puts_fragments_together_with_control_frames_between_them) {
  receive(frame_of("Hel", {.first = 0x01}) + frame_of("are you there", {.first = 0x89}) +
          frame_of("", {.first = 0x00}) + frame_of("lo", {.first = 0x80}) + frame_of("next"));
  EXPECT_THAT(messages_, ElementsAre("Hello", "next"));
  const auto pong = said();
  ASSERT_TRUE(pong);
  EXPECT_EQ(pong->first, 0x8a);
  EXPECT_EQ(pong->payload, "are you there");
}

TEST_F(WebSocketTest, section_5_4_refuses_a_fragment_of_nothing_and_a_message_within_another) {
  WebSocket fresh({1000, 30s, 20s}, now_);
  std::optional<std::string> message;
  std::string out;
  fresh.receive(frame_of("lo", {.first = 0x80}), now_, message, out);
  EXPECT_EQ(take_frame(out)->code(), 1002U);
  receive(frame_of("Hel", {.first = 0x01}) + frame_of("new"));
  EXPECT_EQ(closed_with(), 1002U);
}

TEST_F(WebSocketTest, section_5_5_refuses_control_frames_that_are_long_or_in_pieces) {
  WebSocket fresh({1000, 30s, 20s}, now_);
  std::optional<std::string> message;
  std::string out;
  fresh.receive(frame_of(std::string(126, 'x'), {.first = 0x89}), now_, message, out);
  EXPECT_EQ(take_frame(out)->code(), 1002U);
  receive(frame_of("x", {.first = 0x09}));
  EXPECT_EQ(closed_with(), 1002U);
}

TEST_F(WebSocketTest, section_5_6_refuses_binary_and_text_that_is_not_utf_8) {
  WebSocket fresh({1000, 30s, 20s}, now_);
  std::optional<std::string> message;
  std::string out;
  fresh.receive(frame_of("x", {.first = 0x82}), now_, message, out);
  EXPECT_EQ(take_frame(out)->code(), 1003U);
  // A character may be cut by a fragment, and is whole in the message.
  receive(frame_of("\xe2\x82", {.first = 0x01}) + frame_of("\xac", {.first = 0x80}));
  EXPECT_THAT(messages_, ElementsAre("\xe2\x82\xac"));
  receive(frame_of("\xe2\x82"));
  EXPECT_EQ(closed_with(), 1007U);
}

TEST_F(WebSocketTest, refuses_what_is_too_big_before_it_has_come) {
  receive(frame_of("", {.said_bytes = 1001}));
  EXPECT_EQ(closed_with(), 1009U);
}

TEST_F(WebSocketTest, counts_the_fragments_of_a_message_together) {
  receive(frame_of(std::string(600, 'x'), {.first = 0x01}));
  EXPECT_FALSE(socket_.is_over());
  receive(frame_of(std::string(401, 'x'), {.first = 0x00}));
  EXPECT_EQ(closed_with(), 1009U);
}

TEST_F(WebSocketTest, refuses_a_length_that_no_number_holds) {
  receive(frame_of("", {.said_bytes = UINT64_MAX}));
  EXPECT_EQ(closed_with(), 1009U);
}

TEST_F(WebSocketTest, section_5_5_1_gives_a_close_its_code_back_and_reads_nothing_after_it) {
  receive(close_of(1000, "bye") + frame_of("late"));
  EXPECT_EQ(closed_with(), 1000U);
  EXPECT_THAT(messages_, IsEmpty());
  EXPECT_THAT(in_, IsEmpty());
}

TEST_F(WebSocketTest, section_7_1_5_answers_a_close_without_a_code_with_one_without) {
  receive(frame_of("", {.first = 0x88}));
  const auto frame = said();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->payload, "");
  EXPECT_TRUE(socket_.is_over());
}

TEST_F(WebSocketTest, section_7_4_refuses_closes_that_make_no_sense) {
  for (const std::string& bad :
       {frame_of("x", {.first = 0x88}), close_of(999), close_of(1004), close_of(1005), close_of(1006), close_of(1015),
        close_of(2999), close_of(5000), close_of(0), close_of(1000, "\xff")}) {
    WebSocket fresh({1000, 30s, 20s}, now_);
    std::optional<std::string> message;
    std::string out;
    fresh.receive(bad, now_, message, out);
    EXPECT_EQ(take_frame(out)->code(), 1002U);
    EXPECT_TRUE(fresh.is_over());
  }
  receive(close_of(4999));
  EXPECT_EQ(closed_with(), 4999U);
}

TEST_F(WebSocketTest, says_goodbye_and_waits_for_the_answer_but_not_for_ever) {
  socket_.close(WebSocketClose::going_away, "down", now_, out_);
  const auto frame = said();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->code(), 1001U);
  EXPECT_THAT(frame->payload, HasSubstr("down"));
  receive(frame_of("on its way when we closed") + frame_of("ping", {.first = 0x89}));
  EXPECT_THAT(messages_, IsEmpty());
  EXPECT_THAT(out_, IsEmpty()) << "nothing follows a close";
  EXPECT_FALSE(socket_.is_over());
  WebSocket silent = socket_;
  receive(close_of(1001));
  EXPECT_TRUE(socket_.is_over());
  EXPECT_THAT(out_, IsEmpty());
  silent.on_time(later(now_, 19s), out_);
  EXPECT_FALSE(silent.is_over());
  silent.on_time(later(now_, 20s), out_);
  EXPECT_TRUE(silent.is_over());
}

TEST_F(WebSocketTest, pings_a_silent_client_and_ends_one_that_does_not_answer) {
  pass(29s);
  EXPECT_THAT(out_, IsEmpty());
  pass(1s);
  EXPECT_EQ(said()->first, 0x89);
  pass(19s);
  receive(frame_of("", {.first = 0x8a}));  // a pong
  pass(29s);
  EXPECT_THAT(out_, IsEmpty()) << "it was heard";
  pass(1s);
  EXPECT_EQ(said()->first, 0x89);
  pass(19s);
  EXPECT_FALSE(socket_.is_over());
  pass(1s);
  EXPECT_EQ(closed_with(), 1008U);
}

TEST_F(WebSocketTest, ends_who_does_not_end_its_message_in_time_however_it_trickles) {
  const std::string whole = frame_of("slow");
  for (std::size_t i = 0; i + 1 < whole.size(); ++i) {
    receive(whole.substr(i, 1));
    pass(1s);
    if (socket_.is_over()) break;
  }
  EXPECT_FALSE(socket_.is_over()) << "a byte a second, and nine of them";
  pass(1s);
  EXPECT_EQ(closed_with(), 1008U);
}

TEST_F(WebSocketTest, ends_who_does_not_end_its_fragments_in_time_though_it_answers_pings) {
  receive(frame_of("a", {.first = 0x01}));
  pass(5s);
  receive(frame_of("b", {.first = 0x00}));
  pass(4s);
  receive(frame_of("", {.first = 0x8a}));
  pass(1s);
  EXPECT_EQ(closed_with(), 1008U);
}

TEST_F(WebSocketTest, takes_no_part_of_the_next_frame_for_a_slow_one) {
  const std::string ping = frame_of("p", {.first = 0x89});
  std::string flood;
  for (int i = 0; i < 30; ++i) flood += ping;
  // Cut so that each time the beginning of a ping is left over.
  receive(flood.substr(0, ping.size() + 3));
  for (int i = 0; i < 20; ++i) {
    pass(1s);
    receive(ping.substr(3) + ping.substr(0, 3));
  }
  EXPECT_FALSE(socket_.is_over());
}

TEST_F(WebSocketTest, does_not_call_a_client_late_that_it_does_not_read_from) {
  pass(30s);
  EXPECT_EQ(said()->first, 0x89);
  receive("\x81");
  now_ = later(now_, 60s);
  socket_.held_back(now_);
  pass(9s);
  EXPECT_FALSE(socket_.is_over());
  pass(1s);
  EXPECT_EQ(closed_with(), 1008U) << "it is read from again, and still has not ended its message";
}

// ---- the way in ----

HttpRequest upgrade_request() {
  HttpRequest request;
  request.method = "GET";
  request.path = "/mcp/ws";
  request.headers = {{"host", "localhost"},
                     {"upgrade", "WebSocket"},
                     {"connection", "keep-alive, Upgrade"},
                     {"sec-websocket-version", "13"},
                     {"sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="},
                     {"sec-websocket-protocol", "bearer.secret , mcp"}};
  return request;
}

void set_header(HttpRequest& request, const std::string& name, const std::string& value) {
  for (auto& each : request.headers) {
    if (each.first == name) each.second = value;
  }
}

std::string header_in(const HttpResponse& response, const std::string& name) {
  for (const auto& each : response.headers) {
    if (each.first == name) return each.second;
  }
  return "";
}

TEST(WebSocketUpgrade, section_1_3_accepts_the_key_as_the_rfc_does) {
  const HttpResponse answer = websocket_answer(upgrade_request(), "mcp");
  EXPECT_EQ(answer.status, 101);
  EXPECT_EQ(header_in(answer, "Sec-WebSocket-Accept"), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  EXPECT_EQ(header_in(answer, "Sec-WebSocket-Protocol"), "mcp");
  EXPECT_EQ(header_in(websocket_answer(upgrade_request(), ""), "Sec-WebSocket-Protocol"), "");
  EXPECT_THAT(websocket_protocols(upgrade_request()), ElementsAre("bearer.secret", "mcp"));
  EXPECT_THAT(http_text(answer, true), testing::Not(HasSubstr("Content-Length")));
}

TEST(WebSocketUpgrade, section_4_2_1_refuses_what_is_no_handshake) {
  HttpRequest request = upgrade_request();
  EXPECT_TRUE(wants_websocket(request));
  set_header(request, "sec-websocket-version", "8");
  EXPECT_EQ(websocket_answer(request, "").status, 426);
  EXPECT_EQ(header_in(websocket_answer(request, ""), "Sec-WebSocket-Version"), "13");
  request = upgrade_request();
  set_header(request, "sec-websocket-key", "short");
  EXPECT_EQ(websocket_answer(request, "").status, 400);
  request = upgrade_request();
  request.method = "POST";
  EXPECT_EQ(websocket_answer(request, "").status, 400);
  request = upgrade_request();
  set_header(request, "connection", "keep-alive");
  EXPECT_EQ(websocket_answer(request, "").status, 426);
  request = upgrade_request();
  set_header(request, "upgrade", "h2c");
  EXPECT_FALSE(wants_websocket(request));
  EXPECT_EQ(websocket_answer(request, "").status, 426);
}

}  // namespace
}  // namespace skein::inline v0::net
