#include "skein/node/tcp_transport.hpp"

#include <chrono>
#include <utility>

#include "skein/mcp/line_connection.hpp"
#include "skein/net/listener.hpp"
#include "skein/node/named_pool.hpp"
#include "skein/node/network.hpp"
#include "skein/supervision/trees.hpp"

namespace skein::inline v0::node {

std::vector<ChildSpec> tcp_children(const ContextPtr& context, const mcp::ServerPtr& server) {
  if (!context->tcp.is_open()) return {};
  const auto config = context->config();
  const TcpSection& given = config->tcp;
  auto connections = std::make_shared<mcp::LineSetup>();
  connections->server = server;
  connections->poller = context->poller;
  connections->login = login_of(context, "tcp", given.auth);
  connections->limits.login = given.login;
  connections->limits.receive = given.receive;
  connections->limits.stalled = given.stalled;
  connections->limits.idle = given.idle;
  connections->limits.output_bytes = static_cast<std::size_t>(given.output_bytes);
  connections->open = std::make_shared<std::atomic<std::uint32_t>>(0);
  auto listener = std::make_shared<net::ListenerSetup>();
  listener->where = "tcp " + context->tcp.address();
  listener->open = [context] { return context->tcp.take(); };
  listener->busy = mcp::line_error("too many connections; try again later");
  listener->pool = k_tcp_connections_name;
  listener->connections_max = given.connections;
  listener->connections = connections->open;
  listener->poller = context->poller;
  listener->budget = context->descriptors;
  listener->admits_strangers = true;
  listener->log = connection_log(context);
  listener->on_accepted = connection_trace(context);
  listener->on_refused = refusal_trace(context);
  // The pool first, so that admitted clients find it.
  return {registered(trees::pool("tcp_connections", {100, std::chrono::seconds(10)},
                                 mcp::line_connection_template(std::move(connections))),
                     k_tcp_connections_name),
          child<net::Listener>("tcp_listener", std::shared_ptr<const net::ListenerSetup>(std::move(listener)))
              .labelled("service")};
}

}  // namespace skein::inline v0::node
