// MCP in a WebSocket at /mcp/ws: a text message is a message of MCP, and cancellation is by notification, as on stdio.
#include <algorithm>
#include <optional>
#include <utility>

#include "skein/mcp/http_endpoint.hpp"
#include "skein/net/http_status.hpp"
#include "skein/operations/json_forms.hpp"

namespace skein::inline v0::mcp {
namespace {

constexpr StreamId k_socket_stream = 1;            // all messages are the connection's
constexpr std::size_t k_close_reason_bytes = 123;  // RFC 6455, 5.5: a control frame has at most 125, two for the code
constexpr std::string_view k_mcp_protocol = "mcp";

}  // namespace

// Where the token is that of an attempt, the ledger is asked first whether the attempt runs.
void HttpEndpoint::open_websocket(Self self, net::HttpRequest request) {
  const operations::PrincipalPtr who = driver_.core().who();
  if (who->kind != operations::Principal::Kind::task) return begin_websocket(self, request);
  upgrade_ = std::make_unique<net::HttpRequest>(std::move(request));
  operations::Reply<std::string> then([runtime = setup_->server->runtime, pid = self.pid(),
                                       exchange = exchange_](operations::Result<std::string>&& found) {
    Checked checked{exchange};
    if (!found) checked.refusal = std::make_shared<const std::string>(found.error().describe() + "\n");
    runtime->notify(pid, std::move(checked));
  });
  operations::check_standing(*setup_->server->hooks, *who, std::move(then));
}

void HttpEndpoint::on_checked(Self self, const Checked& checked) {
  if (checked.exchange != exchange_ || upgrade_ == nullptr) return;
  const auto request = std::exchange(upgrade_, nullptr);
  if (checked.refusal == nullptr) return begin_websocket(self, *request);
  answers_.respond(plain_response(net::http_status::k_forbidden, *checked.refusal));
}

void HttpEndpoint::begin_websocket(Self self, const net::HttpRequest& request) {
  const auto offered = net::websocket_protocols(request);
  const bool speaks_mcp = std::ranges::find(offered, k_mcp_protocol) != offered.end();
  net::HttpResponse answer = net::websocket_answer(request, speaks_mcp ? k_mcp_protocol : "");
  if (answer.status != net::http_status::k_switching_protocols) return answers_.respond(std::move(answer));
  answers_.upgrade(std::move(answer));
  net::WebSocketLimits limits = setup_->websocket;
  limits.message_bytes = k_message_bytes_max;
  socket_ = std::make_unique<net::WebSocket>(limits, self.now());
  driver_.watch_standing();
}

void HttpEndpoint::expelled(const operations::Error& why) {
  if (socket_ == nullptr || socket_->is_closing()) return;
  std::string out;
  socket_->close(net::WebSocketClose::policy, why.message.substr(0, k_close_reason_bytes), self_.now(), out);
  answers_.send_bytes(out);
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
      expelled(operations::no_longer_valid(*driver_.core().who()));
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
