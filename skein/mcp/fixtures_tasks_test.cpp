// The fixtures that ask for input, against a node that keeps tasks by id and by key.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "skein/mcp/fixtures.hpp"
#include "skein/mcp/test_core.hpp"

namespace skein::inline v0::mcp {
namespace {

class TaskFixturesTest : public CoreTest {
 protected:
  TaskFixturesTest() { add_conformance_fixtures(*catalog_); }

  json::object asked(std::string_view method, json::object params) {
    ask(++last_id_, method,
        modern(std::move(params),
               {{"elicitation", json::object()}, {"extensions", {{k_tasks_extension, json::object()}}}}));
    while (next_ < outlet_.asked.size()) {
      const auto question = outlet_.asked[next_++];
      core().answered(question.call, node(question.op, question.params));
    }
    return outlet_.sent.back().message.at("result").as_object();
  }
  // What the ledger does with these operations, as far as the fixtures need it; work that is not delayed is done at
  // once.
  NodeAnswer node(const std::string& op, const json::object& params) {
    const std::string key = text_in(params, "key");
    if (op == "task_submit") {
      std::string id = fmt::format("t{}", tasks_.size() + 1);
      if (!key.empty() && !keys_.emplace(key, id).second) id = keys_.at(key);
      const bool is_parked = params.contains("delay_ms");
      const json::value given = json::parse(text_in(params, "params"));
      tasks_.emplace(id, json::object{{"id", id},
                                      {"state", is_parked ? "queued" : "completed"},
                                      {"submitted_at", static_cast<std::int64_t>(tasks_.size())},
                                      {"params", given},
                                      {"result", given}});
      return {NodeAnswer::Kind::ok, json::object{{"id", id}, {"state", "queued"}}};
    }
    const std::string id = key.empty() ? text_in(params, "id") : keys_.contains(key) ? keys_.at(key) : "";
    const auto found = tasks_.find(id);
    if (found == tasks_.end()) return {NodeAnswer::Kind::error, json::object{{"code", "task_not_found"}}};
    if (op == "task_cancel") {
      found->second["state"] = "cancelled";
      found->second["finished_at"] = 1;
    }
    return {NodeAnswer::Kind::ok, found->second};
  }
  static json::object yes() { return {{"action", "accept"}, {"content", {{"confirm", true}}}}; }

  std::map<std::string, json::object> tasks_;
  std::map<std::string, std::string> keys_;
  std::size_t next_ = 0;
};

TEST_F(TaskFixturesTest, keep_asking_until_all_is_answered_also_after_a_restart) {
  const json::object made = asked("tools/call", {{"name", "multi_input"}});
  ASSERT_EQ(made.at("resultType"), "task");
  const json::value handle = made.at("taskId");
  EXPECT_EQ(asked("tasks/get", {{"taskId", handle}}).at("inputRequests").as_object().size(), 2U);
  const json::object ack =
      asked("tasks/update", {{"taskId", handle}, {"inputResponses", {{"first", yes()}, {"unknown", yes()}}}});
  EXPECT_EQ(ack.at("resultType"), "complete");
  new_core();
  const json::object half = asked("tasks/get", {{"taskId", handle}});
  EXPECT_EQ(half.at("status"), "input_required");
  EXPECT_FALSE(half.at("inputRequests").as_object().contains("first"));
  EXPECT_TRUE(half.at("inputRequests").as_object().contains("second"));
  asked("tasks/update", {{"taskId", handle}, {"inputResponses", {{"second", yes()}}}});
  const json::object whole = asked("tasks/get", {{"taskId", handle}});
  EXPECT_EQ(whole.at("status"), "completed");
  EXPECT_EQ(whole.at("createdAt"), made.at("createdAt"));
  const std::size_t tasks = tasks_.size();
  asked("tasks/update", {{"taskId", handle}, {"inputResponses", {{"second", yes()}}}});
  EXPECT_EQ(tasks_.size(), tasks) << "an answer that comes again is passed over";
}

TEST_F(TaskFixturesTest, stay_cancelled_whatever_is_answered_then) {
  const json::value handle =
      asked("tools/call", {{"name", "confirm_delete"}, {"arguments", {{"filename", "a.txt"}}}}).at("taskId");
  asked("tasks/cancel", {{"taskId", handle}});
  asked("tasks/update", {{"taskId", handle}, {"inputResponses", {{"confirm", yes()}}}});
  EXPECT_EQ(asked("tasks/get", {{"taskId", handle}}).at("status"), "cancelled");
}

TEST_F(TaskFixturesTest, ask_like_any_call_who_cannot_have_a_task) {
  const json::object capabilities{{"elicitation", json::object()}};
  json::object call{{"name", "confirm_delete"}, {"arguments", {{"filename", "a.txt"}}}};
  json::object round = result("tools/call", modern(call, capabilities));
  EXPECT_EQ(round.at("resultType"), "input_required");
  call["requestState"] = round.at("requestState");
  call["inputResponses"] = json::object{{"confirm", yes()}};
  EXPECT_EQ(text_of(result("tools/call", modern(call, capabilities))), "Done");
}

}  // namespace
}  // namespace skein::inline v0::mcp
