// For tests of what is spoken over HTTP, on a real socket: TcpTest with MCP's endpoint behind it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

#include "skein/mcp/http_endpoint.hpp"
#include "skein/mcp/test_login.hpp"
#include "skein/mcp/test_tcp.hpp"
#include "skein/net/http_connection.hpp"

namespace skein::inline v0::mcp {

class HttpTcpTest : public TcpTest {
 protected:
  void serve(const std::string& token = {}, const net::HttpConnectionLimits& limits = {},
             const net::WebSocketLimits& websocket = {}) {
    using std::chrono::seconds;
    auto endpoint = std::make_shared<HttpEndpointSetup>();
    endpoint->server = server_ = make_server();
    endpoint->sessions = table_;
    endpoint->gate.login = login_with(token, nullptr, LoginLimits{3, seconds(60)});
    endpoint->websocket = websocket;
    auto setup = std::make_shared<net::HttpSetup>();
    setup->poller = poller_;
    setup->limits = limits;
    setup->open = open_;
    setup->make_service = [endpoint = std::shared_ptr<const HttpEndpointSetup>(endpoint)](Self self,
                                                                                          net::HttpAnswers& answers) {
      return std::make_unique<HttpEndpoint>(self, endpoint, answers);
    };
    listen(pool_child<net::HttpConnection, net::ClientPtr>("connection", std::shared_ptr<const net::HttpSetup>(setup))
               .with(Restart::temporary)
               .with(Shutdown::after(seconds(5))),
           "");
  }
  static std::string upgrade(const std::string& more = {}) {
    return "GET /mcp/ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
           "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" +
           more + "\r\n";
  }
  // tools/list of the modern era, whose answer is some 20 KB.
  static std::string post_list(int id) { return post(modern_text(id, "tools/list", {}), "Mcp-Method: tools/list\r\n"); }
  static std::string post(const std::string& body, const std::string& headers) {
    return "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
           "MCP-Protocol-Version: 2026-07-28\r\n" +
           headers + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }
  // The body of the next response; empty when there is none.
  static std::string body(TcpClient& client) {
    static constexpr std::string_view k_length = "Content-Length: ";
    const std::string head = client.until("\r\n\r\n");
    const std::size_t at = head.find(k_length);
    return at == std::string::npos ? "" : client.bytes(std::stoul(head.substr(at + k_length.size())));
  }

  ServerPtr server_;
  std::shared_ptr<SessionTable> table_ = std::make_shared<SessionTable>();
};

}  // namespace skein::inline v0::mcp
