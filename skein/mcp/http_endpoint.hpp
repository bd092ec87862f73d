// MCP on HTTP: the service of one connection at /mcp. Modern requests are answered here, each on its own; those of a
// legacy session go to the process that has it. See HttpSession.
//
// Asked in this order, and refused by the first that says no: the path, Host and Origin, the token, the method, the
// body, headers that say what the body says.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "skein/mcp/http_session.hpp"
#include "skein/mcp/login.hpp"
#include "skein/mcp/server.hpp"
#include "skein/net/http_connection.hpp"

namespace skein::inline v0::mcp {

inline constexpr std::string_view k_mcp_path = "/mcp";

struct HttpEndpointSetup {
  ServerPtr server;
  std::shared_ptr<SessionTable> sessions;
  std::shared_ptr<Login> login;
  std::vector<std::string> hosts{};  // names besides addresses and localhost
};

class HttpEndpoint final : public net::HttpService, private Driver::Sink {
 public:
  HttpEndpoint(Self self, std::shared_ptr<const HttpEndpointSetup> setup, net::HttpAnswers& answers);

  Task<void> on_request(Self self, net::HttpRequest request) override;
  void on_message(Self self, Message& message) override;
  void on_client_gone(Self self) override;
  void on_shutdown(Self self) override;

 private:
  // True: answered.
  bool refuse_stranger(Self self, const net::HttpRequest& request);
  Task<void> on_post(Self self, net::HttpRequest request);
  Task<void> on_legacy_post(Self self, net::HttpRequest request, RpcMessage message);
  Task<void> on_get(Self self, net::HttpRequest request);
  Task<void> on_delete(Self self, net::HttpRequest request);
  // The process that has the session the request names; it is started if need be. Nobody: answered.
  Task<Pid> find_session(Self self, net::HttpRequest request);
  Task<Pid> start_session(Self self, std::string id);

  void send(StreamId to, json::object message, Outlet::Then then, int status) override;
  void end(StreamId stream) override;
  void let_go(StreamId) override {}
  void on_event(const SessionEvent& event);

  void answer_error(int status, const json::value& id, const RpcError& error);
  void answer_text(int status, std::string text);
  void begin_stream();
  void method_not_allowed(std::string_view allowed);

  std::shared_ptr<const HttpEndpointSetup> setup_;
  net::HttpAnswers& answers_;
  Driver driver_;
  std::uint64_t exchange_ = 0;  // the number of the request that is being answered
  bool is_streaming_ = false;
  Pid session_{};              // that answers it; nobody: answered here
  std::string new_session_{};  // its id, when this request has begun it
};

}  // namespace skein::inline v0::mcp
