#include "skein/control/connection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <boost/json/serialize.hpp>
#include <string>

#include "skein/control/client.hpp"
#include "skein/control/protocol_version.hpp"
#include "skein/control/test_socket.hpp"

namespace skein::inline v0::control {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using tests::eventually;
namespace json = boost::json;

constexpr const char* k_request = "{\"id\":7,\"op\":\"describe\",\"params\":{\"target\":\"x\"}}\n";

std::string request(std::uint64_t id, const std::string& target) {
  return "{\"id\":" + std::to_string(id) + ",\"op\":\"describe\",\"params\":{\"target\":\"" + target + "\"}}\n";
}
std::string code_of(const json::value& line) {
  const json::object* object = line.if_object();
  const json::value* error = object != nullptr ? object->if_contains("error") : nullptr;
  return error != nullptr ? std::string(error->at("code").as_string()) : "no error: " + json::serialize(line);
}
std::string message_of(const json::value& line) { return std::string(line.at("error").at("message").as_string()); }

class ConnectionTest : public SocketTest {};
class SocketLimitsTest : public SocketTest {};

TEST_F(ConnectionTest, says_hello_with_what_the_node_is) {
  listen();
  RawClient client(path());
  const auto hello = client.hello();
  EXPECT_EQ(hello.at("id"), 1);
  EXPECT_EQ(hello.at("ok").at("name"), "tested");
  EXPECT_EQ(hello.at("ok").at("protocol"), k_protocol_version);
}

TEST_F(ConnectionTest, wants_hello_first_and_in_its_own_version) {
  listen();
  RawClient client(path());
  client.send(k_request);
  EXPECT_THAT(message_of(client.line()), HasSubstr("first request must be hello"));
  client.send("{\"id\":2,\"op\":\"hello\",\"params\":{\"version\":99}}\n");
  EXPECT_EQ(message_of(client.line()),
            "this node is older than the skein program that asks: they speak versions 2 and 99 of the protocol");
  client.send("{\"id\":3,\"op\":\"hello\",\"params\":{\"version\":0}}\n");
  EXPECT_EQ(message_of(client.line()),
            "the skein program that asks is older than this node: they speak versions 0 and 2 of the protocol");
  EXPECT_TRUE(client.hello().as_object().contains("ok"));
}

TEST_F(ConnectionTest, answers_a_program_of_the_version_before_in_its_form) {
  listen();
  RawClient client(path());
  client.send("{\"id\":1,\"op\":\"hello\",\"params\":{\"version\":1}}\n");
  const auto hello = client.line();
  EXPECT_EQ(hello.at("ok").at("protocol"), 1);
  EXPECT_THAT(hello.at("ok").at("notice").as_string().c_str(),
              HasSubstr("use the skein program of the node's release"));
  client.send("{\"id\":2,\"op\":\"log_level\"}\n");
  EXPECT_TRUE(client.line().at("ok").is_string());
  RawClient newer(path());
  EXPECT_FALSE(newer.hello().at("ok").as_object().contains("notice"));
  newer.send("{\"id\":2,\"op\":\"log_level\"}\n");
  EXPECT_TRUE(newer.line().at("ok").is_object());
}

TEST_F(ConnectionTest, puts_lines_together_that_come_in_pieces) {
  listen();
  RawClient client = greeted();
  for (const char each : std::string(k_request)) client.send(std::string_view(&each, 1));
  EXPECT_EQ(client.line().at("ok"), "x");
  client.send(request(1, "a") + "\n\n" + request(2, "b") + "{\"id\":3,\"op\":\"desc");
  EXPECT_EQ(client.line().at("ok"), "a");
  EXPECT_EQ(client.line().at("ok"), "b");
  client.send("ribe\",\"params\":{\"target\":\"c\"}}\n");
  EXPECT_EQ(client.line().at("ok"), "c");
}

// The config may nest supervisors 32 deep, and a tree has two levels of JSON for each.
TEST_F(ConnectionTest, shows_a_tree_as_deep_as_one_may_be) {
  for (std::size_t i = 0; i < TreeLimits{}.depth; ++i) {
    TreeEntry above;
    above.id = "s" + std::to_string(i);
    above.type = ChildType::supervisor;
    above.supervisor.emplace();
    above.children.push_back(std::move(hooks_->shown_tree));
    hooks_->shown_tree = std::move(above);
  }
  listen();
  RawClient client = greeted();
  client.send("{\"id\":2,\"op\":\"tree\"}\n{\"id\":3,\"op\":\"tree_watch\"}\n");
  for (int i = 0; i < 2; ++i) {
    const auto answer = client.line();
    ASSERT_TRUE(answer.is_object()) << "no answer";
    const auto* tree =
        answer.at("id") == 2 ? answer.as_object().if_contains("ok") : answer.as_object().if_contains("part");
    ASSERT_NE(tree, nullptr);
    EXPECT_EQ(tree->at("id"), "s63");
  }
}

TEST_F(ConnectionTest, answers_in_any_order_with_the_request_s_id) {
  hooks_->holds = true;
  listen();
  RawClient client = greeted();
  client.send(request(11, "first") + request(12, "second"));
  ASSERT_TRUE(eventually([&] { return hooks_->held() == 2; }));
  hooks_->answer_last();
  EXPECT_EQ(client.line().at("id"), 12);
  hooks_->answer_first();
  EXPECT_EQ(client.line().at("id"), 11);
}

TEST_F(ConnectionTest, says_what_is_wrong_with_a_line_and_goes_on) {
  listen();
  RawClient client = greeted();
  const auto said = [&](const std::string& line) {
    client.send(line + "\n");
    return client.line();
  };
  EXPECT_EQ(code_of(said("nonsense")), "invalid_json");
  EXPECT_EQ(code_of(said("[1]")), "invalid");
  EXPECT_EQ(code_of(said("{}")), "invalid");
  EXPECT_EQ(code_of(said(R"({"id":0,"op":"info"})")), "invalid");
  EXPECT_EQ(code_of(said(R"({"id":-1,"op":"info"})")), "invalid");
  EXPECT_EQ(code_of(said(R"({"id":"x","op":"info"})")), "invalid");
  EXPECT_EQ(code_of(said(R"({"id":5,"op":5})")), "invalid");
  const auto params = said(R"({"id":5,"op":"info","params":[]})");
  EXPECT_EQ(params.at("id"), 5);
  EXPECT_EQ(code_of(params), "invalid");
  EXPECT_THAT(message_of(said(R"({"id":6,"op":"frobnicate"})")), HasSubstr("unknown operation 'frobnicate'"));
  EXPECT_THAT(message_of(said(R"({"id":6,"op":"info","params":{"x":1}})")), HasSubstr("'x'"));
  EXPECT_EQ(code_of(said(R"({"id":6,"op":"events","params":{"kinds":["bogus"]}})")), "invalid");
  EXPECT_EQ(code_of(said(R"({"id":6,"op":"task_list"})")), "stopped");
  EXPECT_EQ(said(request(9, "still there")).at("ok"), "still there");
}

TEST_F(ConnectionTest, answers_a_client_that_has_closed_its_side) {
  hooks_->holds = true;
  listen();
  RawClient client = greeted();
  client.send(request(3, "late"));
  ASSERT_TRUE(eventually([&] { return hooks_->held() == 1; }));
  client.half_close();
  EXPECT_TRUE(client.line(50ms).is_null()) << "nothing was answered yet";
  EXPECT_EQ(shared_->open->load(), 1U) << "the connection must wait for its answer";
  hooks_->answer_first();
  EXPECT_EQ(client.line().at("ok"), "late");
  EXPECT_TRUE(client.is_closed());
  EXPECT_TRUE(eventually([&] { return shared_->open->load() == 0; }));
}

TEST_F(ConnectionTest, ends_when_its_client_is_gone) {
  hooks_->holds = true;
  listen();
  RawClient client = greeted();
  client.send(request(3, "nobody waits for this"));
  ASSERT_TRUE(eventually([&] { return hooks_->held() == 1; }));
  client.close();
  hooks_->answer_first();
  EXPECT_TRUE(eventually([&] { return shared_->open->load() == 0; }));
}

TEST_F(ConnectionTest, writes_the_answer_to_stop_before_anything_ends_it) {
  listen();
  hooks_->on_stop = [this] {
    for (const Pid each : connections()) runtime_->exit(each, ExitReason::kill());
  };
  RawClient client = greeted();
  client.send("{\"id\":4,\"op\":\"stop\"}\n");
  EXPECT_EQ(client.line().at("id"), 4);
  EXPECT_TRUE(client.is_closed());
}

TEST_F(SocketLimitsTest, a_line_that_is_too_long_is_refused_and_ends_the_connection) {
  listen({.line_bytes = 4096});
  RawClient client = greeted();
  client.send(request(2, std::string(4000, 'x')));
  EXPECT_EQ(client.line().at("id"), 2) << "under the limit it is taken";
  client.send(request(3, std::string(5000, 'x')));
  const auto refused = client.line();
  EXPECT_EQ(refused.at("id"), 0);
  EXPECT_EQ(code_of(refused), "too_large");
  EXPECT_THAT(message_of(refused), HasSubstr("longer than 4096 bytes"));
  EXPECT_TRUE(client.is_closed());
}

TEST_F(SocketLimitsTest, a_line_without_an_end_is_refused_as_soon_as_it_is_too_long) {
  listen({.line_bytes = 4096});
  RawClient client = greeted();
  client.send(std::string(5000, ' '));
  EXPECT_EQ(code_of(client.line()), "too_large");
  EXPECT_TRUE(client.is_closed());
}

TEST_F(SocketLimitsTest, arrays_within_arrays_end_at_the_limit) {
  listen({.depth = 8});
  RawClient client = greeted();
  const std::string deep = std::string(20, '[') + std::string(20, ']');
  client.send("{\"id\":2,\"op\":\"info\",\"params\":" + deep + "}\n");
  EXPECT_EQ(code_of(client.line()), "invalid_json");
}

TEST_F(SocketLimitsTest, with_too_many_requests_under_way_nothing_more_is_read) {
  hooks_->holds = true;
  listen({.requests = 3});
  RawClient client = greeted();
  std::string many;
  for (std::uint64_t id = 10; id < 20; ++id) many += request(id, std::to_string(id));
  client.send(many);
  ASSERT_TRUE(eventually([&] { return hooks_->held() == 3; }));
  EXPECT_TRUE(client.line(50ms).is_null());
  EXPECT_EQ(hooks_->held(), 3U);
  for (std::uint64_t id = 10; id < 20; ++id) {
    ASSERT_TRUE(eventually([&] { return hooks_->held() > 0; }));
    hooks_->answer_first();
    EXPECT_EQ(client.line().at("id"), id);
  }
}

TEST_F(SocketLimitsTest, a_client_that_does_not_read_is_read_from_no_more_until_it_does) {
  constexpr std::size_t k_output_bytes = 4 << 20;
  listen({.output_bytes = k_output_bytes});
  hooks_->dump_bytes = 100;
  RawClient client = greeted();
  const auto unsent = [&] {
    const auto described = runtime_->describe(connections().at(0));
    return described ? std::stoul(described->substr(described->find("streams, ") + 9)) : 0UL;
  };
  const std::string dump = "{\"id\":2,\"op\":\"dump\"}\n";
  std::size_t sent = 0;
  ASSERT_TRUE(eventually([&] {
    while (client.send_what_fits(dump) == dump.size()) ++sent;
    return unsent() >= k_output_bytes / 2;
  }));
  ASSERT_TRUE(eventually([&] { return client.send_what_fits(dump) < dump.size() || ++sent == 0; }));
  EXPECT_LE(unsent(), k_output_bytes);
  for (std::size_t i = 0; i < sent; ++i) ASSERT_EQ(client.line().at("id"), 2) << "answer " << i << " of " << sent;
}

TEST_F(SocketLimitsTest, answers_beyond_the_limit_that_nobody_takes_end_the_connection) {
  hooks_->holds = true;
  listen({.line_bytes = 1 << 20, .output_bytes = 128 << 10});
  RawClient client = greeted();
  for (std::uint64_t id = 1; id <= 20; ++id) client.send(request(id, std::string(100 << 10, 'x')));
  ASSERT_TRUE(eventually([&] { return hooks_->held() == 20; }));
  for (int i = 0; i < 20; ++i) hooks_->answer_first();
  EXPECT_TRUE(eventually([&] { return shared_->open->load() == 0; })) << "a slow client is closed";
}

TEST_F(SocketLimitsTest, one_client_too_many_is_told_so_and_closed) {
  listen({.connections = 2});
  RawClient first = greeted();
  RawClient second = greeted();
  RawClient third(path());
  const auto refused = third.line();
  EXPECT_EQ(refused.at("id"), 0);
  EXPECT_EQ(code_of(refused), "overloaded");
  EXPECT_TRUE(third.is_closed());
  first.close();
  ASSERT_TRUE(eventually([&] { return shared_->open->load() == 1; }));
  RawClient fourth = greeted();
  EXPECT_EQ(shared_->open->load(), 2U);
}

TEST_F(SocketLimitsTest, our_own_client_hears_why_it_was_turned_away) {
  listen({.connections = 1});
  RawClient first = greeted();
  for (int i = 0; i < 50; ++i) {
    const auto refused = Client::connect(folder_.string());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, "overloaded") << refused.error().message;
  }
}

TEST_F(SocketLimitsTest, who_says_nothing_for_too_long_is_closed_unless_he_waits) {
  hooks_->holds = true;
  listen({.idle = 100ms});
  RawClient waits = greeted();
  waits.send(request(5, "slow"));
  ASSERT_TRUE(eventually([&] { return hooks_->held() == 1; }));
  RawClient idle = greeted();
  EXPECT_TRUE(idle.is_closed());
  EXPECT_TRUE(eventually([&] { return shared_->open->load() == 1; }));
  hooks_->answer_first();
  EXPECT_EQ(waits.line().at("ok"), "slow");
}

TEST_F(SocketLimitsTest, streams_of_one_connection_are_limited_and_end_when_cancelled) {
  listen();
  RawClient client = greeted();
  for (int id = 1; id <= 16; ++id) {
    client.send("{\"id\":" + std::to_string(id) + ",\"op\":\"tree_watch\",\"params\":{\"every_ms\":60000}}\n");
    EXPECT_TRUE(client.line().as_object().contains("part"));
  }
  client.send("{\"id\":17,\"op\":\"tree_watch\"}\n");
  EXPECT_EQ(code_of(client.line()), "overloaded");
  client.send("{\"id\":18,\"op\":\"cancel\",\"params\":{\"id\":1}}\n");
  EXPECT_EQ(client.line().at("id"), 1);
  EXPECT_EQ(client.line().at("id"), 18);
}

class ListenerTest : public SocketTest {};

TEST_F(ListenerTest, is_for_its_owner_only) {
  listen();
  struct stat status{};
  ASSERT_EQ(::stat(path().c_str(), &status), 0);
  EXPECT_EQ(static_cast<unsigned>(status.st_mode) & 0777U, 0600U);
}

TEST_F(ListenerTest, knows_from_the_kernel_who_is_at_the_other_end) {
  int both[2] = {-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, both), 0);
  const Fd here(both[0]);
  const Fd there(both[1]);
  const auto peer = peer_of(here.get());
  ASSERT_TRUE(peer);
  EXPECT_EQ(peer->uid, ::getuid());
  EXPECT_EQ(peer->pid, ::getpid());
  EXPECT_FALSE(peer_of(-1));
}

TEST_F(ListenerTest, takes_the_place_of_a_socket_that_nobody_listens_at_and_of_no_other) {
  listen();
  const auto second = listen_at(path(), 1);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error(), HasSubstr("somebody listens there already"));
  const std::string stale = path() + ".stale";
  {
    const auto left_behind = listen_at(stale, 1);
  }
  EXPECT_TRUE(std::filesystem::exists(stale));
  EXPECT_TRUE(listen_at(stale, 1)) << "what a crash left behind is no obstacle";
}

TEST_F(ListenerTest, can_be_reached_through_a_path_longer_than_an_address) {
  folder_ /= std::string(120, 'd');
  listen();
  RawClient client = greeted();
}

TEST_F(ListenerTest, leaves_open_connections_alone_when_it_is_restarted) {
  listen();
  RawClient client = greeted();
  runtime_->exit(listener_, ExitReason::kill());
  runtime_->wait_for_end(listener_);
  start_listener();
  client.send(request(2, "still here"));
  EXPECT_EQ(client.line().at("ok"), "still here");
  RawClient another = greeted();
  EXPECT_EQ(shared_->open->load(), 2U);
}

TEST(ControlClient, says_where_it_looked_for_a_node) {
  const auto client = Client::connect("/nonexistent/folder");
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().kind, ClientError::Kind::unreachable);
  EXPECT_THAT(client.error().message, HasSubstr("no node is running in /nonexistent/folder"));
  EXPECT_THAT(client.error().advice, HasSubstr("skein up"));
}

TEST_F(ConnectionTest, our_client_gives_up_when_the_time_is_up_and_pipelines) {
  hooks_->holds = true;
  listen();
  auto client = Client::connect(folder_.string());
  ASSERT_TRUE(client) << client.error().message;
  const auto late = client->ask("describe", {{"target", "x"}}, 50ms);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind, ClientError::Kind::timeout);
  hooks_->holds = false;
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(client->send("describe", {{"target", "y"}}));
  for (int i = 0; i < 100; ++i) {
    const auto answered = client->next(10s);
    ASSERT_TRUE(answered);
    EXPECT_EQ(answered->result.value(), "y");
  }
}

}  // namespace
}  // namespace skein::inline v0::control
