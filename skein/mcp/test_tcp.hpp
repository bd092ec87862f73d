// For tests of transports: a listener with its connections at a port of its own, a node behind it, and a client that
// sends raw bytes. Every wait is bounded.
#pragma once

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "skein/mcp/fixtures.hpp"
#include "skein/mcp/node_catalog.hpp"
#include "skein/mcp/server.hpp"
#include "skein/net/listener.hpp"
#include "skein/net/tcp_socket.hpp"
#include "skein/net/test_client.hpp"
#include "skein/operations/test_hooks.hpp"
#include "skein/supervision/child.hpp"
#include "skein/supervision/stop_tree.hpp"
#include "skein/supervision/supervisor_api.hpp"
#include "skein/supervision/trees.hpp"

namespace skein::inline v0::mcp {

class TcpClient : public net::TestClient {
 public:
  using TestClient::TestClient;
  // Null when there is none.
  json::value line() {
    const std::string text = until("\n");
    return text.empty() ? json::value() : json::parse(text);
  }
};

// A tool that never ends, and says a mebibyte all the time, whether it is read or not.
inline void never_stops(Exchange& exchange) {
  static const std::string k_much(1ULL << 20U, 'x');
  exchange.log("info", "test", json::value(k_much));
  exchange.after(std::chrono::milliseconds(1), never_stops);
}

class TcpTest : public testing::Test {
 protected:
  ~TcpTest() override {
    for (const Pid each : {listener_, pool_}) {
      if (each) stop_tree(*runtime_, each, std::chrono::seconds(10));
    }
    hooks_->drop_held();
    runtime_.reset();
  }
  ServerPtr make_server() {
    const auto catalog = make_node_catalog();
    catalog_ = catalog;
    add_conformance_fixtures(*catalog);
    catalog->add(Tool{"never_stops", "Never stops", "", json::object{{"type", "object"}}, {}, {}, never_stops});
    auto server = std::make_shared<Server>();
    server->runtime = runtime_.get();
    server->hooks = hooks_;
    server->catalog = catalog;
    server->sealer = std::make_shared<const Sealer>("key");
    server->bulletin = std::make_shared<Bulletin>(*runtime_);
    return server;
  }
  // `connection`: the template of the pool.
  void listen(ChildSpec connection, std::string busy) {
    using std::chrono::seconds;
    pool_ =
        start_supervisor(*runtime_, trees::pool("pool", {100, seconds(10)}, std::move(connection)), "tested_pool")->pid;
    auto setup = std::make_shared<net::ListenerSetup>();
    setup->where = "test";
    setup->open = [this] {
      auto fd = net::listen_on({"127.0.0.1", port_}, 16);
      if (fd) port_ = net::port_of(fd->get());
      return fd;
    };
    setup->busy = std::move(busy);
    setup->pool = "tested_pool";
    setup->connections_max = connections_max_;
    setup->connections = open_;
    setup->poller = poller_;
    listener_ =
        start_supervisor(
            *runtime_,
            trees::supervisor("listening", trees::one_for_one, {5, seconds(60)},
                              {child<net::Listener>("listener", std::shared_ptr<const net::ListenerSetup>(setup))}))
            ->pid;
  }
  // A request of the modern era.
  static std::string modern_text(const json::value& id, std::string_view method, json::object params) {
    json::value& meta = params["_meta"];
    if (!meta.is_object()) meta = json::object();
    meta.get_object()[k_meta_version] = k_modern_version;
    meta.get_object()[k_meta_capabilities] = json::object();
    return json::serialize(make_request(id, method, std::move(params)));
  }

  // A call of the tool that never stops.
  static std::string endless_text() {
    return modern_text("e", "tools/call",
                       {{"name", "never_stops"}, {"_meta", {{"io.modelcontextprotocol/logLevel", "info"}}}});
  }

  std::unique_ptr<Runtime> runtime_ = std::make_unique<Runtime>();
  std::shared_ptr<net::FdPoller> poller_ = std::make_shared<net::FdPoller>(*runtime_);
  std::shared_ptr<operations::TestHooks> hooks_ = std::make_shared<operations::TestHooks>();
  std::shared_ptr<std::atomic<std::uint32_t>> open_ = std::make_shared<std::atomic<std::uint32_t>>(0);
  std::shared_ptr<Catalog> catalog_;  // of the server that was made
  std::uint32_t connections_max_ = 100;
  std::uint16_t port_ = 0;
  Pid listener_;
  Pid pool_;
};

}  // namespace skein::inline v0::mcp
