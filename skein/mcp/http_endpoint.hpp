// MCP on HTTP: the service of one connection at /mcp. Modern requests are answered here, each on its own; those of a
// legacy session go to the process that has it, see HttpSession. At /mcp/ws a WebSocket begins, which has both eras for
// itself, as a line does.
//
// Asked in this order, and refused by the first that says no: the path, Host and Origin, the token, the method, the
// body, headers that say what the body says.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "skein/mcp/http_gate.hpp"
#include "skein/mcp/http_session.hpp"
#include "skein/mcp/server.hpp"
#include "skein/net/http_connection.hpp"
#include "skein/net/websocket.hpp"

namespace skein::inline v0::mcp {

inline constexpr std::string_view k_mcp_path = "/mcp";
inline constexpr std::string_view k_websocket_path = "/mcp/ws";

struct HttpEndpointSetup {
  ServerPtr server;
  std::shared_ptr<SessionTable> sessions;
  HttpGate gate;
  net::WebSocketLimits websocket{};
};

class HttpEndpoint final : public net::HttpService, private Driver::Sink {
 public:
  HttpEndpoint(Self self, std::shared_ptr<const HttpEndpointSetup> setup, net::HttpAnswers& answers);

  std::optional<net::HttpResponse> on_head(Self self, const net::HttpRequest& head) override;
  Async<void> on_request(Self self, net::HttpRequest request) override;
  void on_message(Self self, Message& message) override;
  void on_client_gone(Self self) override;
  void on_shutdown(Self self) override;
  std::size_t on_bytes(Self self, std::string_view in) override;
  void on_tick(Self self) override;

 private:
  struct Checked {  // whether the attempt runs whose token wants a WebSocket
    std::uint64_t exchange = 0;
    std::shared_ptr<const std::string> refusal{};  // null: it does
  };

  // The answer to a client that may not ask, or not here.
  [[nodiscard]] std::optional<net::HttpResponse> refusal(Self self, const net::HttpRequest& request);
  Async<void> on_post(Self self, net::HttpRequest request);
  Async<void> on_legacy_post(Self self, net::HttpRequest request, RpcMessage message);
  Async<void> on_batch(Self self, net::HttpRequest request);
  Async<void> on_get(Self self, net::HttpRequest request);
  Async<void> on_delete(Self self, net::HttpRequest request);
  // The process that has the session the request names; it is started if need be. Nobody: answered.
  Async<Pid> find_session(Self self, net::HttpRequest request);
  Async<Pid> start_session(Self self, std::string id);

  void send(StreamId to, json::object message, Outlet::Then then, int status) override;
  void end(StreamId stream) override;
  void let_go(StreamId) override {}
  void expelled(const operations::Error& why) override;
  // If a session ends before it has answered, this process is notified, so that the client always gets an answer.
  void ask_session(Self self, Pid session);
  void leave_session(Self self);
  void on_session_down();
  void on_event(Self self, const SessionEvent& event);

  // http_websocket.cpp
  void open_websocket(Self self, net::HttpRequest request);
  void on_checked(Self self, const Checked& checked);
  void begin_websocket(Self self, const net::HttpRequest& request);
  void send_in_websocket(const json::object& message);
  void end_websocket(Self self);

  void answer_error(int status, const json::value& id, const RpcError& error);
  void answer_text(int status, std::string text);
  void begin_stream();
  void method_not_allowed(std::string_view allowed);

  std::shared_ptr<const HttpEndpointSetup> setup_;
  net::HttpAnswers& answers_;
  Driver driver_;
  std::uint64_t exchange_ = 0;  // the number of the request that is being answered
  bool is_streaming_ = false;
  Self self_;
  std::unique_ptr<net::HttpRequest> upgrade_;  // for a WebSocket, until the ledger has said that the attempt runs
  std::unique_ptr<net::WebSocket> socket_;     // once it is one
  Pid session_{};                              // that answers it; nobody: answered here, or whole
  MonitorRef session_watch_{};                 // on it
  std::string session_id_{};                   // that the request names or has begun
  json::value asked_{};                        // the request's id; null when it was a notification, say
  std::string new_session_{};                  // the session's id, when this request has begun it
};

}  // namespace skein::inline v0::mcp
