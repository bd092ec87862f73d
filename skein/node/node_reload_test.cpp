// What a reload does to a node that runs, and what is remembered of agents and swarms.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "skein/node/test_node.hpp"
#include "skein/operations/json_forms.hpp"

namespace skein::inline v0::node {
namespace {

using control::Client;
using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using tests::eventually;
namespace json = boost::json;

class NodeReload : public NodeTest {
 protected:
  void begin(const std::string& text) {
    std::filesystem::create_directories(folder_);
    write(text);
    start(text);
  }
  void write(const std::string& text) { std::ofstream(folder_ / "skein.toml") << text; }
  std::vector<std::string> reload(Client& to_node) {
    std::vector<std::string> changed;
    const auto answer = asked(to_node, "reload");  // named: a loop over a part of a temporary outlives it
    for (const auto& each : answer.at("changed").as_array()) changed.emplace_back(each.as_string());
    return changed;
  }
  std::string state_of(Client& to_node, const std::string& swarm) {
    const auto answer = to_node.ask("swarm_status", {{"name", swarm}}, 10s);
    return answer ? std::string(answer->at("state").as_string()) : answer.error().code;
  }
  std::string status_of(Client& to_node, const std::string& agent) {
    const auto answer = to_node.ask("agent_status", {{"id", agent}}, 10s);
    return answer ? std::string(answer->at("status").as_string()) : answer.error().code;
  }
  std::vector<std::string> agents_of(Client& to_node, const std::string& swarm) {
    std::vector<std::string> ids;
    const auto all = asked(to_node, "agent_list");
    for (const auto& each : all.at("agents").as_array()) {
      if (each.at("swarm").is_string() && each.at("swarm").as_string() == swarm)
        ids.emplace_back(each.at("id").as_string());
    }
    return ids;
  }
  std::string submit(Client& to_node, const std::string& type, const std::string& params, const std::string& swarm) {
    const auto answer =
        asked(to_node, "task_submit", {{"type", type}, {"params", params}, {"swarm", swarm}, {"timeout_ms", 60'000}});
    return std::string(answer.at("id").as_string());
  }
  std::string state_of_task(Client& to_node, const std::string& id) {
    return std::string(asked(to_node, "task_status", {{"id", id}}).at("state").as_string());
  }
};

constexpr const char* k_default_text = "[swarms.default]\nmin = 1\nmax = 2\n";
constexpr const char* k_calc_text =
    "[executors.calc]\nkind = \"function\"\n[swarms.calc]\nexecutor = \"calc\"\nmin = 1\nmax = 1\n";

TEST_F(NodeReload, ends_a_swarm_that_the_config_no_longer_has) {
  begin(std::string(k_default_text) + k_calc_text);
  Client to_node = client();
  asked(to_node, "swarm_create", {{"name", "guests"}, {"fields", {{"min", "0"}}}});
  ASSERT_TRUE(eventually([&] { return agents_of(to_node, "calc").size() == 1; }));
  write(k_default_text);
  EXPECT_THAT(reload(to_node), ElementsAre("executor 'calc' removed", "swarm 'calc' removed"));
  EXPECT_EQ(state_of(to_node, "calc"), "swarm_not_found");
  EXPECT_TRUE(eventually([&] { return agents_of(to_node, "calc").empty(); }));
  EXPECT_EQ(state_of(to_node, "guests"), "active") << "it was made over the API";
  EXPECT_THAT(reload(to_node), ElementsAre());
}

TEST_F(NodeReload, lets_a_swarm_with_open_tasks_finish_them_and_refuses_new_ones) {
  begin(std::string(k_default_text) + k_calc_text);
  Client to_node = client();
  const auto first = submit(to_node, "sleep", "1500", "calc");
  const auto second = submit(to_node, "echo", "1", "calc");
  ASSERT_TRUE(eventually([&] { return state_of_task(to_node, first) == "executing"; }));
  write(std::string(k_default_text) + "[executors.calc]\nkind = \"function\"\n");
  const auto changed = reload(to_node);
  ASSERT_EQ(changed.size(), 1U);
  EXPECT_THAT(changed[0],
              HasSubstr("swarm 'calc' accepts no tasks and is removed when its 2 open tasks have finished"));
  const auto view = asked(to_node, "swarm_status", {{"name", "calc"}});
  EXPECT_EQ(view.at("state"), "removed");
  EXPECT_THAT(operations::json_text(view.at("problems")), HasSubstr("no longer in the config"));
  const auto refused = to_node.ask("task_submit", {{"type", "echo"}, {"swarm", "calc"}}, 10s);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "swarm_closed");
  EXPECT_FALSE(to_node.ask("swarm_resume", {{"name", "calc"}}, 10s)) << "only the config brings it back";
  EXPECT_TRUE(eventually([&] { return state_of(to_node, "calc") == "swarm_not_found"; }));
  EXPECT_EQ(state_of_task(to_node, first), "completed") << "it was not cut short";
  EXPECT_EQ(state_of_task(to_node, second), "completed") << "its agents stay until it is empty";
  EXPECT_TRUE(eventually([&] { return agents_of(to_node, "calc").empty(); }));
}

TEST_F(NodeReload, a_paused_swarm_that_leaves_the_config_takes_nothing_and_holds_its_tasks_back) {
  begin(std::string(k_default_text) + k_calc_text);
  Client to_node = client();
  asked(to_node, "swarm_pause", {{"name", "calc"}});
  const auto task = submit(to_node, "echo", "1", "calc");
  write(std::string(k_default_text) + "[executors.calc]\nkind = \"function\"\n");
  const auto stays = ElementsAre(
      "swarm 'calc' is no longer in the config: it is stopped, accepts no tasks and keeps its 1 open tasks on hold; "
      "'skein swarm resume calc' runs them, then the swarm is removed");
  EXPECT_THAT(reload(to_node), stays);
  EXPECT_THAT(reload(to_node), stays) << "and with the next";
  EXPECT_EQ(state_of(to_node, "calc"), "stopped");
  EXPECT_FALSE(to_node.ask("task_submit", {{"type", "echo"}, {"swarm", "calc"}}, 10s)) << "it takes nothing new";
  EXPECT_EQ(state_of_task(to_node, task), "queued");
  asked(to_node, "swarm_resume", {{"name", "calc"}});
  EXPECT_FALSE(to_node.ask("task_submit", {{"type", "echo"}, {"swarm", "calc"}}, 10s))
      << "it only finishes what it has";
  EXPECT_TRUE(eventually([&] { return state_of(to_node, "calc") == "swarm_not_found"; }));
  EXPECT_EQ(state_of_task(to_node, task), "completed");
}

TEST_F(NodeReload, a_swarm_that_is_declared_again_goes_on) {
  begin(std::string(k_default_text) + k_calc_text);
  Client to_node = client();
  const auto task = submit(to_node, "sleep", "1000", "calc");
  write(k_default_text + std::string("[executors.calc]\nkind = \"function\"\n"));
  (void)reload(to_node);
  ASSERT_EQ(state_of(to_node, "calc"), "removed");
  write(std::string(k_default_text) + k_calc_text);
  EXPECT_THAT(reload(to_node), ElementsAre("swarm 'calc'"));
  EXPECT_EQ(state_of(to_node, "calc"), "active");
  EXPECT_TRUE(eventually([&] { return state_of_task(to_node, task) == "completed"; }));
}

TEST_F(NodeReload, a_restart_ends_swarms_that_no_config_names) {
  begin(std::string(k_default_text) + k_calc_text);
  {
    Client to_node = client();
  }
  stop();
  begin(k_default_text);
  Client to_node = client();
  EXPECT_TRUE(eventually([&] { return state_of(to_node, "calc") == "swarm_not_found"; }));
}

TEST_F(NodeReload, the_default_swarm_stays_and_loses_its_agents) {
  begin(std::string(k_default_text) + k_calc_text);
  Client to_node = client();
  ASSERT_TRUE(eventually([&] { return agents_of(to_node, "default").size() == 1; }));
  write(k_calc_text);
  const auto changed = reload(to_node);
  ASSERT_EQ(changed.size(), 1U);
  EXPECT_THAT(changed[0], HasSubstr("swarm 'default' no longer has an executor"));
  EXPECT_EQ(state_of(to_node, "default"), "active");
  EXPECT_TRUE(eventually([&] { return agents_of(to_node, "default").empty(); }));
  write(std::string(k_default_text) + k_calc_text);
  (void)reload(to_node);
  EXPECT_TRUE(eventually([&] { return agents_of(to_node, "default").size() == 1; }));
}

TEST_F(NodeReload, takes_over_new_executors_and_replaces_agents_of_changed_ones_once_idle) {
  begin(std::string(k_default_text) + "[[agents]]\nid = \"ada\"\n");
  Client to_node = client();
  const std::string with =
      std::string(k_default_text) + k_calc_text + "[[agents]]\nid = \"ada\"\nexecutor = \"calc\"\n";
  write(with);
  EXPECT_THAT(reload(to_node), ElementsAre("executor 'calc' added", "swarm 'calc'", "agent 'ada' started"));
  ASSERT_TRUE(eventually([&] { return agents_of(to_node, "calc").size() == 1; }));
  const std::string old = agents_of(to_node, "calc").at(0);
  const auto task = submit(to_node, "sleep", "1500", "calc");
  ASSERT_TRUE(eventually([&] { return state_of_task(to_node, task) == "executing"; }));
  std::string other = with;
  other.replace(other.find("kind = \"function\""), 17, "kind = \"function\"\nfunctions = [\"echo\"]");
  write(other);
  EXPECT_THAT(reload(to_node), ElementsAre(HasSubstr("executor 'calc' changed"), "agent 'ada' started"));
  EXPECT_TRUE(eventually([&] {
    const auto now = agents_of(to_node, "calc");
    return now.size() == 1 && now[0] != old;
  }));
  const auto status = asked(to_node, "task_status", {{"id", task}});
  EXPECT_EQ(status.at("state"), "completed");
  EXPECT_EQ(status.at("attempts"), 1) << "what ran was not killed";
}

TEST_F(NodeReload, replaces_the_dispatcher_for_other_options_and_names_what_needs_a_restart) {
  begin(k_default_text);
  Client to_node = client();
  const auto task = submit(to_node, "sleep", "1200", "default");
  ASSERT_TRUE(eventually([&] { return state_of_task(to_node, task) == "executing"; }));
  write(std::string(k_default_text) +
        "[dispatch]\nfunction_timeout = \"200ms\"\nheartbeat_every = \"500ms\"\n[dispatch.retry]\nfirst = \"1s\"\n"
        "[operations]\nwait_max = \"20s\"\n");
  const auto answer = asked(to_node, "reload");
  EXPECT_EQ(operations::json_text(answer.at("changed")), R"(["dispatch"])");
  EXPECT_EQ(operations::json_text(answer.at("needs_restart")),
            R"(["[dispatch] heartbeat_every","[operations] wait_max"])");
  EXPECT_TRUE(eventually([&] { return state_of_task(to_node, task) == "completed"; })) << "it ran on, with its timeout";
  const auto late = asked(to_node, "task_submit", {{"type", "sleep"}, {"params", "5000"}, {"attempts", 1}});
  EXPECT_TRUE(eventually([&] { return state_of_task(to_node, std::string(late.at("id").as_string())) == "failed"; }))
      << "the new timeout of functions counts";
}

TEST_F(NodeReload, an_agent_that_was_stopped_is_shown_and_started_again) {
  const std::string text = std::string(k_default_text) + "[[agents]]\nid = \"ada\"\ncapabilities = [\"count\"]\n";
  begin(text);
  Client to_node = client();
  ASSERT_TRUE(eventually([&] { return status_of(to_node, "ada") == "idle"; }));
  asked(to_node, "agent_stop", {{"id", "ada"}});
  ASSERT_TRUE(eventually([&] { return status_of(to_node, "ada") == "stopped"; }));
  const auto able = asked(to_node, "agent_list", {{"capabilities", json::array{"count"}}}).at("agents").as_array();
  ASSERT_EQ(able.size(), 1U);
  EXPECT_EQ(able[0].at("status"), "stopped");
  asked(to_node, "agent_start", {{"id", "ada"}});
  EXPECT_TRUE(eventually([&] { return status_of(to_node, "ada") == "idle"; }));
  EXPECT_THAT(to_node.ask("agent_start", {{"id", "ada"}}, 10s).error().message, HasSubstr("is already running"));
  EXPECT_THAT(to_node.ask("agent_start", {{"id", "nobody"}}, 10s).error().message, HasSubstr("no agent 'nobody'"));
  asked(to_node, "agent_stop", {{"id", "ada"}});
  ASSERT_TRUE(eventually([&] { return status_of(to_node, "ada") == "stopped"; }));
  EXPECT_THAT(reload(to_node), ElementsAre("agent 'ada' started again"));
  EXPECT_TRUE(eventually([&] { return status_of(to_node, "ada") == "idle"; }));
}

TEST_F(NodeReload, an_agent_that_was_stopped_stays_so_when_its_supervisor_is_restarted) {
  begin(std::string(k_default_text) + "[[agents]]\nid = \"ada\"\n[[agents]]\nid = \"bob\"\n");
  Client to_node = client();
  const auto are = [&](const std::string& ada, const std::string& bob) {
    return eventually([&] { return status_of(to_node, "ada") == ada && status_of(to_node, "bob") == bob; });
  };
  ASSERT_TRUE(are("idle", "idle"));
  asked(to_node, "agent_stop", {{"id", "ada"}});
  ASSERT_TRUE(are("stopped", "idle"));
  const auto bob = asked(to_node, "agent_status", {{"id", "bob"}}).at("pid");
  asked(to_node, "chaos_kill", {{"target", "named_agents"}});
  ASSERT_TRUE(eventually([&] {
    const auto now = to_node.ask("agent_status", {{"id", "bob"}}, 10s);
    return now && now->at("status") == "idle" && now->at("pid") != bob;
  }));
  EXPECT_TRUE(are("stopped", "idle"));
  asked(to_node, "agent_start", {{"id", "ada"}});
  EXPECT_TRUE(are("idle", "idle"));
}

TEST_F(NodeReload, a_pause_ends_with_the_agent_that_was_paused) {
  begin(std::string(k_default_text));
  Client to_node = client();
  const auto makes_one = [&] {
    asked(to_node, "swarm_create", {{"name", "z"}, {"executor", "function"}, {"min", 1}, {"max", 1}});
    return eventually([&] { return agents_of(to_node, "z").size() == 1; });
  };
  ASSERT_TRUE(makes_one());
  const std::string agent = agents_of(to_node, "z").front();
  asked(to_node, "agent_pause", {{"id", agent}});
  ASSERT_TRUE(eventually([&] { return status_of(to_node, agent) == "paused"; }));
  asked(to_node, "swarm_stop", {{"name", "z"}});
  ASSERT_TRUE(eventually([&] { return agents_of(to_node, "z").empty(); }));
  asked(to_node, "swarm_remove", {{"name", "z"}});
  // The old coordinator would go on counting its agents.
  ASSERT_TRUE(eventually([&] { return !to_node.ask("describe", {{"target", "swarm/z"}}, 10s); }));
  ASSERT_TRUE(makes_one());
  EXPECT_EQ(agents_of(to_node, "z").front(), agent) << "of the same name";
  EXPECT_TRUE(eventually([&] { return status_of(to_node, agent) == "idle"; }));
}

TEST_F(NodeReload, a_task_whose_only_able_agent_is_paused_or_stopped_says_so) {
  begin(std::string(k_default_text) +
        "[[agents]]\nid = \"ada\"\nswarm = \"default\"\ncapabilities = [\"echo\", \"extra\"]\n");
  Client to_node = client();
  ASSERT_TRUE(eventually([&] { return status_of(to_node, "ada") == "idle"; }));
  // What the submit warns of; the task says the same of itself.
  const auto why = [&]() -> std::string {
    const auto made = asked(to_node, "task_submit", {{"type", "echo"}, {"capabilities", json::array{"extra"}}});
    if (!made.as_object().contains("waits")) return "";
    EXPECT_EQ(asked(to_node, "task_status", {{"id", made.at("id")}}).at("waits"), made.at("waits"));
    return std::string(made.at("waits").as_string());
  };
  EXPECT_EQ(why(), "");
  asked(to_node, "agent_pause", {{"id", "ada"}});
  EXPECT_EQ(why(), "agent 'ada' can do it and is paused: 'skein agent resume ada'");
  asked(to_node, "agent_resume", {{"id", "ada"}});
  asked(to_node, "agent_stop", {{"id", "ada"}});
  ASSERT_TRUE(eventually([&] { return status_of(to_node, "ada") == "stopped"; }));
  EXPECT_TRUE(eventually([&] { return why() == "agent 'ada' can do it and is stopped: 'skein agent start ada'"; }))
      << "that somebody can is remembered for a second";
  asked(to_node, "swarm_pause", {{"name", "default"}});
  EXPECT_EQ(why(), "swarm 'default' is paused: 'skein swarm resume default'");
}

TEST_F(NodeReload, a_paused_agent_stays_paused_without_its_dispatcher_and_after_a_restart) {
  const std::string text = std::string(k_default_text) + "[[agents]]\nid = \"ada\"\ncapabilities = [\"count\"]\n";
  begin(text);
  {
    Client to_node = client();
    ASSERT_TRUE(eventually([&] { return to_node.ask("agent_pause", {{"id", "ada"}}, 10s).has_value(); }));
    asked(to_node, "swarm_pause", {{"name", "default"}});
    asked(to_node, "chaos_kill", {{"target", "dispatcher"}});
    EXPECT_TRUE(eventually([&] { return status_of(to_node, "ada") == "paused"; }));
  }
  stop();
  begin(text);
  Client to_node = client();
  EXPECT_TRUE(eventually([&] { return status_of(to_node, "ada") == "paused"; }));
  EXPECT_EQ(state_of(to_node, "default"), "paused");
  asked(to_node, "agent_resume", {{"id", "ada"}});
  EXPECT_TRUE(eventually([&] { return status_of(to_node, "ada") == "idle"; }));
}

TEST_F(NodeReload, follows_the_supervisors_of_the_config) {
  const std::string pair =
      "[[supervisors]]\nname = \"pair\"\n[[supervisors.child]]\nid = \"left\"\nworker = \"agent\"\n"
      "params = { id = \"left\", swarm = \"default\" }\n";
  begin(k_default_text);
  Client to_node = client();
  write(k_default_text + pair);
  EXPECT_THAT(reload(to_node), ElementsAre("supervisor 'pair' started"));
  EXPECT_TRUE(eventually([&] { return status_of(to_node, "left") == "idle"; }));
  std::string other = pair;
  other.replace(other.find("id = \"left\", swarm"), 18, "id = \"right\", swarm");
  write(k_default_text + other);
  EXPECT_THAT(reload(to_node), ElementsAre("supervisor 'pair' started"));
  EXPECT_TRUE(eventually([&] { return status_of(to_node, "right") == "idle"; }));
  EXPECT_EQ(status_of(to_node, "left"), "agent_not_found");
  asked(to_node, "chaos_kill", {{"target", "agents_sup"}});
  EXPECT_TRUE(eventually([&] { return status_of(to_node, "right") == "idle"; })) << "as the reload left it";
  write(k_default_text);
  EXPECT_THAT(reload(to_node), ElementsAre("supervisor 'pair' ended"));
  EXPECT_EQ(status_of(to_node, "right"), "agent_not_found");
}

TEST_F(NodeReload, a_child_of_the_tree_is_restarted_by_its_path) {
  begin(std::string(k_default_text) + "[[agents]]\nid = \"ada\"\n");
  Client to_node = client();
  ASSERT_TRUE(eventually([&] { return status_of(to_node, "ada") == "idle"; }));
  const auto before = asked(to_node, "agent_status", {{"id", "ada"}}).at("pid");
  asked(to_node, "tree_restart", {{"path", "agents_sup/named_agents/ada"}});
  EXPECT_TRUE(eventually([&] { return status_of(to_node, "ada") == "idle"; }));
  EXPECT_NE(asked(to_node, "agent_status", {{"id", "ada"}}).at("pid"), before);
  asked(to_node, "agent_stop", {{"id", "ada"}});
  asked(to_node, "tree_restart", {{"path", "node_sup/agents_sup/named_agents/ada"}});
  EXPECT_TRUE(eventually([&] { return status_of(to_node, "ada") == "idle"; }));
  EXPECT_EQ(to_node.ask("tree_restart", {{"path", "agents_sup/nobody"}}, 10s).error().code, "process_not_found");
}

TEST_F(NodeReload, a_child_of_a_pool_and_the_root_are_refused_with_what_to_do_instead) {
  begin(k_default_text);
  Client to_node = client();
  ASSERT_TRUE(eventually([&] { return status_of(to_node, "default-1") == "idle"; }));
  for (const char* path : {"agents_sup/agent_pool/default-1", "engine_sup/work_sup/swarms/swarm/default"}) {
    const auto refused = to_node.ask("tree_restart", {{"path", path}}, 10s).error();
    EXPECT_EQ(refused.code, "invalid") << "the tree shows " << path;
    EXPECT_THAT(refused.message, HasSubstr("belongs to a pool"));
  }
  const auto refused = to_node.ask("tree_restart", {{"path", "node_sup"}}, 10s).error();
  EXPECT_EQ(refused.code, "invalid");
  EXPECT_THAT(refused.message, HasSubstr("root of the tree"));
}

TEST_F(NodeReload, one_agent_is_changed_and_what_it_runs_cut_short) {
  begin(k_default_text);
  Client to_node = client();
  ASSERT_TRUE(eventually([&] { return status_of(to_node, "default-1") == "idle"; }));
  asked(to_node, "agent_update",
        {{"id", "default-1"}, {"prefetch", 7}, {"capabilities", json::array{"paint", "sleep"}}});
  const auto able = asked(to_node, "agent_list", {{"capabilities", json::array{"paint", "sleep"}}});
  ASSERT_EQ(able.at("agents").as_array().size(), 1U);
  EXPECT_EQ(able.at("agents").as_array()[0].at("slots"), 8);
  EXPECT_FALSE(to_node.ask("agent_update", {{"id", "default-1"}, {"prefetch", 101}}, 10s));
  EXPECT_FALSE(to_node.ask("agent_update", {{"id", "default-1"}}, 10s));
  EXPECT_TRUE(asked(to_node, "agent_cancel", {{"id", "default-1"}}).at("task").is_null());
  const auto task = submit(to_node, "sleep", "30000", "default");
  ASSERT_TRUE(eventually([&] { return state_of_task(to_node, task) == "executing"; }));
  EXPECT_EQ(std::string(asked(to_node, "agent_cancel", {{"id", "default-1"}}).at("task").as_string()), task);
  EXPECT_TRUE(eventually([&] { return state_of_task(to_node, task) == "failed"; }));
}

TEST_F(NodeReload, what_names_no_swarm_field_or_swarm_is_refused) {
  begin(k_default_text);
  Client to_node = client();
  const auto no_swarm = to_node.ask("agent_spawn", {{"executor", "function"}, {"swarm", "nope"}}, 10s);
  ASSERT_FALSE(no_swarm);
  EXPECT_EQ(no_swarm.error().code, "swarm_not_found");
  EXPECT_THAT(no_swarm.error().message + no_swarm.error().advice, HasSubstr("there are default"));
  const auto no_field = to_node.ask("swarm_create", {{"name", "s3"}, {"fields", {{"foo", "1"}}}}, 10s);
  ASSERT_FALSE(no_field);
  EXPECT_THAT(no_field.error().message, HasSubstr("unknown member 'foo'"));
  asked(to_node, "swarm_create", {{"name", "s3"}, {"fields", {{"executor", "function"}, {"min", "1"}}}});
  const auto too_many = to_node.ask("swarm_scale", {{"name", "s3"}, {"min", 1}, {"max", 200'000}}, 10s);
  ASSERT_FALSE(too_many);
  EXPECT_THAT(too_many.error().message, HasSubstr("from 1 to 100000"));
  EXPECT_FALSE(to_node.ask("swarm_override", {{"name", "s3"}, {"fields", {{"min", "300"}, {"max", "2"}}}}, 10s));
}

}  // namespace
}  // namespace skein::inline v0::node
