// The tree of a live node: that it is the one that docs/architecture.md draws, and that everything is in it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <thread>

#include "skein/node/test_node.hpp"
#include "skein/supervision/supervisor_api.hpp"

namespace skein::inline v0::node {
namespace {

using namespace std::chrono_literals;
using control::Client;
using tests::eventually;

class NodeTreeTest : public NodeTest {};

std::string policy(const TreeEntry& entry) {
  if (!entry.supervisor) return "";
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(entry.supervisor->period).count();
  return " " + std::string(strategy_name(entry.supervisor->strategy)) + " " +
         std::to_string(entry.supervisor->intensity) + "/" + std::to_string(seconds);
}

// How its supervisor treats it: "permanent, 5000 ms", and what else is special about it.
std::string treatment(Runtime& runtime, Pid supervisor, const TreeEntry& entry) {
  const auto spec = get_childspec(runtime, supervisor, entry.id.empty() ? ChildRef(entry.pid) : ChildRef(entry.id));
  if (!spec) return "?";
  std::string text = std::string(restart_name(spec->restart)) + ", " + shutdown_text(spec->effective_shutdown());
  if (spec->isolated) text += ", isolated";
  if (spec->backoff.kind != BackoffKind::none) text += ", backoff";
  return text;
}

void draw(Runtime& runtime, Pid supervisor, const TreeEntry& entry, int depth, std::string& out) {
  const std::string name = entry.id.empty() ? "each" : entry.id;
  out += std::string(static_cast<std::size_t>(depth) * 2, ' ') + name + policy(entry) + ": " +
         treatment(runtime, supervisor, entry) + "\n";
  const bool is_pool = entry.supervisor && entry.supervisor->strategy == Strategy::simple_one_for_one;
  const std::size_t shown = is_pool ? std::min<std::size_t>(1, entry.children.size()) : entry.children.size();
  for (std::size_t i = 0; i < shown; ++i) draw(runtime, entry.pid, entry.children[i], depth + 1, out);
}

TEST_F(NodeTreeTest, live_tree_is_the_picture_of_the_specification) {
  start(
      "[swarms.default]\nmin = 2\nmax = 4\n"
      "[[agents]]\nid = \"ada\"\n[[supervisors]]\nname = \"pair\"\nstrategy = \"one_for_all\"\n"
      "[[supervisors.child]]\nid = \"left\"\nworker = \"agent\"\nparams = { id = \"left\" }\n");
  Client to_node = client();  // so that there is a connection, and by its first answer
  ASSERT_TRUE(eventually([&] { return asked(to_node, "agent_list").at("agents").as_array().size() >= 4; }));
  // Who gathered that list ends by itself.
  ASSERT_TRUE(eventually([&] { return child_of("transports_sup", "askers").children.empty(); }));
  const TreeEntry root = tree();
  EXPECT_EQ("node_sup" + policy(root), "node_sup one_for_one 5/60");
  std::string picture;
  for (const TreeEntry& each : root.children) draw(*runtime_, root_, each, 0, picture);
  EXPECT_EQ(picture,
            "engine_sup one_for_all 3/60: permanent, infinity\n"
            "  config: permanent, 5000 ms\n"
            "  registry: permanent, 5000 ms\n"
            "  consensus_sup rest_for_one 5/60: permanent, infinity\n"
            "    disk_watch: permanent, 5000 ms\n"
            "    journal_engine: permanent, 30000 ms\n"
            "  work_sup rest_for_one 5/60: permanent, infinity\n"
            "    ledger: permanent, 30000 ms\n"
            "    dispatcher: permanent, 5000 ms\n"
            "    swarms simple_one_for_one 5/60: permanent, infinity\n"
            "      each: transient, 5000 ms, isolated\n"
            "agents_sup one_for_one 5/60: permanent, infinity\n"
            "  owner_watch: permanent, 5000 ms\n"
            "  agent_pool simple_one_for_one 10/60: permanent, infinity\n"
            "    each: temporary, 2000 ms\n"
            "  named_agents one_for_one 5/60: permanent, infinity\n"
            "    ada: permanent, 2000 ms, isolated, backoff\n"
            "  pair one_for_all 1/5: permanent, infinity\n"
            "    left: permanent, 5000 ms\n"
            "transports_sup one_for_one 5/60: permanent, infinity\n"
            "  askers simple_one_for_one 100/10: permanent, infinity\n"
            "  asker_desk: permanent, 5000 ms\n"
            "  connections simple_one_for_one 100/10: permanent, infinity\n"
            "    each: temporary, 30000 ms\n"
            "  listener: permanent, 5000 ms\n"
            "cluster_sup one_for_one 5/60: permanent, infinity, isolated\n"
            "observer_sup one_for_one 10/60: permanent, infinity, isolated\n"
            "  health: permanent, 5000 ms\n");
}

void collect_pids(const TreeEntry& entry, std::set<std::uint64_t>& pids) {
  if (entry.pid) pids.insert(entry.pid.bits());
  for (const TreeEntry& each : entry.children) collect_pids(each, pids);
}

// Whatever runs in a node has somebody who starts it again and ends it: what watches, feeds and carries out, too.
TEST_F(NodeTreeTest, every_process_of_a_node_is_in_its_tree) {
  ::setenv("NOTIFY_SOCKET", "@skein-nobody-listens-here", 1);
  ::setenv("WATCHDOG_USEC", "30000000", 1);
  start(
      "[http]\nlisten = \"127.0.0.1:0\"\n[tcp]\nenabled = true\nlisten = \"127.0.0.1:0\"\n"
      "[swarms.default]\nmin = 2\nmax = 4\n[[agents]]\nid = \"ada\"\n");
  for (const char* each : {"NOTIFY_SOCKET", "WATCHDOG_USEC"}) ::unsetenv(each);
  EXPECT_EQ(tree().children.front().id, "watchdog");
  Client to_node = client();
  ASSERT_TRUE(eventually([&] { return asked(to_node, "agent_list").at("agents").as_array().size() >= 3; }));
  EXPECT_EQ(run_task(to_node, "echo", "1").at("state"), "completed");
  // A trace is carried out by a process of its own, and takes its time.
  auto tracing = Client::connect(folder_.string());
  ASSERT_TRUE(tracing);
  std::thread asker([&] { (void)tracing->ask("trace", {{"target", "dispatcher"}, {"within_ms", 1500}}, 20s); });
  ASSERT_TRUE(eventually([&] { return !child_of("transports_sup", "askers").children.empty(); }));
  std::string outside;
  const auto all_are_inside = [&] {
    std::set<std::uint64_t> known;
    collect_pids(tree(), known);
    outside.clear();
    for (const ProcessInfo& each : runtime_->processes()) {
      if (known.contains(each.pid.bits())) continue;
      outside += fmt::format("{} {} {}\n", each.pid.text(), each.name, each.type);
    }
    return outside.empty();
  };
  EXPECT_TRUE(eventually(all_are_inside, 5s)) << outside;
  asker.join();
}

TEST_F(NodeTreeTest, network_transports_are_in_the_tree_and_a_listener_that_is_killed_has_its_port_again) {
  start("[http]\nlisten = \"127.0.0.1:0\"\n[tcp]\nenabled = true\nlisten = \"127.0.0.1:0\"\nauth = \"none\"\n");
  const TreeEntry root = tree();
  std::string picture;
  for (const TreeEntry& each : root.children) {
    if (each.id == "transports_sup") draw(*runtime_, root_, each, 0, picture);
  }
  EXPECT_EQ(picture,
            "transports_sup one_for_one 5/60: permanent, infinity\n"
            "  askers simple_one_for_one 100/10: permanent, infinity\n"
            "  asker_desk: permanent, 5000 ms\n"
            "  connections simple_one_for_one 100/10: permanent, infinity\n"
            "  listener: permanent, 5000 ms\n"
            "  mcp_sessions simple_one_for_one 100/10: permanent, infinity\n"
            "  http_connections simple_one_for_one 100/10: permanent, infinity\n"
            "  http_listener: permanent, 5000 ms\n"
            "  tcp_connections simple_one_for_one 100/10: permanent, infinity\n"
            "  tcp_listener: permanent, 5000 ms\n");
  const std::uint16_t port = node_->context().tcp.port();
  ASSERT_NE(port, 0);
  const auto can_listen = [&] { return net::listen_on({"127.0.0.1", port}, 1).has_value(); };
  EXPECT_FALSE(can_listen()) << "the node has it";
  Client to_node = client();
  asked(to_node, "chaos_kill", {{"target", "transports_sup/tcp_listener"}});
  // It listens before its start is known. Trying the port before would be in its way.
  EXPECT_TRUE(eventually([&] { return child_of("transports_sup", "tcp_listener").restarts == 1; }));
  EXPECT_FALSE(can_listen()) << "and has it again";
  stop();
  EXPECT_TRUE(can_listen()) << "it is free when the node has gone";
}

}  // namespace
}  // namespace skein::inline v0::node
