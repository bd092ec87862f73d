#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skein/mcp/node_catalog.hpp"
#include "skein/mcp/test_core.hpp"

namespace skein::inline v0::mcp {
namespace {

using testing::HasSubstr;

constexpr std::int64_t k_noon = 1'785'240'000'000;  // 2026-07-28, UTC

class TasksTest : public CoreTest {
 protected:
  TasksTest() {
    catalog_ = make_node_catalog();
    catalog_->add(Tool{"breaks",
                       "",
                       "Its answer is an error of the protocol",
                       json::parse(R"({"type":"object"})"),
                       {},
                       {},
                       [](Exchange& exchange) { exchange.become_task("t9"); },
                       "",
                       {TaskSupport::Mode::required, [](const json::object&) -> std::expected<json::object, RpcError> {
                          return std::unexpected(RpcError{k_internal_error, "broken", nullptr});
                        }}});
  }
  static json::object declared(json::object params = {}) {
    return modern(std::move(params), {{"extensions", {{k_tasks_extension, json::object()}}}});
  }
  static json::object task(std::string_view state, json::object more = {}) {
    json::object all{{"id", "t1"},           {"state", state},    {"type", "echo"},         {"swarm", "default"},
                     {"attempts", 0},        {"attempts_max", 4}, {"submitted_at", k_noon}, {"params", nullptr},
                     {"failed_attempts", {}}};
    for (auto& each : more) all[each.key()] = std::move(each.value());
    return all;
  }
  void node_says(const json::value& value, NodeAnswer::Kind kind = NodeAnswer::Kind::ok) {
    core().answered(outlet_.asked.back().call, {kind, value});
  }
  json::object last() { return outlet_.sent.back().message; }
  // The handle of a task that was just submitted.
  std::string submitted(const json::object& as = task("queued")) {
    ask(++last_id_, "tools/call", declared({{"name", "task_submit"}, {"arguments", {{"type", "echo"}}}}));
    node_says(json::object{{"id", "t1"}, {"state", "queued"}});
    node_says(as);
    return text_in(last().at("result").as_object(), "taskId");
  }
  json::object got(const std::string& handle, const json::value& answer, NodeAnswer::Kind kind = NodeAnswer::Kind::ok) {
    ask(++last_id_, "tasks/get", declared({{"taskId", handle}}));
    node_says(answer, kind);
    return last();
  }
};

TEST_F(TasksTest, are_offered_to_modern_clients_only) {
  EXPECT_TRUE(
      result("server/discover", modern()).at("capabilities").at("extensions").as_object().contains(k_tasks_extension));
  EXPECT_FALSE(initialize().at("capabilities").as_object().contains("extensions"));
}

TEST_F(TasksTest, are_handed_out_when_the_node_has_them_and_not_before) {
  ask(1, "tools/call", declared({{"name", "task_submit"}, {"arguments", {{"type", "echo"}}}}));
  EXPECT_TRUE(outlet_.sent.empty()) << "the node has not said yet that it is durable";
  EXPECT_EQ(outlet_.asked.back().op, "task_submit");
  node_says(json::object{{"id", "t1"}, {"state", "queued"}});
  EXPECT_EQ(outlet_.asked.back().op, "task_status");
  node_says(task("queued"));
  const json::object result = last().at("result").as_object();
  EXPECT_EQ(result.at("resultType"), "task");
  EXPECT_EQ(result.at("status"), "working");
  EXPECT_EQ(result.at("createdAt"), "2026-07-28T12:00:00.000Z");
  EXPECT_EQ(result.at("ttlMs"), k_task_ttl.count());
  EXPECT_EQ(result.at("pollIntervalMs"), k_task_poll.count());
  for (const char* wrong : {"result", "error", "inputRequests", "task", "requestState", "content"}) {
    EXPECT_FALSE(result.contains(wrong)) << wrong;
  }
}

TEST_F(TasksTest, never_reach_who_did_not_declare_them) {
  const json::object call{{"name", "task_submit"}, {"arguments", {{"type", "echo"}}}};
  for (const json::object& capabilities : {json::object(), json::object{{"extensions", json::object()}},
                                           json::object{{"extensions", {{k_tasks_extension, true}}}}}) {
    ask(++last_id_, "tools/call", modern(call, capabilities));
    node_says(json::object{{"id", "t1"}, {"state", "queued"}});
    EXPECT_EQ(last().at("result").at("resultType"), "complete");
    EXPECT_EQ(last().at("result").at("structuredContent").at("id"), "t1");
  }
  initialize(k_legacy_version, {{"extensions", {{k_tasks_extension, json::object()}}}});
  ask(++last_id_, "tools/call", call);
  node_says(json::object{{"id", "t1"}, {"state", "queued"}});
  EXPECT_EQ(last().at("result").at("structuredContent").at("id"), "t1");
}

TEST_F(TasksTest, tell_a_refused_submit_as_the_tools_error) {
  ask(1, "tools/call", declared({{"name", "task_submit"}, {"arguments", {{"type", "echo"}}}}));
  node_says(json::object{{"code", "queue_full"}, {"message", "too many"}}, NodeAnswer::Kind::error);
  EXPECT_EQ(last().at("result").at("isError"), true);
  EXPECT_EQ(last().at("result").at("resultType"), "complete");
}

TEST_F(TasksTest, map_every_state_of_the_ledger) {
  const std::string handle = submitted();
  for (const char* open : {"queued", "assigned", "executing", "blocked"}) {
    const json::object whole = got(handle, task(open)).at("result").as_object();
    EXPECT_EQ(whole.at("status"), "working") << open;
    EXPECT_EQ(whole.at("resultType"), "complete");
    EXPECT_FALSE(whole.contains("result"));
  }
  const json::object done =
      got(handle, task("completed", {{"result", {{"n", 7}}}, {"finished_at", k_noon + 1500}})).at("result").as_object();
  EXPECT_EQ(done.at("status"), "completed");
  EXPECT_EQ(done.at("taskId"), json::value(handle));
  EXPECT_EQ(done.at("lastUpdatedAt"), "2026-07-28T12:00:01.500Z");
  EXPECT_EQ(done.at("result").at("structuredContent").at("result").at("n"), 7);
  EXPECT_FALSE(done.at("result").as_object().contains("isError"));
  const json::object failed = got(handle, task("failed", {{"message", "no luck"}})).at("result").as_object();
  EXPECT_EQ(failed.at("status"), "completed") << "the tool has run and says how it went";
  EXPECT_EQ(failed.at("result").at("isError"), true);
  EXPECT_THAT(text_of(failed.at("result").as_object()), HasSubstr("no luck"));
  const json::object cancelled = got(handle, task("cancelled", {{"message", "enough"}})).at("result").as_object();
  EXPECT_EQ(cancelled.at("status"), "cancelled");
  EXPECT_EQ(cancelled.at("statusMessage"), "enough");
  EXPECT_FALSE(cancelled.contains("result"));
  const json::object waits = got(handle, task("awaiting_approval")).at("result").as_object();
  EXPECT_EQ(waits.at("status"), "input_required");
  EXPECT_EQ(waits.at("inputRequests").at("approval").at("method"), "elicitation/create");
}

TEST_F(TasksTest, fail_only_when_the_call_would_have_been_an_error_of_the_protocol) {
  ask(1, "tools/call", declared({{"name", "breaks"}}));
  node_says(task("completed"));
  EXPECT_EQ(last().at("result").at("status"), "failed");
  EXPECT_FALSE(last().at("result").as_object().contains("error")) << "told by tasks/get";
  const json::object whole = got(text_in(last().at("result").as_object(), "taskId"), task("completed"));
  EXPECT_EQ(whole.at("result").at("error").at("code"), k_internal_error);
  EXPECT_FALSE(whole.at("result").as_object().contains("result"));
}

TEST_F(TasksTest, are_known_to_who_holds_the_handle_and_to_nobody_else) {
  const std::string handle = submitted();
  const std::size_t asked = outlet_.asked.size();
  std::string forged = handle;
  forged[4] = forged[4] == 'A' ? 'B' : 'A';
  const Sealer same("a key for tests");
  operations::Principal she;
  she.kind = operations::Principal::Kind::token;
  she.name = "she";
  for (const std::string& bad :
       {std::string("t1"), std::string(), forged, handle + "A", same.seal("session", "t1 task_submit local"),
        same.seal("task", "t1 task_list local"), same.seal("task", "t1"), seal_task(same, {"t1", "task_submit"}, she),
        seal_task(Sealer("another key"), {"t1", "task_submit"}, *operations::the_owner())}) {
    for (const char* method : {"tasks/get", "tasks/cancel", "tasks/update"}) {
      EXPECT_EQ(error_code(method, declared({{"taskId", bad}, {"inputResponses", json::object()}})), k_invalid_params)
          << method << bad;
    }
  }
  EXPECT_EQ(error_code("tasks/get", declared()), k_invalid_params);
  EXPECT_EQ(outlet_.asked.size(), asked) << "the node was not bothered";
  new_core();
  EXPECT_EQ(got(handle, task("queued")).at("result").at("status"), "working") << "after a restart";
  EXPECT_EQ(got(handle, json::object{{"code", "task_not_found"}}, NodeAnswer::Kind::error).at("error").at("code"),
            k_invalid_params);
  EXPECT_EQ(got(handle, json::object{{"code", "stopped"}, {"message", "away"}}, NodeAnswer::Kind::error)
                .at("error")
                .at("code"),
            k_internal_error);
}

TEST_F(TasksTest, need_the_capability_on_every_request) {
  const std::string handle = submitted();
  for (const char* method : {"tasks/get", "tasks/cancel", "tasks/update"}) {
    const json::object error = answer(method, modern({{"taskId", handle}})).at("error").as_object();
    EXPECT_EQ(error.at("code"), k_missing_capability) << method;
    EXPECT_EQ(outlet_.sent.back().status, 400);
    EXPECT_TRUE(error.at("data").at("requiredCapabilities").at("extensions").as_object().contains(k_tasks_extension));
  }
  EXPECT_EQ(error_code("tools/call", modern({{"name", "breaks"}})), k_missing_capability);
  EXPECT_EQ(error_code("subscriptions/listen", modern({{"notifications", {{"taskIds", json::array{handle}}}}})),
            k_missing_capability);
  for (const char* gone : {"tasks/result", "tasks/list"}) EXPECT_EQ(error_code(gone, declared()), k_method_not_found);
  initialize();
  EXPECT_EQ(result("tools/call", {{"name", "breaks"}}).at("isError"), true);
  EXPECT_EQ(error_code("tasks/get", {{"taskId", handle}}), k_method_not_found);
}

TEST_F(TasksTest, are_cancelled_once_and_acknowledged_again) {
  const std::string handle = submitted();
  const auto cancelled = [&](const json::value& answer, NodeAnswer::Kind kind) {
    ask(++last_id_, "tasks/cancel", declared({{"taskId", handle}}));
    EXPECT_EQ(outlet_.asked.back().op, "task_cancel");
    EXPECT_EQ(outlet_.asked.back().params.at("id"), "t1");
    node_says(answer, kind);
    return last();
  };
  for (const auto& [answer, kind] :
       {std::pair{json::value{{"state", "cancelled"}}, NodeAnswer::Kind::ok},
        std::pair{json::value{{"code", "already_finished"}, {"message", "it is"}}, NodeAnswer::Kind::error}}) {
    const json::object ack = cancelled(answer, kind).at("result").as_object();
    EXPECT_EQ(ack.at("resultType"), "complete");
    EXPECT_EQ(ack.size(), 2U) << "that and _meta";
  }
  EXPECT_EQ(cancelled(json::object{{"code", "task_not_found"}}, NodeAnswer::Kind::error).at("error").at("code"),
            k_invalid_params);
  EXPECT_EQ(cancelled(json::object{{"code", "overloaded"}}, NodeAnswer::Kind::error).at("error").at("code"),
            k_internal_error);
}

TEST_F(TasksTest, take_answers_to_nothing_they_asked_and_pass_them_over) {
  const std::string handle = submitted();
  ask(5, "tasks/update", declared({{"taskId", handle}, {"inputResponses", {{"what", json::object()}}}}));
  node_says(task("executing"));
  EXPECT_EQ(last().at("result").at("resultType"), "complete");
  ask(6, "tasks/update", declared({{"taskId", handle}, {"inputResponses", json::object()}}));
  node_says(json::object{{"code", "task_not_found"}}, NodeAnswer::Kind::error);
  EXPECT_EQ(last().at("error").at("code"), k_invalid_params);
  EXPECT_EQ(error_code("tasks/update", declared({{"taskId", handle}})), k_invalid_params);
  EXPECT_EQ(error_code("tasks/update", declared({{"taskId", handle}, {"inputResponses", {{"a", 1}}}})),
            k_invalid_params);
}

TEST_F(TasksTest, are_told_of_to_who_listens_until_they_end) {
  const std::string handle = submitted();
  ask("l", "subscriptions/listen", declared({{"notifications", {{"taskIds", json::array{"forged", handle}}}}}));
  EXPECT_EQ(last().at("params").at("notifications").at("taskIds"), (json::array{handle}));
  EXPECT_EQ(outlet_.watched, Outlet::Watch::everything);
  node_says(task("queued"));
  EXPECT_EQ(last().at("method"), "notifications/tasks") << "how it stands is told at once";
  EXPECT_EQ(last().at("params").at("status"), "working");
  EXPECT_EQ(last().at("params").at("_meta").at(k_meta_subscription), "l");
  const std::size_t sent = outlet_.sent.size();
  core().changed({Change::Kind::task, "other"});
  core().changed({Change::Kind::task, "t1"});
  const std::size_t asked = outlet_.asked.size();
  core().changed({Change::Kind::task, "t1"});
  EXPECT_EQ(outlet_.asked.size(), asked) << "one look at a time";
  node_says(task("queued"));
  EXPECT_EQ(outlet_.sent.size(), sent) << "nothing new";
  EXPECT_EQ(outlet_.asked.size(), asked + 1) << "it changed while we looked";
  node_says(task("completed", {{"result", 1}}));
  EXPECT_EQ(last().at("params").at("status"), "completed");
  EXPECT_EQ(last().at("params").at("taskId"), json::value(handle));
  EXPECT_TRUE(last().at("params").as_object().contains("result"));
  EXPECT_EQ(outlet_.watched, Outlet::Watch::lists);
  core().changed({Change::Kind::task, "t1"});
  EXPECT_EQ(outlet_.asked.size(), asked + 1);
}

TEST_F(TasksTest, are_looked_at_again_when_changes_were_missed) {
  const std::string handle = submitted();
  ask("l", "subscriptions/listen", declared({{"notifications", {{"taskIds", json::array{handle}}}}}));
  node_says(json::object{{"code", "stopped"}}, NodeAnswer::Kind::error);
  EXPECT_EQ(last().at("method"), "notifications/subscriptions/acknowledged");
  core().lost_track();
  node_says(task("cancelled"));
  EXPECT_EQ(last().at("params").at("status"), "cancelled");
}

TEST(TaskTime, is_written_as_iso_8601) {
  EXPECT_EQ(iso_time(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(iso_time(k_noon + 3'723'004), "2026-07-28T13:02:03.004Z");
}

}  // namespace
}  // namespace skein::inline v0::mcp
