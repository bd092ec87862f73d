#include "skein/node/node_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "skein/net/tcp_socket.hpp"
#include "skein/node/test_node.hpp"

namespace skein::inline v0::node {
namespace {

using namespace std::chrono_literals;
using control::Client;
using operations::ask;
using testing::HasSubstr;
using tests::eventually;
namespace json = boost::json;

// Submits two tasks, one of which fails, and keeps what it is told of their ends.
class Notified {
 public:
  struct Begin {
    std::shared_ptr<operations::Operations> ops;
  };
  struct Told {
    std::atomic<int> completed{0};
    std::atomic<int> failed{0};
    std::string result;   // read once completed is set
    std::string message;  // read once failed is set
  };
  explicit Notified(std::shared_ptr<Told> told) : told_(std::move(told)) {}
  void handle_info(Self self, Message message) {
    if (const auto* begin = message.get_if<Begin>()) {
      for (const char* type : {"echo", "fail"}) {
        operations::SubmitRequest request;
        request.type = type;
        request.params = "\"why not\"";
        request.attempts = 1;
        request.notify = self.pid();
        begin->ops->task_submit(std::move(request), [](const auto& answer) { EXPECT_TRUE(answer); });
      }
    } else if (const auto* complete = message.get_if<operations::TaskComplete>()) {
      told_->result = std::string(ledger::view_of(complete->result));
      ++told_->completed;
    } else if (const auto* failed = message.get_if<operations::TaskFailed>()) {
      told_->message = failed->message;
      ++told_->failed;
    }
  }

 private:
  std::shared_ptr<Told> told_;
};

TEST_F(NodeTest, a_process_is_notified_of_the_end_of_its_tasks) {
  start();
  const auto told = std::make_shared<Notified::Told>();
  const Pid pid = runtime_->spawn<Notified>(told);
  runtime_->send(pid, Notified::Begin{node_->hooks().operations()});
  ASSERT_TRUE(eventually([&] { return told->completed == 1 && told->failed == 1; }));
  EXPECT_EQ(told->result, "\"why not\"");
  EXPECT_THAT(told->message, HasSubstr("why not"));
  runtime_->exit(pid, ExitReason::kill());
}

TEST_F(NodeTest, a_port_that_is_taken_keeps_a_node_from_starting_only_where_it_was_named) {
  const auto taken = net::listen_on({"127.0.0.1", 0}, 1);
  ASSERT_TRUE(taken);
  Config config = default_config();
  config.node.data = folder_.string();
  config.http.listen = "127.0.0.1:" + std::to_string(net::port_of(taken->get()));
  runtime_ = std::make_unique<Runtime>();
  std::string log;
  const auto prepared = [&] {
    return NodeHost::prepare(*runtime_,
                             {.config = config, .log = [&](LogLevel, std::string_view line) { log += line; }});
  };
  EXPECT_TRUE(prepared());
  EXPECT_THAT(log, HasSubstr("no HTTP: " + config.http.listen + ": cannot listen there: Address already in use"));
  config.http.is_named = true;
  const auto refused = prepared();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), NodeError::Kind::no_address);
  EXPECT_THAT(refused.error().what(), HasSubstr("give another address with --http HOST:PORT, or --http off"));
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
  const auto second = NodeHost::prepare(*runtime_, {.config = config});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind(), NodeError::Kind::folder_in_use);
  EXPECT_THAT(second.error().what(), HasSubstr("is in use by pid " + std::to_string(::getpid()) + ", since "));
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

TEST_F(NodeTest, a_process_is_found_by_what_the_tree_calls_it) {
  start();
  Client to_node = client();
  ASSERT_EQ(run_task(to_node, "echo", "1").at("state"), "completed");
  for (const char* target :
       {"node_sup/engine_sup/registry", "engine_sup/work_sup/ledger", "ledger", "agents_sup/agent_pool/default-1",
        "default-1", "engine_sup/work_sup/swarms/swarm/default", "engine_sup/work_sup/swarms/*", "swarm/default"}) {
    EXPECT_TRUE(to_node.ask("describe", {{"target", target}}, 10s)) << target;
  }
  const auto unknown = to_node.ask("describe", {{"target", "sup/ledger"}}, 10s);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, "process_not_found");
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

TEST_F(NodeTest, a_swarm_whose_coordinator_ends_though_it_is_active_gets_another) {
  start();
  Client to_node = client();
  ASSERT_EQ(run_task(to_node, "echo", "1").at("state"), "completed");
  for (int i = 0; i < 3; ++i) {  // the first is seen by the keeper's look after its start, in any case
    const Pid before = runtime_->whereis("swarm/default");
    ASSERT_TRUE(before);
    runtime_->exit(before, ExitReason::shutdown());  // in order: its pool does not restart it
    ASSERT_TRUE(eventually([&] {
      const Pid now = runtime_->whereis("swarm/default");
      return now && now != before;
    })) << i;
  }
  EXPECT_EQ(run_task(to_node, "echo", "2").at("state"), "completed");
}

TEST_F(NodeTest, observer_dies_fifty_times_and_no_task_notices) {
  start();
  Client to_node = client();
  ASSERT_TRUE(eventually([&] { return asked(to_node, "agent_list").at("agents").as_array().size() >= 2; }));
  const auto agents_before = asked(to_node, "agent_list").at("agents").as_array();
  constexpr int k_kills = 50;
  const auto health = [&] {
    for (const TreeEntry& each : tree().children) {
      if (each.id == "observer_sup" && !each.children.empty()) return each.children.front().pid;
    }
    return Pid{};
  };
  std::vector<std::string> ids;
  Pid last;
  for (int i = 0; i < k_kills; ++i) {
    Pid victim;
    ASSERT_TRUE(eventually([&] { return (victim = health()) && victim != last && runtime_->is_alive(victim); }))
        << "nobody to kill for the " << i << "th time";
    ids.emplace_back(
        asked(to_node, "task_submit", {{"type", "sleep"}, {"params", std::to_string(i % 7)}, {"attempts", 1}})
            .at("id")
            .as_string());
    runtime_->exit(victim, ExitReason::kill());
    last = victim;
  }
  for (const std::string& id : ids) {
    const auto task = asked(to_node, "task_wait", {{"id", id}, {"timeout_ms", 15'000}}).at("task");
    EXPECT_EQ(task.at("state"), "completed") << id;
    EXPECT_EQ(task.at("attempts"), 1) << "an attempt was lost";
  }
  EXPECT_TRUE(runtime_->is_alive(root_));
  const auto agents_after = asked(to_node, "agent_list").at("agents").as_array();
  for (const auto& before : agents_before) {
    const bool is_there =
        std::ranges::any_of(agents_after, [&](const auto& after) { return after.at("pid") == before.at("pid"); });
    EXPECT_TRUE(is_there) << before.at("id") << " was touched";
  }
}

TEST_F(NodeTest, what_ran_when_the_program_fell_goes_on_at_once_after_its_restart) {
  start();
  std::string id;
  {
    Client to_node = client();
    id = std::string(asked(to_node, "task_submit", {{"type", "sleep"}, {"params", "4000"}}).at("id").as_string());
    ASSERT_TRUE(eventually([&] { return asked(to_node, "task_status", {{"id", id}}).at("state") == "executing"; }));
    // As when the power goes: what the log has is all there is. A copy taken now is what a restart would find.
    std::filesystem::copy(folder_ / "journal", folder_.string() + "-copy", std::filesystem::copy_options::recursive);
  }
  stop();
  std::filesystem::remove_all(folder_);
  std::filesystem::create_directories(folder_);
  std::filesystem::rename(folder_.string() + "-copy", folder_ / "journal");
  const auto begin = std::chrono::steady_clock::now();
  start();
  Client again = client();
  const auto ran_again = [&] {
    const auto task = asked(again, "task_status", {{"id", id}});
    return task.at("state") == "executing" && node_->context().dead_fence > ledger::Fence{0};
  };
  EXPECT_TRUE(eventually(ran_again));
  EXPECT_TRUE(eventually([&] { return run_task(again, "echo", "1").at("state") == "completed"; }));
  EXPECT_EQ(asked(again, "task_wait", {{"id", id}, {"timeout_ms", 15'000}}).at("task").at("state"), "completed");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 15s) << "it waited for the lease of an agent that is dead";
}

TEST_F(NodeTest, a_killed_journal_engine_is_back_at_once_though_others_still_hold_the_old_one) {
  start();
  const auto held = node_->context().engine.get();  // as a user of it does
  ASSERT_TRUE(held);
  const auto begin = std::chrono::steady_clock::now();
  runtime_->exit(held->owner, ExitReason::kill());
  ASSERT_TRUE(eventually([&] {
    const auto now = node_->context().engine.get();
    return now && now != held;
  }));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s) << "it waited for the folder's lock";
  Client to_node = client();
  EXPECT_TRUE(
      eventually([&] { return to_node.ask("task_submit", {{"type", "echo"}, {"params", "1"}}, 10s).has_value(); }));
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

TEST_F(NodeTest, an_agent_that_comes_in_the_place_of_another_during_a_drain_begins_nothing) {
  start("[swarms.default]\nmin = 2\nmax = 2\n");
  Client to_node = client();
  std::vector<json::value> ids;
  const auto count = [&](const char* state) {
    return std::ranges::count_if(
        ids, [&](const auto& id) { return asked(to_node, "task_status", {{"id", id}}).at("state") == state; });
  };
  for (int i = 0; i < 6; ++i) {
    ids.push_back(asked(to_node, "task_submit", {{"type", "sleep"}, {"params", "1000"}}).at("id"));
  }
  ASSERT_TRUE(eventually([&] { return count("executing") == 2; }));
  bool is_empty = false;
  std::thread drains([&] { is_empty = node_->drain(60s, {}); });
  EXPECT_TRUE(eventually([&] { return asked(to_node, "info").at("state") == "draining"; }));
  asked(to_node, "chaos_kill", {{"target", "default-1"}});
  drains.join();
  EXPECT_TRUE(is_empty);
  EXPECT_LE(count("completed"), 2) << "those that ran when it began";
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
  EXPECT_EQ(asked(to_node, "info").at("name"), "node") << "until the restart";
  const auto again = asked(to_node, "reload");
  EXPECT_EQ(operations::json_text(again.at("changed")), "[]");
  EXPECT_EQ(operations::json_text(again.at("needs_restart")), R"(["[node] name"])") << "it is pending still";
  write("[node]\nlog_levle = \"info\"\n");
  const auto wrong = to_node.ask("reload", {}, 10s);
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr("unknown key 'log_levle'"));
}

TEST_F(NodeTest, limits_that_agents_have_from_their_start_need_a_restart) {
  std::filesystem::create_directories(folder_);
  start("[limits]\nresult_bytes = 4096\n");
  std::ofstream(folder_ / "skein.toml") << "[limits]\nresult_bytes = 8192\nopen_tasks = 5000\n";
  Client to_node = client();
  for (int i = 0; i < 2; ++i) {
    const auto answer = asked(to_node, "reload");
    EXPECT_EQ(operations::json_text(answer.at("changed")), i == 0 ? R"(["limits"])" : "[]");
    EXPECT_EQ(operations::json_text(answer.at("needs_restart")), R"(["[limits] result_bytes"])");
  }
  const auto limits = node_->context().config()->limits;
  EXPECT_EQ(limits.result_bytes, 4096U) << "of the ledger as well, until then";
  EXPECT_EQ(limits.open_tasks, 5000U);
}

TEST_F(NodeTest, reload_drops_overrides_and_the_agents_follow) {
  std::filesystem::create_directories(folder_);
  const std::string text = "[swarms.default]\nmin = 1\nmax = 1\n";
  std::ofstream(folder_ / "skein.toml") << text;
  start(text);
  Client to_node = client();
  const auto has_agents = [&](std::size_t count) {
    return [&, count] { return asked(to_node, "agent_list").at("agents").as_array().size() == count; };
  };
  asked(to_node, "swarm_scale", {{"name", "default"}, {"min", 3}, {"max", 3}});
  ASSERT_TRUE(eventually(has_agents(3)));
  asked(to_node, "swarm_create", {{"name", "guests"}, {"fields", {{"agents_min", "0"}}}});
  asked(to_node, "swarm_scale", {{"name", "guests"}, {"min", 0}, {"max", 7}});
  EXPECT_EQ(operations::json_text(asked(to_node, "reload").at("changed")),
            R"(["overrides of swarm 'default' dropped"])");
  EXPECT_TRUE(asked(to_node, "swarm_status", {{"name", "guests"}}).as_object().contains("overrides")) << "not its own";
  EXPECT_FALSE(asked(to_node, "swarm_status", {{"name", "default"}}).as_object().contains("overrides"));
  EXPECT_TRUE(eventually(has_agents(1))) << "agents above the maximum stayed";
  EXPECT_EQ(operations::json_text(asked(to_node, "reload").at("changed")), "[]") << "there was nothing left to drop";
}

TEST_F(NodeTest, agents_are_shown_with_what_they_can_do_and_nothing_else) {
  start("[swarms.default]\nmin = 1\nmax = 1\ncapabilities = [\"count\", \"echo\"]\n");
  Client to_node = client();
  ASSERT_TRUE(eventually([&] { return !asked(to_node, "agent_list").at("agents").as_array().empty(); }));
  const auto agent = asked(to_node, "agent_list").at("agents").as_array().at(0);
  EXPECT_EQ(operations::json_text(agent.at("capabilities")), R"(["count","echo"])");
  EXPECT_EQ(agent.at("swarm"), "default");
}

TEST_F(NodeTest, agents_are_paused_resumed_spawned_and_stopped) {
  start();
  Client to_node = client();
  const auto spawned = asked(to_node, "agent_spawn", {{"executor", "function"}, {"id", "extra"}});
  EXPECT_EQ(spawned.at("id"), "extra");
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

TEST_F(NodeTest, an_agent_that_its_supervisor_would_start_again_is_not_stopped) {
  start(
      "[[supervisors]]\nname = \"pair\"\n"
      "[[supervisors.child]]\nid = \"left\"\nworker = \"agent\"\nparams = { id = \"left\" }\n");
  Client to_node = client();
  const auto before = asked(to_node, "agent_status", {{"id", "left"}}).at("pid");
  const auto refused = to_node.ask("agent_stop", {{"id", "left"}}, 10s);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "invalid");
  EXPECT_THAT(refused.error().message, HasSubstr("belongs to one of [[supervisors]]"));
  EXPECT_EQ(asked(to_node, "agent_status", {{"id", "left"}}).at("pid"), before);
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
