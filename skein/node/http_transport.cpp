#include "skein/node/http_transport.hpp"

#include <chrono>
#include <memory>
#include <utility>

#include "skein/mcp/http_endpoint.hpp"
#include "skein/net/http_connection.hpp"
#include "skein/net/listener.hpp"
#include "skein/net/tcp_socket.hpp"
#include "skein/supervision/child.hpp"
#include "skein/supervision/trees.hpp"

namespace skein::inline v0::node {
namespace {

using namespace std::chrono_literals;

constexpr int k_http_backlog = 1024;
constexpr Duration k_http_shutdown = 30s;

ChildSpec named_pool(SupervisorSpec spec, std::string_view name) {
  ChildSpec child = supervisor_child(spec.name, spec);
  child.start = detail::Starter<Supervisor, SupervisorSpec>{std::string(name), k_supervisor_mailbox_limit,
                                                            std::tuple<SupervisorSpec>(std::move(spec))};
  return child;
}

std::shared_ptr<const mcp::HttpEndpointSetup> endpoint_setup(const ContextPtr& context, mcp::ServerPtr server,
                                                             std::shared_ptr<mcp::SessionTable> sessions) {
  auto setup = std::make_shared<mcp::HttpEndpointSetup>();
  setup->server = std::move(server);
  setup->sessions = std::move(sessions);
  setup->login = std::make_shared<mcp::Login>(context->token,
                                              [weak = std::weak_ptr<NodeContext>(context)](const std::string& line) {
                                                if (const auto alive = weak.lock()) alive->log.warning("http: " + line);
                                              });
  setup->hosts = context->config()->http.hosts;
  return setup;
}

std::shared_ptr<const net::HttpSetup> connection_setup(const ContextPtr& context,
                                                       std::shared_ptr<const mcp::HttpEndpointSetup> endpoint) {
  const HttpSection& given = context->config()->http;
  auto setup = std::make_shared<net::HttpSetup>();
  setup->poller = context->poller;
  setup->limits.request.head_bytes = static_cast<std::size_t>(given.head_bytes);
  setup->limits.request.body_bytes = static_cast<std::size_t>(given.body_bytes);
  setup->limits.output_bytes = static_cast<std::size_t>(given.output_bytes);
  setup->limits.idle = given.idle;
  setup->limits.receive = given.receive;
  setup->limits.stalled = given.stalled;
  setup->open = std::make_shared<std::atomic<std::uint32_t>>(0);
  setup->make_service = [endpoint = std::move(endpoint)](Self self, net::HttpAnswers& answers) {
    return std::make_unique<mcp::HttpEndpoint>(self, endpoint, answers);
  };
  return setup;
}

std::shared_ptr<const net::ListenerSetup> http_listener(const ContextPtr& context,
                                                        const std::shared_ptr<const net::HttpSetup>& connections) {
  auto setup = std::make_shared<net::ListenerSetup>();
  setup->where = "http " + context->config()->http.listen;
  setup->open = [context]() -> std::expected<net::Fd, std::string> {
    auto where = net::parse_host_port(context->config()->http.listen);
    if (!where) return std::unexpected(std::move(where.error()));
    // A listener that was restarted takes the port it had.
    if (where->port == 0) where->port = context->http_port.load();
    auto fd = net::listen_on(*where, k_http_backlog);
    if (fd) context->http_port = net::port_of(fd->get());
    return fd;
  };
  setup->busy = net::http_text({503, {{"Retry-After", "1"}}, "too many connections\n"}, false);
  setup->pool = k_http_connections_name;
  setup->connections_max = context->config()->http.connections;
  setup->connections = connections->open;
  setup->poller = context->poller;
  return setup;
}

}  // namespace

std::vector<ChildSpec> http_children(const ContextPtr& context, const mcp::ServerPtr& server) {
  if (!context->config()->http.enabled) return {};
  const auto table = std::make_shared<mcp::SessionTable>();
  auto sessions = std::make_shared<mcp::SessionSetup>();
  sessions->server = server;
  sessions->table = table;
  const auto connections = connection_setup(context, endpoint_setup(context, server, table));
  ChildSpec connection = pool_child<net::HttpConnection, std::shared_ptr<net::Fd>>("connection", connections)
                             .with(Restart::temporary)
                             .with(Shutdown::after(k_http_shutdown));
  // The pools first, so that whoever is let in finds them.
  return {named_pool(trees::pool("mcp_sessions", {100, 10s},
                                 mcp::session_template(std::shared_ptr<const mcp::SessionSetup>(sessions))),
                     mcp::k_sessions_name),
          named_pool(trees::pool("http_connections", {100, 10s}, std::move(connection)), k_http_connections_name),
          child<net::Listener>("http_listener", http_listener(context, connections)).labelled("service")};
}

}  // namespace skein::inline v0::node
