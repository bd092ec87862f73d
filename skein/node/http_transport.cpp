#include "skein/node/http_transport.hpp"

#include <chrono>
#include <memory>
#include <utility>

#include "skein/net/http_status.hpp"
#include "skein/net/listener.hpp"
#include "skein/node/http_front.hpp"
#include "skein/node/named_pool.hpp"
#include "skein/node/network.hpp"
#include "skein/supervision/trees.hpp"

namespace skein::inline v0::node {
namespace {

using namespace std::chrono_literals;

constexpr Duration k_http_shutdown = 30s;

std::shared_ptr<const HttpFrontSetup> front_setup(const ContextPtr& context, const mcp::ServerPtr& server,
                                                  std::shared_ptr<mcp::SessionTable> sessions) {
  const auto config = context->config();
  const mcp::HttpGate gate{login_of(context, "http", config->http.auth), config->http.hosts};
  auto endpoint = std::make_shared<mcp::HttpEndpointSetup>();
  endpoint->server = server;
  endpoint->sessions = std::move(sessions);
  endpoint->gate = gate;
  endpoint->websocket.receive = config->http.receive;
  auto api = std::make_shared<rest::RestSetup>();
  api->runtime = server->runtime;
  api->hooks = server->hooks;
  api->gate = gate;
  auto setup = std::make_shared<HttpFrontSetup>();
  setup->mcp = std::move(endpoint);
  setup->rest = std::move(api);
  return setup;
}

std::shared_ptr<const net::HttpSetup> connection_setup(const ContextPtr& context,
                                                       std::shared_ptr<const HttpFrontSetup> front) {
  const auto config = context->config();
  const HttpSection& given = config->http;
  auto setup = std::make_shared<net::HttpSetup>();
  setup->poller = context->poller;
  setup->limits.request.head_bytes = static_cast<std::size_t>(given.head_bytes);
  setup->limits.request.body_bytes = static_cast<std::size_t>(given.body_bytes);
  setup->limits.output_bytes = static_cast<std::size_t>(given.output_bytes);
  setup->limits.idle = given.idle;
  setup->limits.receive = given.receive;
  setup->limits.stalled = given.stalled;
  setup->open = std::make_shared<std::atomic<std::uint32_t>>(0);
  setup->make_service = [front = std::move(front)](Self, net::HttpAnswers& answers) {
    return std::make_unique<HttpFront>(front, answers);
  };
  return setup;
}

std::shared_ptr<const net::ListenerSetup> http_listener(const ContextPtr& context,
                                                        const std::shared_ptr<const net::HttpSetup>& connections) {
  auto setup = std::make_shared<net::ListenerSetup>();
  setup->where = "http " + context->http.address();
  setup->open = [context] { return context->http.take(); };
  setup->busy =
      net::http_text({net::http_status::k_unavailable, {{"Retry-After", "1"}}, "too many connections\n"}, false);
  setup->pool = k_http_connections_name;
  setup->connections_max = context->config()->http.connections;
  setup->connections = connections->open;
  setup->poller = context->poller;
  setup->budget = context->descriptors;
  setup->admits_strangers = true;
  setup->log = connection_log(context);
  setup->on_accepted = connection_trace(context);
  setup->on_refused = refusal_trace(context);
  return setup;
}

}  // namespace

std::vector<ChildSpec> http_children(const ContextPtr& context, const mcp::ServerPtr& server) {
  if (!context->http.is_open()) return {};
  const auto table = std::make_shared<mcp::SessionTable>();
  auto sessions = std::make_shared<mcp::SessionSetup>();
  sessions->server = server;
  sessions->table = table;
  const auto connections = connection_setup(context, front_setup(context, server, table));
  ChildSpec connection = pool_child<net::HttpConnection, net::ClientPtr>("connection", connections)
                             .with(Restart::temporary)
                             .with(Shutdown::after(k_http_shutdown));
  // The pools first, so that admitted clients find them.
  return {registered(trees::pool("mcp_sessions", {100, 10s},
                                 mcp::session_template(std::shared_ptr<const mcp::SessionSetup>(sessions))),
                     mcp::k_sessions_name),
          registered(trees::pool("http_connections", {100, 10s}, std::move(connection)), k_http_connections_name),
          child<net::Listener>("http_listener", http_listener(context, connections)).labelled("service")};
}

}  // namespace skein::inline v0::node
