#include "skein/mcp/http_rules.hpp"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

namespace skein::inline v0::mcp {
namespace {

net::HttpRequest with(std::vector<std::pair<std::string, std::string>> headers) {
  net::HttpRequest request;
  request.headers = std::move(headers);
  return request;
}

RpcMessage call(std::string_view tool, json::object arguments) {
  RpcMessage message;
  message.kind = RpcMessage::Kind::request;
  message.id = 1;
  message.method = "tools/call";
  message.params = {{"name", tool}, {"arguments", std::move(arguments)}};
  return message;
}

int fault_code(net::HttpRequest request, const RpcMessage& message, const Catalog& catalog = {}) {
  request.headers.emplace_back("mcp-protocol-version", k_modern_version);
  const auto fault = header_fault(request, message, catalog);
  return fault ? fault->code : 0;
}

TEST(HttpRulesTest, takes_addresses_and_localhost_for_a_host_and_no_name_that_is_not_listed) {
  for (const char* good :
       {"localhost", "LOCALHOST:7433", "127.0.0.1:1", "[::1]:7433", "[::1]", "10.0.0.7", "localhost:"}) {
    EXPECT_TRUE(is_host_allowed(good, {})) << good;
  }
  for (const char* bad :
       {"evil.example", "evil.example:7433", "", "localhost.evil.example", "127.0.0.1.evil.example",
        "localhost:80@evil.example", "localhost:x", "localhost:65536", "[::1]x", "[::1]x:80", "localhost:80:90"}) {
    EXPECT_FALSE(is_host_allowed(bad, {})) << bad;
  }
  EXPECT_TRUE(is_host_allowed("swarm.example:443", {"swarm.example"}));
  EXPECT_TRUE(is_host_allowed("swarm.EXAMPLE", {"Swarm.Example"}));
}

TEST(HttpRulesTest, takes_no_origin_but_this_machine_unless_it_is_listed) {
  for (const char* good : {"http://localhost", "http://localhost:3000", "https://127.0.0.1", "http://[::1]:80"}) {
    EXPECT_TRUE(is_origin_allowed(good, {})) << good;
  }
  for (const char* bad : {"null", "", "http://evil.example", "http://10.0.0.7", "file://localhost", "localhost",
                          "http://localhost.evil.example", "http://localhost:80@evil.example", "http://[::1]:99999"}) {
    EXPECT_FALSE(is_origin_allowed(bad, {})) << bad;
  }
  EXPECT_TRUE(is_origin_allowed("https://swarm.example", {"swarm.example"}));
  EXPECT_TRUE(is_origin_allowed("https://swarm.example", {"Swarm.Example"}));
}

TEST(HttpRulesTest, wants_headers_that_say_what_the_body_says) {
  const RpcMessage message = call("echo", {});
  EXPECT_EQ(fault_code(with({{"mcp-method", "tools/call"}, {"mcp-name", "echo"}}), message), 0);
  EXPECT_EQ(fault_code(with({{"mcp-method", "tools/call"}, {"mcp-name", "=?base64?ZWNobw==?="}}), message), 0);
  EXPECT_EQ(fault_code(with({{"mcp-method", "tools/call"}, {"mcp-name", "=?base64?ZWNobw?="}}), message),
            k_header_mismatch);
  EXPECT_EQ(fault_code(with({{"mcp-method", "TOOLS/CALL"}, {"mcp-name", "echo"}}), message), k_header_mismatch);
  EXPECT_EQ(fault_code(with({{"mcp-method", "tools/call"}, {"mcp-name", "other"}}), message), k_header_mismatch);
  EXPECT_EQ(fault_code(with({{"mcp-method", "tools/call"}}), message), k_header_mismatch);
  EXPECT_EQ(fault_code(with({{"mcp-name", "echo"}}), message), k_header_mismatch);
}

// The client of the SDK 2.4.0 ends a subscription with a notification that has no such header.
TEST(HttpRulesTest, asks_no_headers_of_a_notification) {
  RpcMessage message;
  message.method = "notifications/cancelled";
  EXPECT_FALSE(header_fault(with({}), message, {}));
  EXPECT_EQ(fault_code(with({}), message), 0);
  EXPECT_EQ(fault_code(with({{"mcp-method", "notifications/cancelled"}}), message), 0);
  EXPECT_EQ(fault_code(with({{"mcp-method", "tools/call"}}), message), k_header_mismatch) << "a lie stays one";
}

TEST(HttpRulesTest, knows_where_clients_look_for_oauth) {
  for (const char* path :
       {"/register", "/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"}) {
    EXPECT_TRUE(is_oauth_path(path)) << path;
  }
  for (const char* path : {"/", "/mcp", "/registered", "/.well-known/other"}) EXPECT_FALSE(is_oauth_path(path)) << path;
}

TEST(HttpRulesTest, wants_the_version_as_a_header_too) {
  const auto fault = header_fault(with({{"mcp-method", "tools/call"}, {"mcp-name", "echo"}}), call("echo", {}), {});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->code, k_header_mismatch);
  EXPECT_NE(fault->message.find("mcp-protocol-version"), std::string::npos);
}

TEST(HttpRulesTest, checks_the_parameters_that_a_tool_wants_as_headers) {
  Catalog catalog;
  catalog.add(Tool{"routed",
                   "",
                   "",
                   json::parse(R"({"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},
                                   "n":{"type":"integer","x-mcp-header":"N"}}})"),
                   {},
                   {},
                   {}});
  const auto headers = [](std::vector<std::pair<std::string, std::string>> more) {
    more.emplace_back("mcp-method", "tools/call");
    more.emplace_back("mcp-name", "routed");
    return with(std::move(more));
  };
  EXPECT_EQ(fault_code(headers({}), call("routed", {}), catalog), 0);
  EXPECT_EQ(fault_code(headers({{"mcp-param-region", "eu"}}), call("routed", {{"region", "eu"}}), catalog), 0);
  EXPECT_EQ(fault_code(headers({{"mcp-param-n", "7"}}), call("routed", {{"n", 7}}), catalog), 0);
  EXPECT_EQ(fault_code(headers({}), call("routed", {{"region", "eu"}}), catalog), k_header_mismatch);
  EXPECT_EQ(fault_code(headers({{"mcp-param-region", "us"}}), call("routed", {{"region", "eu"}}), catalog),
            k_header_mismatch);
}

TEST(HttpRulesTest, knows_the_media_type_of_json_and_none_that_only_begins_like_it) {
  for (const char* type : {"application/json", "Application/JSON", "application/json; charset=utf-8",
                           "application/json ;x", "application/json\t;"}) {
    EXPECT_TRUE(is_json_type(type)) << type;
  }
  for (const char* type : {"", "application/jsonp", "application/json-seq", "text/json", "x application/json", ";"}) {
    EXPECT_FALSE(is_json_type(type)) << type;
  }
}

TEST(HttpRulesTest, reads_accept) {
  EXPECT_TRUE(accepts(with({}), "application/json"));
  EXPECT_TRUE(accepts(with({{"accept", "text/event-stream, Application/JSON;q=1"}}), "application/json"));
  EXPECT_TRUE(accepts(with({{"accept", "*/*"}}), "text/event-stream"));
  EXPECT_FALSE(accepts(with({{"accept", "text/html"}}), "application/json"));
}

}  // namespace
}  // namespace skein::inline v0::mcp
