#include "skein/node/node.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "skein/control/client.hpp"
#include "skein/supervision/stop_tree.hpp"
#include "skein/supervision/supervisor_api.hpp"
#include "skein/supervision/tree_view.hpp"

namespace skein::inline v0::node {
namespace {

using namespace std::chrono_literals;
using control::Client;
using operations::ask;
using testing::HasSubstr;
namespace json = boost::json;

// A node in a folder of its own, in a runtime of its own; both go in the right order.
class NodeTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              (std::string("skein-node-") + testing::UnitTest::GetInstance()->current_test_info()->name() + "-" +
               std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override {
    stop();
    std::filesystem::remove_all(folder_);
  }

  void start(const std::string& text = "[swarms.default]\nmin = 2\nmax = 4\n") {
    auto config = parse_config(text, (folder_ / "skein.toml").string());
    ASSERT_TRUE(config) << config.error().describe();
    config->node.data = folder_.string();
    runtime_ = std::make_unique<Runtime>();
    NodeSetup setup;
    setup.config = std::move(*config);
    setup.log = [](LogLevel, std::string_view) {};
    auto node = Node::prepare(*runtime_, std::move(setup));
    ASSERT_TRUE(node) << node.error();
    node_ = *node;
    const StartResult started = start_supervisor(*runtime_, node_->tree());
    ASSERT_TRUE(started) << started.error().reason.text();
    root_ = started->pid;
    node_->is_up(root_);
  }
  void stop() {
    if (!runtime_) return;
    if (root_) stop_tree(*runtime_, root_, 20s);
    runtime_->shutdown(5s);
    node_.reset();
    runtime_.reset();
    root_ = Pid{};
  }
  Client client() {
    auto made = Client::connect(folder_.string());
    EXPECT_TRUE(made) << made.error().message;
    return std::move(*made);
  }
  json::value asked(Client& client, std::string_view op, const json::object& params = {}) {
    auto answer = client.ask(op, params, 20s);
    EXPECT_TRUE(answer) << op << ": " << answer.error().message;
    return answer ? *answer : json::value();
  }
  json::value run_task(Client& client, const std::string& type, const std::string& params) {
    const auto submitted = asked(client, "task_submit", {{"type", type}, {"params", params}});
    return asked(client, "task_wait", {{"id", submitted.at("id")}, {"timeout_ms", 15'000}}).at("task");
  }
  TreeEntry tree() {
    auto entry = read_tree(*runtime_, root_);
    EXPECT_TRUE(entry);
    return entry ? std::move(*entry) : TreeEntry{};
  }
  // Waits, without a fixed time, until something holds.
  template <class Condition>
  bool eventually(Condition condition) {
    for (int i = 0; i < 2'000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(5ms);
    }
    return false;
  }

  std::filesystem::path folder_;
  std::unique_ptr<Runtime> runtime_;
  std::shared_ptr<Node> node_;
  Pid root_;
};

std::string policy(const TreeEntry& entry) {
  if (!entry.supervisor) return "";
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(entry.supervisor->period).count();
  return " " + std::string(strategy_name(entry.supervisor->strategy)) + " " +
         std::to_string(entry.supervisor->intensity) + "/" + std::to_string(seconds);
}

void draw(const TreeEntry& entry, int depth, std::string& out) {
  out += std::string(static_cast<std::size_t>(depth) * 2, ' ') + entry.id + policy(entry);
  if (entry.isolated) out += " isolated";
  out += "\n";
  const bool is_pool = entry.supervisor && entry.supervisor->strategy == Strategy::simple_one_for_one;
  if (is_pool) return;
  for (const TreeEntry& each : entry.children) draw(each, depth + 1, out);
}

TEST_F(NodeTest, live_tree_is_the_picture_of_the_specification) {
  start(
      "[[agents]]\nid = \"ada\"\n[[supervisors]]\nname = \"pair\"\nstrategy = \"one_for_all\"\n"
      "[[supervisors.child]]\nid = \"left\"\nworker = \"agent\"\nparams = { id = \"left\" }\n");
  std::string picture;
  for (const TreeEntry& each : tree().children) draw(each, 0, picture);
  EXPECT_EQ(picture,
            "engine_sup one_for_all 3/60\n"
            "  config\n"
            "  registry\n"
            "  consensus_sup rest_for_one 5/60\n"
            "    log_store\n"
            "    journal_engine\n"
            "  work_sup rest_for_one 5/60\n"
            "    ledger\n"
            "    dispatcher\n"
            "    swarms simple_one_for_one 5/60\n"
            "agents_sup one_for_one 5/60\n"
            "  agent_pool simple_one_for_one 10/60\n"
            "  named_agents one_for_one 5/60\n"
            "    ada isolated\n"
            "  pair one_for_all 1/5\n"
            "    left\n"
            "transports_sup one_for_one 5/60\n"
            "  connections simple_one_for_one 100/10\n"
            "  listener\n"
            "cluster_sup one_for_one 5/60 isolated\n"
            "observer_sup one_for_one 10/60 isolated\n"
            "  health\n");
}

TEST_F(NodeTest, a_task_goes_all_the_way_through_the_socket) {
  start();
  Client to_node = client();
  const auto task = run_task(to_node, "echo", R"({"a":1.5})");
  EXPECT_EQ(task.at("state"), "completed");
  EXPECT_EQ(operations::json_text(task.at("result")), R"({"a":1.5})");
  EXPECT_EQ(run_task(to_node, "fail", "\"no\"").at("state"), "failed");
}

TEST_F(NodeTest, two_nodes_cannot_share_a_folder_and_the_second_learns_who_has_it) {
  start();
  Config config = default_config();
  config.node.data = folder_.string();
  const auto second = Node::prepare(*runtime_, {.config = config});
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error(), HasSubstr("is in use by pid " + std::to_string(::getpid()) + ", since "));
}

TEST_F(NodeTest, tasks_survive_a_restart_of_the_node) {
  start();
  std::string id;
  {
    Client to_node = client();
    id = std::string(
        asked(to_node, "task_submit", {{"type", "echo"}, {"params", "1"}, {"delay_ms", 600'000}}).at("id").as_string());
    EXPECT_EQ(run_task(to_node, "echo", "2").at("state"), "completed");
  }
  stop();
  start();
  Client again = client();
  EXPECT_EQ(asked(again, "task_status", {{"id", id}}).at("state"), "queued");
}

TEST_F(NodeTest, engine_restarts_under_living_agents_and_work_goes_on) {
  start();
  Client to_node = client();
  ASSERT_EQ(run_task(to_node, "echo", "1").at("state"), "completed");
  const auto agents_before = asked(to_node, "agent_list").at("agents").as_array();
  ASSERT_FALSE(agents_before.empty());
  for (const char* target : {"engine_sup/work_sup/dispatcher", "engine_sup/work_sup/ledger",
                             "engine_sup/consensus_sup/journal_engine", "engine_sup/work_sup/swarms"}) {
    asked(to_node, "chaos_kill", {{"target", target}});
    EXPECT_TRUE(eventually([&] {
      const auto answer = to_node.ask("task_submit", {{"type", "echo"}, {"params", "3"}}, 10s);
      if (!answer) return false;
      const auto done = to_node.ask("task_wait", {{"id", answer->at("id")}, {"timeout_ms", 10'000}}, 15s);
      return done && done->at("task").at("state") == "completed";
    })) << target;
  }
  const auto agents_after = asked(to_node, "agent_list").at("agents").as_array();
  for (const auto& before : agents_before) {
    const bool is_there =
        std::ranges::any_of(agents_after, [&](const auto& after) { return after.at("pid") == before.at("pid"); });
    EXPECT_TRUE(is_there) << before.at("id") << " did not outlive the engine";
  }
}

TEST_F(NodeTest, observer_can_die_fifty_times_without_touching_anybody) {
  start();
  Client to_node = client();
  for (int i = 0; i < 50; ++i) {
    (void)to_node.ask("chaos_kill", {{"target", "observer_sup/health"}}, 5s);
    if (i % 10 == 0) {
      EXPECT_EQ(run_task(to_node, "echo", "1").at("state"), "completed");
    }
  }
  EXPECT_EQ(run_task(to_node, "echo", "1").at("state"), "completed");
  EXPECT_TRUE(runtime_->is_alive(root_));
}

TEST_F(NodeTest, drain_waits_for_what_runs_and_refuses_what_comes) {
  start();
  Client to_node = client();
  const auto slow = asked(to_node, "task_submit", {{"type", "sleep"}, {"params", "300"}});
  ASSERT_TRUE(
      eventually([&] { return asked(to_node, "task_status", {{"id", slow.at("id")}}).at("state") == "executing"; }));
  EXPECT_TRUE(node_->drain(20s, {}));
  const auto task = asked(to_node, "task_wait", {{"id", slow.at("id")}}).at("task");
  EXPECT_EQ(task.at("state"), "completed");
  const auto refused = to_node.ask("task_submit", {{"type", "echo"}}, 5s);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "stopped");
}

TEST_F(NodeTest, reload_applies_what_it_can_and_names_what_it_cannot) {
  std::filesystem::create_directories(folder_);
  const auto write = [&](const std::string& text) { std::ofstream(folder_ / "skein.toml") << text; };
  const std::string before = "[node]\nlog_level = \"info\"\n[swarms.default]\nmin = 1\nmax = 2\n";
  write(before);
  start(before);
  write(
      "[node]\nlog_level = \"debug\"\nname = \"other\"\n[swarms.default]\nmin = 2\nmax = 3\n[[agents]]\nid = "
      "\"ada\"\n");
  Client to_node = client();
  const auto answer = asked(to_node, "reload");
  EXPECT_EQ(operations::json_text(answer.at("changed")), R"(["swarm 'default'","log_level","agent 'ada' started"])");
  EXPECT_EQ(operations::json_text(answer.at("needs_restart")), R"(["[node] name"])");
  write("[node]\nlog_levle = \"info\"\n");
  const auto wrong = to_node.ask("reload", {}, 10s);
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr("unknown key 'log_levle'"));
}

TEST_F(NodeTest, agents_are_paused_resumed_spawned_and_stopped) {
  start();
  Client to_node = client();
  const auto id = asked(to_node, "agent_spawn", {{"executor", "function"}, {"id", "extra"}});
  EXPECT_EQ(id, "extra");
  ASSERT_TRUE(eventually([&] { return to_node.ask("agent_pause", {{"id", "extra"}}, 5s).has_value(); }));
  EXPECT_EQ(asked(to_node, "agent_status", {{"id", "extra"}}).at("status"), "paused");
  asked(to_node, "agent_resume", {{"id", "extra"}});
  asked(to_node, "agent_stop", {{"id", "extra"}});
  EXPECT_TRUE(eventually([&] { return !to_node.ask("agent_status", {{"id", "extra"}}, 5s).has_value(); }));
  const auto gone = to_node.ask("agent_pause", {{"id", "extra"}}, 5s);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, "agent_not_found");
  EXPECT_FALSE(to_node.ask("agent_spawn", {{"executor", "rm"}}, 5s)) << "only what the config defines";
}

TEST_F(NodeTest, bad_input_gets_an_answer_and_harms_nobody) {
  start();
  Client good = client();
  Client other = client();
  EXPECT_EQ(other.ask("no_such_thing", {}, 5s).error().code, "invalid");
  EXPECT_EQ(other.ask("task_submit", {{"type", "echo"}, {"prio", 1}}, 5s).error().code, "invalid");
  EXPECT_EQ(other.ask("task_submit", {{"type", "echo"}, {"params", "{"}}, 5s).error().code, "invalid_json");
  EXPECT_EQ(other.ask("task_status", {{"id", "x"}}, 5s).error().code, "invalid");
  json::value deep = 1;
  for (int i = 0; i < 100; ++i) deep = json::array{deep};
  EXPECT_FALSE(other.ask("task_submit", {{"type", deep}}, 5s));
  const auto longest = other.ask("task_submit", {{"type", std::string(2U << 20U, 'x')}}, 5s);
  EXPECT_FALSE(longest) << "the line is too long";
  EXPECT_EQ(run_task(good, "echo", "1").at("state"), "completed");
}

TEST_F(NodeTest, events_are_followed_as_they_happen) {
  start();
  Client reader = client();
  Client writer = client();
  std::vector<std::string> seen;
  std::thread submits([&] { run_task(writer, "echo", "1"); });
  (void)reader.ask("events", {{"follow", true}}, 10s, [&](const json::value& part) {
    if (const auto* kind = part.as_object().if_contains("event")) seen.emplace_back(kind->as_string());
    return seen.empty() || seen.back() != "task_completed";
  });
  submits.join();
  EXPECT_THAT(seen, testing::Contains("task_completed"));
}

}  // namespace
}  // namespace skein::inline v0::node
