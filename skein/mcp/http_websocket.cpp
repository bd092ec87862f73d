// MCP in a WebSocket at /mcp/ws: a text message is a message of MCP, and cancellation is by notification, as on stdio.
#include <algorithm>
#include <optional>
#include <utility>

#include "skein/mcp/http_endpoint.hpp"
#include "skein/operations/json_forms.hpp"

namespace skein::inline v0::mcp {
namespace {

constexpr StreamId k_socket_stream = 1;  // all messages are the connection's
constexpr int k_switching_protocols = 101;
constexpr std::string_view k_mcp_protocol = "mcp";

}  // namespace

void HttpEndpoint::begin_websocket(Self self, const net::HttpRequest& request) {
  const auto offered = net::websocket_protocols(request);
  const bool speaks_mcp = std::ranges::find(offered, k_mcp_protocol) != offered.end();
  net::HttpResponse answer = net::websocket_answer(request, speaks_mcp ? k_mcp_protocol : "");
  if (answer.status != k_switching_protocols) return answers_.respond(std::move(answer));
  answers_.upgrade(std::move(answer));
  net::WebSocketLimits limits = setup_->websocket;
  limits.message_bytes = k_message_bytes_max;
  socket_ = std::make_unique<net::WebSocket>(limits, self.now());
}

std::size_t HttpEndpoint::on_bytes(Self self, std::string_view in) {
  std::size_t used = 0;
  while (!answers_.is_full()) {
    std::optional<std::string> message;
    std::string out;
    used += socket_->receive(in.substr(used), self.now(), message, out);
    if (!out.empty()) answers_.send_bytes(out);
    if (!message) break;
    if (!driver_.core().who()->holds()) {
      std::string closing;
      socket_->close(net::WebSocketClose::policy, "the token works no longer", self.now(), closing);
      answers_.send_bytes(closing);
      break;
    }
    driver_.core().receive(k_socket_stream, *message);
  }
  if (socket_->is_over()) answers_.close();
  return used;
}

void HttpEndpoint::on_tick(Self self) {
  if (answers_.is_full()) return socket_->held_back(self.now());
  std::string out;
  socket_->on_time(self.now(), out);
  if (!out.empty()) answers_.send_bytes(out);
  if (socket_->is_over()) answers_.close();
}

void HttpEndpoint::send_in_websocket(const json::object& message) {
  if (!socket_->is_closing()) answers_.send_bytes(net::WebSocket::text_frame(operations::json_text(message)));
}

void HttpEndpoint::end_websocket(Self self) {
  std::string out;
  socket_->close(net::WebSocketClose::going_away, "the node goes down", self.now(), out);
  answers_.send_bytes(out);
}

}  // namespace skein::inline v0::mcp
