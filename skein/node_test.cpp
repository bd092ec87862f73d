#include "skein/node.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <filesystem>
#include <future>
#include <mutex>
#include <thread>

#include "skein/control/client.hpp"
#include "skein/net/tcp_socket.hpp"
#include "skein/runtime/runtime.hpp"
#include "skein/runtime/testing.hpp"

namespace skein::inline v0 {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using tests::eventually;
using Kind = NodeError::Kind;

constexpr Duration k_long = 20s;

std::expected<std::string, TaskFailure> twice(const TaskInput& task) {
  int number = 0;
  const char* const end = task.params.data() + task.params.size();
  if (std::from_chars(task.params.data(), end, number).ptr != end) {
    return std::unexpected(TaskFailure{"'" + std::string(task.params) + "' is no number", true});
  }
  return std::to_string(2 * number);
}

// What a call threw; the test fails when it threw nothing.
template <class Call>
NodeError error_of(Call call) {
  try {
    call();
  } catch (const NodeError& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return {Kind::internal, "nothing was thrown"};
}

class EmbeddedNode : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              (std::string("skein-embedded-") + testing::UnitTest::GetInstance()->current_test_info()->name() + "-" +
               std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] NodeConfig config() const {
    NodeConfig made;
    made.data = folder_.string();
    made.settings = {"swarms.default.min=2", "swarms.default.max=4"};
    made.functions["twice"] = twice;
    made.log = [](std::string_view, std::string_view) {};
    return made;
  }

  std::filesystem::path folder_;
};

TEST_F(EmbeddedNode, does_a_task_with_a_function_of_the_program) {
  Node node = Node::start(config());
  EXPECT_TRUE(node.is_running());
  const SubmittedTask task = node.submit({.type = "twice", .params = "21"});
  EXPECT_FALSE(task.is_existing);
  const TaskReport done = node.wait(task.id, k_long);
  EXPECT_EQ(done.id, task.id);
  EXPECT_EQ(done.state, TaskState::completed);
  EXPECT_TRUE(done.is_finished());
  EXPECT_EQ(done.result, "42");
  EXPECT_THAT(done.agent, HasSubstr("default"));
  EXPECT_TRUE(node.stop());
  EXPECT_FALSE(node.is_running());
}

TEST_F(EmbeddedNode, reports_a_task_that_failed_with_the_words_of_the_function) {
  Node node = Node::start(config());
  const TaskReport failed = node.wait(node.submit({.type = "twice", .params = "\"x\""}).id, k_long);
  EXPECT_EQ(failed.state, TaskState::failed);
  EXPECT_EQ(failed.message, "'\"x\"' is no number");
  EXPECT_EQ(failed.attempts_failed, 1U) << "a permanent failure is not tried again";
}

TEST_F(EmbeddedNode, tries_again_what_failed_for_the_moment_and_tells_the_function_which_attempt_it_is) {
  NodeConfig with = config();
  with.functions["later"] = [](const TaskInput& task) -> std::expected<std::string, TaskFailure> {
    if (task.attempt < 2) return std::unexpected(TaskFailure{"not yet"});
    return std::to_string(task.attempt);
  };
  Node node = Node::start(std::move(with));
  EXPECT_EQ(node.wait(node.submit({.type = "later"}).id, k_long).result, "2");
}

TEST_F(EmbeddedNode, refuses_what_makes_no_sense_and_says_why) {
  Node node = Node::start(config());
  const NodeError swarm = error_of([&] { std::ignore = node.submit({.type = "twice", .swarm = "gesse"}); });
  EXPECT_EQ(swarm.kind(), Kind::not_found);
  EXPECT_THAT(swarm.what(), HasSubstr("gesse"));
  const NodeError params = error_of([&] { std::ignore = node.submit({.type = "twice", .params = "{"}); });
  EXPECT_EQ(params.kind(), Kind::invalid) << params.what();
  const NodeError id = error_of([&] { std::ignore = node.wait("7", k_long); });
  EXPECT_EQ(id.kind(), Kind::invalid);
  EXPECT_THAT(id.what(), HasSubstr("'7' is no id of a task"));
  const std::string nobodys = "01a1e8f6-081c-7ae2-ad78-0f7ee80c7fea";
  EXPECT_EQ(error_of([&] { std::ignore = node.wait(nobodys, k_long); }).kind(), Kind::not_found);
  EXPECT_EQ(error_of([&] { std::ignore = node.status(nobodys); }).kind(), Kind::not_found);
}

TEST_F(EmbeddedNode, ends_a_wait_when_its_time_is_up_and_says_how_the_task_stands) {
  Node node = Node::start(config());
  const SubmittedTask task = node.submit({.type = "twice", .params = "1", .delay = 1h});
  const NodeError late = error_of([&] { std::ignore = node.wait(task.id, 50ms); });
  EXPECT_EQ(late.kind(), Kind::timed_out);
  EXPECT_THAT(late.what(), HasSubstr("task " + task.id + " is still waiting"));
  const TaskReport now = node.status(task.id);
  EXPECT_EQ(now.state, TaskState::waiting);
  EXPECT_FALSE(now.waits.empty());
  node.cancel(task.id, "nobody needs it");
  const TaskReport ended = node.wait(task.id, k_long);
  EXPECT_EQ(ended.state, TaskState::cancelled);
  EXPECT_THAT(ended.message, HasSubstr("nobody needs it"));
  EXPECT_EQ(error_of([&] { node.cancel(task.id); }).kind(), Kind::refused);
}

TEST_F(EmbeddedNode, answers_a_wait_when_another_thread_stops_the_node) {
  Node node = Node::start(config());
  const std::string id = node.submit({.type = "twice", .params = "1", .delay = 1h}).id;
  std::atomic<bool> is_waiting = false;
  auto waiting = std::async(std::launch::async, [&] {
    is_waiting = true;
    return error_of([&] { std::ignore = node.wait(id, 10min); });
  });
  ASSERT_TRUE(eventually([&] { return is_waiting.load(); }));
  EXPECT_TRUE(node.stop(0s));
  const NodeError stopped = waiting.get();
  EXPECT_EQ(stopped.kind(), Kind::stopped) << stopped.what();
  EXPECT_EQ(error_of([&] { std::ignore = node.submit({.type = "twice"}); }).kind(), Kind::stopped);
  EXPECT_EQ(error_of([&] { std::ignore = node.wait(id, k_long); }).kind(), Kind::stopped);
  EXPECT_TRUE(node.stop()) << "a second stop answers as the first";
}

TEST_F(EmbeddedNode, answers_a_wait_when_an_operation_stops_the_node) {
  Node node = Node::start(config());
  const std::string id = node.submit({.type = "twice", .params = "1", .delay = 1h}).id;
  auto waiting = std::async(std::launch::async, [&] { return error_of([&] { std::ignore = node.wait(id, 10min); }); });
  auto client = control::Client::connect(folder_.string());
  ASSERT_TRUE(client) << client.error().message;
  std::ignore = client->ask("stop", {}, 10s);
  EXPECT_EQ(waiting.get().kind(), Kind::stopped);
  ASSERT_TRUE(eventually([&] { return !node.is_running(); }));
  EXPECT_THAT(error_of([&] { std::ignore = node.status(id); }).what(), HasSubstr("it was asked to stop"));
}

TEST_F(EmbeddedNode, waits_on_while_its_supervisors_restart_the_engine) {
  Node node = Node::start(config());
  const std::string id = node.submit({.type = "twice", .params = "4", .delay = 700ms}).id;
  auto waiting = std::async(std::launch::async, [&] { return node.wait(id, k_long).result; });
  const auto engine = [&] {
    for (const ProcessInfo& each : node.runtime().processes()) {
      if (each.type.find("JournalEngine") != std::string::npos) return each.pid;
    }
    return Pid();
  };
  const Pid first = engine();
  ASSERT_TRUE(first);
  node.runtime().exit(first, ExitReason::kill());
  EXPECT_EQ(waiting.get(), "8");
  EXPECT_NE(engine(), first);
}

TEST_F(EmbeddedNode, says_that_an_address_is_in_use) {
  const auto taken = net::listen_on({"127.0.0.1", 0}, 1);
  ASSERT_TRUE(taken);
  NodeConfig with = config();
  with.http = "127.0.0.1:" + std::to_string(net::port_of(taken->get()));
  const NodeError busy = error_of([&] { std::ignore = Node::start(with); });
  EXPECT_EQ(busy.kind(), Kind::no_address);
  EXPECT_THAT(busy.what(), HasSubstr(with.http + ": cannot listen there: Address already in use"));
  with.http = "127.0.0.1:0";
  EXPECT_TRUE(Node::start(with).is_running()) << "the folder is free again, and so is this address";
}

TEST_F(EmbeddedNode, says_who_has_the_data_folder) {
  Node node = Node::start(config());
  const NodeError locked = error_of([&] { std::ignore = Node::start(config()); });
  EXPECT_EQ(locked.kind(), Kind::folder_in_use);
  EXPECT_THAT(locked.what(), HasSubstr("is in use by pid " + std::to_string(::getpid())));
}

TEST_F(EmbeddedNode, says_what_is_wrong_with_its_config) {
  NodeConfig with = config();
  with.settings.emplace_back("node.log_levle=error");
  const NodeError wrong = error_of([&] { std::ignore = Node::start(with); });
  EXPECT_EQ(wrong.kind(), Kind::bad_config);
  EXPECT_THAT(wrong.what(), HasSubstr("log_levle"));
}

TEST_F(EmbeddedNode, says_when_its_folder_cannot_be_used) {
  NodeConfig with = config();
  with.data = "/dev/null/data";
  EXPECT_EQ(error_of([&] { std::ignore = Node::start(with); }).kind(), Kind::folder_unusable);
}

TEST_F(EmbeddedNode, finds_its_tasks_again_after_a_restart_and_by_their_key) {
  std::string done;
  std::string open;
  {
    Node node = Node::start(config());
    done = node.submit({.type = "twice", .params = "3"}).id;
    EXPECT_EQ(node.wait(done, k_long).result, "6");
    open = node.submit({.type = "twice", .params = "5", .key = "once", .delay = 1h}).id;
  }
  Node node = Node::start(config());
  EXPECT_EQ(node.wait(done, k_long).result, "6");
  EXPECT_EQ(node.status(open).state, TaskState::waiting);
  const SubmittedTask again = node.submit({.type = "twice", .params = "5", .key = "once"});
  EXPECT_EQ(again.id, open);
  EXPECT_TRUE(again.is_existing);
  const Node moved = std::move(node);
  EXPECT_TRUE(moved.is_running());
}

TEST_F(EmbeddedNode, tells_its_log_with_levels) {
  std::mutex mutex;
  std::string lines;
  NodeConfig with = config();
  with.log = [&](std::string_view level, std::string_view line) {
    const std::scoped_lock lock(mutex);
    lines += std::string(level) + ": " + std::string(line) + "\n";
  };
  {
    const Node node = Node::start(std::move(with));
  }
  EXPECT_THAT(lines, HasSubstr("info: journal open at position "));
}

TEST(NodeErrorKind, has_a_name_each) {
  EXPECT_EQ(name_of(Kind::bad_config), "bad_config");
  EXPECT_EQ(name_of(Kind::timed_out), "timed_out");
  EXPECT_EQ(name_of(Kind::internal), "internal");
}

}  // namespace
}  // namespace skein::inline v0
