// A real node: tasks for one of its agents, and what its dispatcher has learned.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "skein/node/test_node.hpp"

namespace skein::inline v0::node {
namespace {

using namespace std::chrono_literals;
using control::Client;
using testing::HasSubstr;
using tests::eventually;
namespace json = boost::json;

class NodePlacement : public NodeTest {};

constexpr const char* k_with_ada =
    "[swarms.default]\nmin = 2\nmax = 4\n[[agents]]\nid = \"ada\"\n[dispatch]\nlearned_every = \"1s\"\n";

TEST_F(NodePlacement, a_task_for_an_agent_runs_there_or_says_why_it_waits) {
  start(k_with_ada);
  Client to_node = client();
  const auto run = [&](json::object request) {
    request["type"] = "echo";
    request["params"] = "1";
    const auto made = asked(to_node, "task_submit", request);
    return asked(to_node, "task_wait", {{"id", made.at("id")}, {"timeout_ms", 15'000}}).at("task");
  };
  for (int i = 0; i < 5; ++i) EXPECT_EQ(run({{"agent", "ada"}}).at("agent"), "ada");
  const auto refused = to_node.ask("task_submit", {{"type", "echo"}, {"agent", "adda"}}, 5s);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "agent_not_found");
  EXPECT_THAT(refused.error().message, HasSubstr("did you mean 'ada'?"));
  ASSERT_TRUE(eventually([&] { return to_node.ask("agent_pause", {{"id", "ada"}}, 5s).has_value(); }));
  const auto waiting = asked(to_node, "task_submit", {{"type", "echo"}, {"agent", "ada"}});
  const auto shown = asked(to_node, "task_status", {{"id", waiting.at("id")}});
  EXPECT_EQ(shown.at("state"), "queued");
  EXPECT_EQ(shown.at("for_agent"), "ada");
  EXPECT_THAT(std::string(shown.at("waits").as_string()), HasSubstr("no other agent may have it"));
  const auto fallen = run({{"agent", "ada"}, {"agent_fallback", "any"}, {"agent_wait_ms", 50}});
  EXPECT_EQ(fallen.at("state"), "completed");
  EXPECT_NE(fallen.at("agent"), "ada");
  EXPECT_GT(fallen.at("unpinned_at").to_number<std::uint64_t>(), 0U);
  EXPECT_EQ(run({{"agent", "nobody"}, {"agent_fallback", "any"}, {"agent_wait_ms", 50}}).at("state"), "completed");
  asked(to_node, "agent_resume", {{"id", "ada"}});
  const auto done = asked(to_node, "task_wait", {{"id", waiting.at("id")}, {"timeout_ms", 15'000}}).at("task");
  EXPECT_EQ(done.at("agent"), "ada");
  EXPECT_FALSE(done.as_object().contains("waits"));
}

// Falls with each outcome that is learned from, and is part of the table.
double share_of_exploring(const std::filesystem::path& folder) {
  std::ifstream in(folder / "learned");
  std::string line;
  while (std::getline(in, line)) {
    if (line.starts_with("explore ")) return std::stod(line.substr(8));
  }
  return -1;
}

TEST_F(NodePlacement, what_was_learned_survives_the_dispatcher_and_the_node) {
  start(k_with_ada);
  const auto run_some = [&] {
    Client to_node = client();
    for (int i = 0; i < 20; ++i) EXPECT_EQ(run_task(to_node, "echo", "1").at("state"), "completed");
  };
  run_some();
  const Pid first = runtime_->whereis("dispatcher");
  runtime_->exit(first, ExitReason::kill());
  ASSERT_TRUE(eventually([&] { return runtime_->whereis("dispatcher") && runtime_->whereis("dispatcher") != first; }));
  run_some();
  stop();
  const double after_40 = share_of_exploring(folder_);
  ASSERT_GT(after_40, 0);
  EXPECT_NEAR(after_40, 0.1 * std::pow(0.999, 40), 1e-9) << "what the killed one had learned is in it";
  start(k_with_ada);
  run_some();
  stop();
  EXPECT_NEAR(share_of_exploring(folder_), 0.1 * std::pow(0.999, 60), 1e-9);
}

TEST_F(NodePlacement, a_damaged_learned_table_is_begun_afresh) {
  std::filesystem::create_directories(folder_);
  {
    std::ofstream(folder_ / "learned") << "skein-learned 1 nonsense";
  }
  start(k_with_ada);
  Client to_node = client();
  EXPECT_EQ(run_task(to_node, "echo", "1").at("state"), "completed");
  stop();
  EXPECT_NEAR(share_of_exploring(folder_), 0.0999, 1e-9);
}

}  // namespace
}  // namespace skein::inline v0::node
