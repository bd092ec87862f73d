#include "skein/net/http.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace skein::inline v0::net {
namespace {

using State = HttpReader::State;

constexpr const char* k_post =
    "POST /mcp?a=1 HTTP/1.1\r\nHost: localhost:1\r\nContent-Type:  application/json \r\nContent-Length: 5\r\n\r\nhello";

// The status that a request is refused with; 0: it was not.
int status_of(std::string_view text, const HttpLimits& limits = {}) {
  HttpReader reader(limits);
  return reader.read(text) == State::refused ? reader.status() : 0;
}
std::string with_headers(const std::string& headers) { return "POST / HTTP/1.1\r\nHost: a\r\n" + headers + "\r\n"; }

TEST(HttpTest, reads_a_request_whole) {
  HttpReader reader({});
  ASSERT_EQ(reader.read(std::string(k_post) + "GET /next"), State::whole);
  std::size_t used = 0;
  const HttpRequest request = reader.take(used);
  EXPECT_EQ(used, std::string_view(k_post).size());
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path, "/mcp");
  EXPECT_EQ(request.query, "a=1");
  EXPECT_EQ(request.body, "hello");
  EXPECT_EQ(*request.header("content-type"), "application/json");
  EXPECT_EQ(request.header("accept"), nullptr);
  EXPECT_TRUE(request.keeps_alive);
}

TEST(HttpTest, reads_it_the_same_however_it_is_cut) {
  const std::vector<std::string> texts{
      k_post,
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nT: 1\r\n\r\n"};
  for (const std::string& text : texts) {
    HttpReader reader({});
    for (std::size_t size = 0; size < text.size(); ++size) {
      ASSERT_EQ(reader.read(std::string_view(text).substr(0, size)), State::needs_more) << size << " of " << text;
    }
    ASSERT_EQ(reader.read(text), State::whole);
    std::size_t used = 0;
    EXPECT_EQ(reader.take(used).body.size(), 5U);
    EXPECT_EQ(used, text.size());
  }
}

TEST(HttpTest, begins_anew_after_each_request) {
  HttpReader reader({});
  std::string in = std::string(k_post) + "GET /b HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Close\r\n\r\n";
  ASSERT_EQ(reader.read(in), State::whole);
  std::size_t used = 0;
  (void)reader.take(used);
  in.erase(0, used);
  ASSERT_EQ(reader.read(in), State::whole);
  const HttpRequest second = reader.take(used);
  EXPECT_EQ(second.path, "/b");
  EXPECT_TRUE(second.body.empty());
  EXPECT_FALSE(second.keeps_alive);
}

TEST(HttpTest, takes_a_target_in_absolute_form_and_its_host_instead_of_the_header) {
  struct {
    const char* target;
    const char* host;
    const char* path;
    const char* query;
  } const cases[] = {{"http://node:7433/mcp?a=1", "node:7433", "/mcp", "a=1"},
                     {"HTTP://[::1]:1/a", "[::1]:1", "/a", ""},
                     {"http://node", "node", "/", ""},
                     {"http://node?a", "node", "/", "a"}};
  for (const auto& each : cases) {
    HttpReader reader({});
    ASSERT_EQ(reader.read(fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", each.target)), State::whole)
        << each.target;
    std::size_t used = 0;
    const HttpRequest request = reader.take(used);
    EXPECT_EQ(*request.header("host"), each.host) << "RFC 9112 3.2.2";
    EXPECT_EQ(std::ranges::count_if(request.headers, [](const auto& one) { return one.first == "host"; }), 1);
    EXPECT_EQ(request.path, each.path);
    EXPECT_EQ(request.query, each.query);
  }
  EXPECT_EQ(status_of("GET http://node/ HTTP/1.1\r\n\r\n"), 400) << "a Host is needed all the same";
  EXPECT_EQ(status_of("GET http://node/ HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET https://node/ HTTP/1.1\r\nHost: node\r\n\r\n"), 421);
  for (const std::string target :
       {"http:///a", "http://me@node/", "ftp://node/", "node:80", "http:/a", "*", "a/http://b"}) {
    EXPECT_EQ(status_of("GET " + target + " HTTP/1.1\r\nHost: node\r\n\r\n"), 400) << target;
  }
}

TEST(HttpTest, refuses_what_two_readers_could_understand_differently) {
  EXPECT_EQ(status_of(with_headers("Content-Length: 1\r\nContent-Length: 2\r\n")), 400);
  EXPECT_EQ(status_of(with_headers("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n")), 400);
  EXPECT_EQ(status_of(with_headers("Transfer-Encoding: gzip, chunked\r\n")), 501);
  EXPECT_EQ(status_of(with_headers("Content-Length: +1\r\n")), 400);
  EXPECT_EQ(status_of(with_headers("Content-Length: 1, 1\r\n")), 400);
  EXPECT_EQ(status_of(with_headers("Content-Length: \r\n")), 400);
  EXPECT_EQ(status_of(with_headers("X : 1\r\n")), 400);
  EXPECT_EQ(status_of(with_headers("X: 1\r\n folded\r\n")), 400);
  EXPECT_EQ(status_of(with_headers("X: 1\nY: 2\r\n")), 400);
  EXPECT_EQ(status_of(with_headers("X: a\rb\r\n")), 400);
  EXPECT_EQ(status_of(with_headers(std::string("X: a\0b\r\n", 8))), 400);
  EXPECT_EQ(status_of(with_headers("Host: b\r\n")), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET  / HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/2.0\r\nHost: a\r\n\r\n"), 505);
  EXPECT_EQ(status_of("\r\n\r\n"), 400);
  EXPECT_EQ(status_of("G\x01T / HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET /\xff HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
}

TEST(HttpTest, refuses_chunks_that_lie) {
  const std::string head = with_headers("Transfer-Encoding: chunked\r\n");
  EXPECT_EQ(status_of(head + "zz\r\n"), 400);
  EXPECT_EQ(status_of(head + "-1\r\n"), 400);
  EXPECT_EQ(status_of(head + "\r\n"), 400);
  EXPECT_EQ(status_of(head + "2\r\nabc\r\n"), 400);
  EXPECT_EQ(status_of(head + "ffffffffffffffff\r\n"), 413);
  EXPECT_EQ(status_of(head + "11111111111111111\r\n"), 400);
  EXPECT_EQ(status_of(head + std::string(1000, '1')), 400);
  EXPECT_EQ(status_of(head + "0\r\nX: " + std::string(20'000, 'x')), 400);
}

TEST(HttpTest, refuses_a_bare_end_of_line_around_chunks) {
  const std::string head = with_headers("Transfer-Encoding: chunked\r\n");
  EXPECT_EQ(status_of(head + "2;a\nb\r\nab\r\n0\r\n\r\n"), 400);
  EXPECT_EQ(status_of(head + "2;a\rb\r\nab\r\n0\r\n\r\n"), 400);
  EXPECT_EQ(status_of(head + "0\r\nA: 1\nB: 2\r\n\r\n"), 400);
  EXPECT_EQ(status_of(head + "2;a=b\r\nab\r\n0\r\nA: 1\r\n\r\n"), 0);
}

TEST(HttpTest, closes_when_any_connection_header_says_so) {
  HttpReader reader({});
  ASSERT_EQ(reader.read("GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n"),
            State::whole);
  std::size_t used = 0;
  EXPECT_FALSE(reader.take(used).keeps_alive);
}

TEST(HttpTest, holds_to_its_limits) {
  HttpLimits limits;
  limits.head_bytes = 100;
  limits.headers = 3;
  limits.body_bytes = 10;
  EXPECT_EQ(status_of(std::string(104, 'x'), limits), 431);
  EXPECT_EQ(status_of(with_headers("X: " + std::string(90, 'x') + "\r\n"), limits), 431);
  EXPECT_EQ(status_of(with_headers("A: 1\r\nB: 1\r\n"), limits), 0);
  EXPECT_EQ(status_of(with_headers("A: 1\r\nB: 1\r\nC: 1\r\n"), limits), 431);
  EXPECT_EQ(status_of(with_headers("Content-Length: 10\r\n"), limits), 0);
  EXPECT_EQ(status_of(with_headers("Content-Length: 11\r\n"), limits), 413);
  EXPECT_EQ(status_of(with_headers("Content-Length: 99999999999999999999999\r\n"), limits), 413);
  EXPECT_EQ(status_of(with_headers("Transfer-Encoding: chunked\r\n") + "6\r\nabcdef\r\n5\r\n", limits), 413);
  EXPECT_EQ(status_of("GET /" + std::string(3000, 'x') + " HTTP/1.1\r\nHost: a\r\n\r\n"), 414);
}

TEST(HttpTest, takes_in_no_more_around_chunks_than_a_body_may_have) {
  HttpLimits limits;
  limits.body_bytes = 1000;
  const std::string head = with_headers("Transfer-Encoding: chunked\r\n");
  const auto chunks = [](int count, const std::string& extension) {
    std::string text;
    for (int i = 0; i < count; ++i) text += "1;" + extension + "\r\nx\r\n";
    return text;
  };
  EXPECT_EQ(status_of(head + chunks(100, "a"), limits), 0);
  EXPECT_EQ(status_of(head + chunks(200, "a"), limits), 413);
  EXPECT_EQ(status_of(head + chunks(10, std::string(200, 'a')), limits), 413);
}

TEST(HttpTest, shows_the_head_while_the_body_is_on_its_way) {
  HttpReader reader({});
  EXPECT_EQ(reader.head(), nullptr);
  ASSERT_EQ(reader.read("POST /a HTTP/1.1\r\n"), State::needs_more);
  EXPECT_EQ(reader.head(), nullptr);
  ASSERT_EQ(reader.read("POST /a HTTP/1.1\r\nHost: b\r\nContent-Length: 2\r\n\r\n1"), State::needs_more);
  ASSERT_NE(reader.head(), nullptr);
  EXPECT_EQ(*reader.head()->header("host"), "b");
}

TEST(HttpTest, says_once_that_a_client_waits_to_send_its_body) {
  HttpReader reader({});
  const std::string head = with_headers("Expect: 100-Continue\r\nContent-Length: 2\r\n");
  ASSERT_EQ(reader.read(head), State::needs_more);
  EXPECT_TRUE(reader.wants_continue());
  EXPECT_FALSE(reader.wants_continue());
  EXPECT_EQ(reader.read(head + "ab"), State::whole);
}

TEST(HttpTest, writes_responses) {
  EXPECT_EQ(http_text({200, {{"A", "b"}}, "hi"}, true), "HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 2\r\n\r\nhi");
  EXPECT_EQ(http_text({202, {}, ""}, false), "HTTP/1.1 202 Accepted\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(http_stream_head({200, {}, ""}, true), "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_EQ(http_endless_head({200, {}, ""}), "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(http_chunk("0123456789abcdef"), "10\r\n0123456789abcdef\r\n");
  EXPECT_EQ(http_chunk(""), "0\r\n\r\n");
}

}  // namespace
}  // namespace skein::inline v0::net
