#include "skein/control/listener.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "skein/control/unix_socket.hpp"
#include "skein/launcher/kinship.hpp"
#include "skein/supervision/child.hpp"

namespace skein::inline v0::control {
namespace {

constexpr int k_backlog = 128;
constexpr Duration k_connection_shutdown = std::chrono::seconds(30);

std::string error_line(const operations::Error& why) {
  return fmt::format("{{\"id\":0,\"error\":{}}}\n", operations::json_text(operations::to_json(why)));
}

// What an agent has to say comes through its executor, or with the token of its task: without that it would have all
// the rights of the node's owner here.
std::optional<std::string> let_agent_in(const ConnectionSetup& setup, net::Client& client) {
  if (setup.access == nullptr) return error_line(agents_need_token());
  const auto guard = setup.agents;
  if (guard->fetch_add(1) >= k_agent_connections) {
    guard->fetch_sub(1);
    return error_line(operations::overloaded(
        fmt::format("{} agents are connected to this socket, and no more may be", k_agent_connections)));
  }
  client.counted = std::shared_ptr<void>(nullptr, [guard](void*) { guard->fetch_sub(1); });
  client.must_log_in = true;
  return std::nullopt;
}

std::optional<std::string> refuse_agents(const ConnectionSetup& setup, net::Client& client) {
  switch (setup.descent(client.fd.get())) {
    case launcher::Descent::apart:
    case launcher::Descent::unreadable:  // an ancestor of another user, whom agents cannot become
      return std::nullopt;
    case launcher::Descent::below:
      return let_agent_in(setup, client);
    default:
      break;
  }
  return error_line(operations::invalid("the process that connected has ended, or its parent processes cannot be found",
                                        "stay connected until the answer has come"));
}

std::optional<std::string> refuse_others(const ConnectionSetup& setup, net::Client& client) {
  const auto peer = peer_of(client.fd.get());
  if (!peer || (peer->uid != ::geteuid() && peer->uid != 0)) {
    return error_line(operations::invalid("this node serves its own user only", "run skein as that user"));
  }
  return refuse_agents(setup, client);
}

}  // namespace

std::shared_ptr<const net::ListenerSetup> listener_setup(const std::string& path,
                                                         const std::shared_ptr<const ConnectionSetup>& connections) {
  auto setup = std::make_shared<net::ListenerSetup>();
  setup->where = path;
  setup->open = [path] { return listen_at(path, k_backlog); };
  setup->close = [path] { ::unlink(path.c_str()); };
  setup->refuse = [connections](net::Client& client) { return refuse_others(*connections, client); };
  setup->busy = error_line(operations::overloaded("too many connections"));
  setup->pool = k_connections_name;
  setup->connections_max = connections->limits.connections;
  setup->connections = connections->open;
  setup->poller = connections->poller;
  setup->budget = connections->budget;
  setup->log = connections->log;
  setup->on_accepted = connections->on_accepted;
  setup->on_refused = connections->on_refused;
  return setup;
}

ChildSpec connection_template(std::shared_ptr<const ConnectionSetup> setup) {
  return pool_child<Connection, net::ClientPtr>("connection", std::move(setup))
      .with(Restart::temporary)
      .with(Shutdown::after(k_connection_shutdown));
}

}  // namespace skein::inline v0::control
