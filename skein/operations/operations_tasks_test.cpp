#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "skein/archive/no_store.hpp"
#include "skein/operations/json_forms.hpp"
#include "skein/operations/test_operations.hpp"

namespace skein::inline v0::operations {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::chrono_literals;

class TaskOperations : public OperationsTest {
 protected:
  TaskOperations() { start(); }

  Awaited<WaitAnswer> wait(TaskId id, std::chrono::milliseconds timeout, ProgressFn progress = {}) {
    return call<WaitAnswer>([&](auto reply) { ops_->task_wait({id, timeout}, std::move(progress), std::move(reply)); });
  }
  Awaited<State> cancel(TaskId id) {
    return call<State>([&](auto reply) { ops_->task_cancel({id, "not needed"}, std::move(reply)); });
  }
  Awaited<RetryAnswer> retry(TaskId id) {
    return call<RetryAnswer>([&](auto reply) { ops_->task_retry(id, std::move(reply)); });
  }
};

TEST_F(TaskOperations, submits_a_task_with_all_that_was_asked_for) {
  const auto before = submitted();
  SubmitRequest request;
  request.type = "resize";
  request.params = R"({"file":"a.png"})";
  request.priority = "critical";
  request.capabilities = {"gpu"};
  request.dependencies = {before};
  request.attempts = 2;
  request.timeout = 3s;
  request.delay = 1s;
  request.deadline = 60s;
  request.trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const auto made = submit(request).value();
  EXPECT_EQ(made.state, State::blocked);
  EXPECT_FALSE(made.existing);
  const auto task = status(made.id).value().task;
  const WallMs now = jobs_.wall_now();
  EXPECT_EQ(task.shape->type, "resize");
  EXPECT_EQ(ledger::view_of(task.params), request.params);
  EXPECT_EQ(task.priority, ledger::k_critical);
  EXPECT_EQ(task.shape->capabilities, request.capabilities);
  EXPECT_EQ(task.more().dependencies, request.dependencies);
  EXPECT_EQ(task.more().trace, request.trace);
  EXPECT_EQ(task.attempts_max, 2U);
  EXPECT_EQ(task.timeout_ms, 3000U);
  EXPECT_EQ(task.not_before, now + 1000);
  EXPECT_EQ(task.deadline_at, now + 60'000);
}

// Knows agents "ada", who is away, and "bob", and lets tasks of type "loose" go to any agent.
struct FewAgents final : AgentKnowledge {
  [[nodiscard]] bool is_known(const std::string& agent) const override { return agent == "ada" || agent == "bob"; }
  [[nodiscard]] std::string suggestion(const std::string&) const override { return " (did you mean 'ada'?)"; }
  [[nodiscard]] std::optional<std::string> swarm_of(const std::string& agent) const override {
    if (!is_known(agent)) return std::nullopt;
    return agent == "ada" ? "default" : "elsewhere";
  }
  [[nodiscard]] bool may_unpin(std::string_view type, const ledger::Placement& where) const override {
    return where.fallback == ledger::AgentFallback::any || type == "loose";
  }
  [[nodiscard]] std::string why_it_waits(const ledger::Task& task) const override {
    return std::string(task.pinned_to()) + " is away";
  }
};

SubmitRequest for_agent(std::string agent, std::string fallback = "") {
  SubmitRequest request;
  request.agent = std::move(agent);
  request.agent_fallback = std::move(fallback);
  return request;
}

TEST_F(TaskOperations, lets_who_is_bound_to_a_swarm_name_agents_of_that_swarm_only) {
  world_.apply_one(ledger::LedgerVersion{});
  ops_->know_agents(std::make_shared<FewAgents>());
  for (const char* agent : {"ada", "bob", "nobody"}) {
    auto request = for_agent(agent, "any");
    EXPECT_EQ(submit(request).code(), "ok") << agent;
    request.only_own_agents = true;
    EXPECT_EQ(submit(request).code(), std::string_view(agent) == "ada" ? "ok" : "agent_not_found") << agent;
  }
}

TEST_F(TaskOperations, submits_a_task_for_an_agent_with_all_that_was_asked_for) {
  world_.apply_one(ledger::LedgerVersion{});
  auto request = for_agent("ada", "any");
  request.agent_wait = 7s;
  request.route_key = "customer";
  const auto made = submit(request).value();
  EXPECT_EQ(status(made.id).value().task.more().where(),
            (ledger::Placement{"ada", ledger::AgentFallback::any, 7000, "customer", 0}));
  SubmitRequest keyed;
  keyed.route_key = "customer";
  EXPECT_EQ(status(submit(keyed).value().id).value().task.more().where().route_key, "customer");
}

TEST_F(TaskOperations, refuses_what_makes_no_sense_about_an_agent) {
  world_.apply_one(ledger::LedgerVersion{});
  EXPECT_THAT(submit(for_agent("", "any")).error().describe(), HasSubstr("the task names none"));
  EXPECT_THAT(submit(for_agent("a b")).error().describe(), HasSubstr("is not a valid name for an agent"));
  EXPECT_THAT(submit(for_agent("ada", "all")).error().describe(), HasSubstr("choose none or any"));
  auto backwards = for_agent("ada");
  backwards.agent_wait = -1ms;
  EXPECT_EQ(submit(backwards).code(), "invalid");
  auto long_key = for_agent("ada");
  long_key.route_key = std::string(257, 'k');
  EXPECT_EQ(submit(long_key).code(), "too_large");
}

TEST_F(TaskOperations, a_mistyped_agent_is_refused_where_no_other_may_do_it) {
  world_.apply_one(ledger::LedgerVersion{});
  EXPECT_EQ(submit(for_agent("adda")).code(), "ok") << "nobody knows who there is";
  ops_->know_agents(std::make_shared<FewAgents>());
  EXPECT_EQ(submit(for_agent("ada")).code(), "ok");
  const auto refused = submit(for_agent("adda"));
  EXPECT_EQ(refused.code(), "agent_not_found");
  EXPECT_THAT(refused.error().describe(), HasSubstr("there is no agent 'adda' (did you mean 'ada'?)"));
  EXPECT_THAT(refused.error().describe(), HasSubstr("agent_fallback any"));
  EXPECT_EQ(submit(for_agent("adda", "any")).code(), "ok");
  auto loose = for_agent("adda");
  loose.type = "loose";
  EXPECT_EQ(submit(loose).code(), "ok");
}

TEST_F(TaskOperations, a_status_says_why_a_task_waits_for_its_agent) {
  world_.apply_one(ledger::LedgerVersion{});
  ops_->know_agents(std::make_shared<FewAgents>());
  const auto waiting = submit(for_agent("ada")).value().id;
  EXPECT_EQ(status(waiting).value().waits, "ada is away");
  EXPECT_EQ(status(submitted()).value().waits, "");
  EXPECT_EQ(wait(waiting, 0ms).value().status.waits, "ada is away");
}

TEST_F(TaskOperations, a_task_for_an_agent_is_taken_when_the_ledger_knows_of_it) {
  const auto early = submit(for_agent("ada"));
  EXPECT_EQ(early.code(), "overloaded") << "to be tried again";
  EXPECT_THAT(early.error().describe(), HasSubstr("ledger version"));
  world_.apply_one(ledger::LedgerVersion{});
  EXPECT_EQ(submit(for_agent("ada")).code(), "ok");
}

TEST_F(TaskOperations, gives_tasks_ids_of_version_7_that_sort_by_time) {
  const auto first = submitted();
  jobs_.advance(2ms);
  const auto second = submitted();
  EXPECT_EQ(first.text()[14], '7');
  EXPECT_LT(first, second);
  EXPECT_EQ(first.high >> 16U, jobs_.wall_now() - 2);
}

TEST_F(TaskOperations, answers_the_same_key_with_the_first_task) {
  SubmitRequest request;
  request.key = "order-17";
  const auto first = submit(request).value();
  const auto again = submit(request).value();
  EXPECT_EQ(again.id, first.id);
  EXPECT_TRUE(again.existing);
  request.key = "order-18";
  EXPECT_NE(submit(request).value().id, first.id);
}

TEST_F(TaskOperations, refuses_a_key_to_other_work_and_names_the_first_task) {
  start_archiver();
  SubmitRequest request;
  request.key = "order-17";
  request.params = R"({"a":1,"b":[2]})";
  const auto first = submit(request).value().id;
  const auto expect_told_apart = [&](const char* when) {
    SubmitRequest same = request;
    same.params = R"( {"b":[2.0],"a":1} )";
    EXPECT_EQ(submit(same).value().id, first) << when;
    SubmitRequest none = request;
    none.params.clear();
    EXPECT_EQ(submit(none).value().id, first) << when;
    SubmitRequest other = request;
    other.params = R"({"a":2,"b":[2]})";
    const auto refused = submit(other);
    EXPECT_EQ(refused.code(), "key_reused") << when;
    EXPECT_THAT(refused.error().message, HasSubstr(first.text())) << when;
    other.dependencies = {first};
    EXPECT_EQ(submit(other).code(), "key_reused") << when;
    for (const std::string& params : {request.params, std::string()}) {
      SubmitRequest typed = request;
      typed.type = "another";
      typed.params = params;
      const auto told = submit(typed);
      EXPECT_EQ(told.code(), "key_reused") << when << ", params " << params;
      EXPECT_THAT(told.error().message, HasSubstr(first.text())) << when;
      EXPECT_THAT(told.error().message, HasSubstr("'another'")) << when;
    }
  };
  expect_told_apart("open");
  world_.complete(first, "1");
  expect_told_apart("finished");
  archive_all();
  expect_told_apart("archived");
}

TEST_F(TaskOperations, counts_new_tasks_as_submitted_and_repeats_as_repeated) {
  SubmitRequest request;
  request.key = "order-17";
  for (int i = 0; i < 10; ++i) static_cast<void>(submit(request).value());
  const auto status = call<NodeStatus>([&](auto reply) { ops_->status(std::move(reply)); }).value();
  EXPECT_EQ(status.submitted, 1U);
  EXPECT_EQ(status.repeated, 9U);
  EXPECT_EQ(status.ledger.last_number, 1U);
}

TEST_F(TaskOperations, hands_on_of_a_trace_context_of_a_later_version_what_this_one_knows) {
  SubmitRequest request;
  request.trace = "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what\nelse";
  const auto id = submit(request).value().id;
  const auto task = call<TaskStatus>([&](auto reply) { ops_->task_status({id, {}, {}}, std::move(reply)); }).value();
  EXPECT_EQ(task.task.more().trace, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
}

TEST_F(TaskOperations, says_how_many_attempts_were_made) {
  ledger::Task task;
  task.attempts = 2;
  task.state = State::queued;
  EXPECT_EQ(attempts_made(task), 2U);
  for (const State state : {State::executing, State::completed}) {
    task.state = state;
    EXPECT_EQ(attempts_made(task), 3U);
  }
  task.state = State::failed;
  EXPECT_EQ(attempts_made(task), 2U);
}

TEST_F(TaskOperations, turns_away_what_makes_no_sense) {
  const auto code = [&](auto change) {
    SubmitRequest request;
    request.type = "echo";
    change(request);
    return call<SubmitAnswer>([&](auto reply) { ops_->task_submit(request, std::move(reply)); }).code();
  };
  EXPECT_EQ(code([](auto& r) { r.type = ""; }), "invalid");
  EXPECT_EQ(code([](auto& r) { r.type = std::string("a\nb"); }), "invalid");
  EXPECT_EQ(code([](auto& r) { r.priority = "urgent"; }), "invalid");
  EXPECT_EQ(code([](auto& r) { r.attempts = 0; }), "invalid");
  EXPECT_EQ(code([](auto& r) { r.timeout = 5ms; }), "invalid");
  EXPECT_EQ(code([](auto& r) { r.delay = -1s; }), "invalid");
  EXPECT_EQ(code([](auto& r) { r.params = "{\"a\":"; }), "invalid_json");
  EXPECT_EQ(code([](auto& r) { r.params = "{} {}"; }), "invalid_json");
  EXPECT_EQ(code([](auto& r) { r.params = std::string(33, '[') + std::string(33, ']'); }), "invalid_json");
  EXPECT_EQ(code([](auto& r) { r.params = std::string(32, '[') + std::string(32, ']'); }), "ok");
  EXPECT_EQ(code([](auto& r) { r.params = "\"" + std::string(300'000, 'x') + "\""; }), "too_large");
  EXPECT_EQ(code([](auto& r) { r.params = "\"" + std::string(2'000'000, 'x') + "\""; }), "too_large");
  EXPECT_EQ(code([](auto& r) { r.trace = "garbage\nTRACEPARENT=x"; }), "invalid");
  EXPECT_EQ(code([](auto& r) { r.trace = "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01"; }), "invalid");
  EXPECT_EQ(code([](auto& r) { r.trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"; }), "ok");
  EXPECT_EQ(code([](auto& r) { r.swarm = "nowhere"; }), "swarm_not_found");
  EXPECT_EQ(code([](auto& r) { r.dependencies = {TestWorld::id(99)}; }), "dependency_not_found");
}

TEST_F(TaskOperations, says_queue_full_with_a_time_to_try_again) {
  ledger::Limits limits;
  limits.swarm_tasks = 1;
  ASSERT_FALSE(world_.apply_one(ledger::SetLimits{limits}).refused());
  submitted();
  const auto refused = submit({});
  EXPECT_EQ(refused.code(), "queue_full");
  EXPECT_GT(refused.error().retry_after, 0ms);
  EXPECT_THAT(refused.error().describe(), HasSubstr("the limit is 1"));
}

TEST_F(TaskOperations, says_ledger_full_and_archive_behind) {
  ledger::Limits limits;
  limits.open_tasks = 1;
  limits.finished_tasks = 1;
  ASSERT_FALSE(world_.apply_one(ledger::SetLimits{limits}).refused());
  const auto task = submitted();
  EXPECT_EQ(submit({}).code(), "ledger_full");
  world_.complete(task);
  EXPECT_EQ(submit({}).code(), "archive_behind");
}

TEST_F(TaskOperations, finds_a_task_wherever_it_is) {
  start_archiver();
  const auto task = submitted("[1]");
  EXPECT_FALSE(status(task).value().finished);
  world_.complete(task, "[2]");
  EXPECT_FALSE(status(task).value().archived);
  archive_all();
  const auto archived = status(task).value();
  EXPECT_TRUE(archived.archived);
  EXPECT_EQ(ledger::view_of(archived.finished->result), "[2]");
  EXPECT_EQ(ledger::view_of(archived.task.params), "[1]");
  EXPECT_EQ(status(TestWorld::id(99)).code(), "task_not_found");
}

TEST_F(TaskOperations, finds_a_task_by_its_key) {
  SubmitRequest request;
  request.key = "order-17";
  const auto task = submit(request).value().id;
  const auto by_key = [&](const std::string& key) {
    return call<TaskStatus>([&](auto reply) { ops_->task_status({{}, "default", key}, std::move(reply)); });
  };
  EXPECT_EQ(by_key("order-17").value().task.id, task);
  EXPECT_EQ(by_key("order-18").code(), "task_not_found");
}

TEST_F(TaskOperations, tells_who_waits_of_progress_and_the_end) {
  const auto task = submitted();
  std::vector<std::string> marks;
  auto first = wait(task, 50s, [&](TaskId, const ledger::Body& mark) { marks.emplace_back(ledger::view_of(mark)); });
  auto second = wait(task, 50s);
  const auto fence = world_.assign(task);
  world_.apply_one(ledger::Progress{task, fence, 1, ledger::body_of("1/2")});
  EXPECT_FALSE(first.here());
  std::vector<std::string> known;
  auto late = wait(task, 50s, [&](TaskId, const ledger::Body& mark) { known.emplace_back(ledger::view_of(mark)); });
  EXPECT_THAT(known, ElementsAre("1/2")) << "the last mark is told to who waits only now";
  world_.apply_one(ledger::Complete{task, fence, 2, ledger::body_of("[3]")});
  EXPECT_TRUE(first.value().finished);
  EXPECT_EQ(ledger::view_of(first.value().status.finished->result), "[3]");
  EXPECT_TRUE(second.value().finished);
  EXPECT_THAT(marks, ElementsAre("1/2"));
  EXPECT_TRUE(wait(task, 50s).value().finished) << "finished already: answered at once";
}

TEST_F(TaskOperations, answers_a_wait_with_the_task_as_it_stands_when_the_time_is_up) {
  const auto task = submitted();
  const auto early = wait(task, 10s);
  const auto late = wait(task, 1h);
  world_.assign(task);
  advance(9s);
  EXPECT_FALSE(early.here());
  advance(2s);
  EXPECT_FALSE(early.value().finished);
  EXPECT_EQ(early.value().status.task.state, State::assigned);
  EXPECT_FALSE(late.here());
  advance(40s);
  EXPECT_TRUE(late.here()) << "nobody waits longer than wait_max";
  EXPECT_FALSE(late.value().finished);
}

TEST_F(TaskOperations, waits_for_an_archived_task_too) {
  start_archiver();
  const auto task = submitted();
  world_.complete(task);
  archive_all();
  EXPECT_TRUE(wait(task, 1s).value().finished);
  EXPECT_EQ(wait(TestWorld::id(99), 1s).code(), "task_not_found");
}

TEST_F(TaskOperations, cancels_open_tasks_and_says_when_it_is_too_late) {
  start_archiver();
  const auto task = submitted();
  EXPECT_EQ(cancel(task).value(), State::cancelled);
  EXPECT_EQ(cancel(task).code(), "already_finished");
  archive_all();
  EXPECT_EQ(cancel(task).code(), "already_finished");
  EXPECT_THAT(cancel(task).error().describe(), HasSubstr("cancelled"));
  EXPECT_EQ(cancel(TestWorld::id(99)).code(), "task_not_found");
}

TEST_F(TaskOperations, retries_a_failed_task_once_and_links_both) {
  const auto task = submitted("[1]");
  EXPECT_EQ(retry(task).code(), "wrong_state");
  world_.fail(task, "broken");
  const auto fresh = retry(task).value();
  EXPECT_FALSE(fresh.existing);
  EXPECT_EQ(status(fresh.id).value().task.more().retry_of, task);
  EXPECT_EQ(status(task).value().finished->retried_as, fresh.id);
  EXPECT_EQ(retry(task).value().id, fresh.id);
  EXPECT_TRUE(retry(task).value().existing);
}

TEST_F(TaskOperations, retries_an_archived_task_as_well) {
  start_archiver();
  const auto task = submitted("[1]");
  world_.fail(task, "broken");
  archive_all();
  const auto fresh = retry(task).value();
  EXPECT_FALSE(fresh.existing);
  const auto made = status(fresh.id).value().task;
  EXPECT_EQ(made.more().retry_of, task);
  EXPECT_EQ(ledger::view_of(made.params), "[1]");
  EXPECT_EQ(status(task).value().finished->retried_as, fresh.id);
  EXPECT_EQ(retry(task).value().id, fresh.id);
  EXPECT_EQ(retry(TestWorld::id(99)).code(), "task_not_found");
}

TEST_F(TaskOperations, retries_once_also_when_the_link_did_not_reach_the_archive) {
  start_archiver();
  const auto task = submitted("[1]");
  world_.fail(task, "broken");
  const auto fresh = retry(task).value();
  archive_all();
  // As a power cut before the link was written leaves it.
  ASSERT_TRUE(store_.link_retry(task, TaskId{}));
  ASSERT_TRUE((*store_.find(task))->retried_as.none());
  const auto again = retry(task).value();
  EXPECT_EQ(again.id, fresh.id);
  EXPECT_TRUE(again.existing);
}

TEST_F(TaskOperations, does_not_retry_what_is_completed) {
  start_archiver();
  const auto task = submitted();
  world_.complete(task);
  EXPECT_EQ(retry(task).code(), "wrong_state");
  archive_all();
  EXPECT_EQ(retry(task).code(), "wrong_state");
}

TEST_F(TaskOperations, takes_an_archived_dependency_for_what_it_was) {
  start_archiver();
  const auto good = submitted();
  const auto bad = submitted();
  world_.complete(good);
  world_.fail(bad, "broken");
  archive_all();
  SubmitRequest request;
  request.dependencies = {good};
  EXPECT_EQ(submit(request).value().state, State::queued);
  request.dependencies = {good, bad};
  EXPECT_EQ(submit(request).code(), "dependency_failed");
}

TEST_F(TaskOperations, says_that_the_archive_cannot_be_read) {
  struct Broken final : archive::NoStore {
    archive::ArchiveError error{archive::ArchiveError::Kind::corrupt, "archive.sqlite", "malformed"};
    archive::ArchiveResult<archive::Finished> find(TaskId) override { return std::unexpected(error); }
    archive::ArchiveResult<std::vector<archive::Finished>> query(const archive::Query&) override {
      return std::unexpected(error);
    }
  } broken;
  stop();
  archive_ = &broken;
  start();
  const auto found = status(TestWorld::id(1));
  EXPECT_EQ(found.code(), "archive_unavailable");
  EXPECT_THAT(found.error().describe(), HasSubstr("skein archive rebuild"));
  EXPECT_EQ(call<ListAnswer>([&](auto reply) { ops_->task_list({}, std::move(reply)); }).code(), "archive_unavailable");
  EXPECT_EQ(status(submitted()).code(), "ok") << "open tasks need no archive";
  stop();
}

TEST_F(TaskOperations, a_key_whose_result_is_kept_no_more_says_so) {
  start_archiver();
  SubmitRequest request;
  request.type = "echo";
  request.key = "order-1";
  const auto task = submit(request).value().id;
  world_.complete(task, "1");
  archive_all();
  EXPECT_FALSE(submit(request).value().is_gone) << "it is in the archive";
  ASSERT_EQ(store_.retain({std::chrono::hours(0), 0}, 0, 10).value(), 0U);
  store_.become({});
  const auto again = submit(request).value();
  EXPECT_TRUE(again.existing);
  EXPECT_TRUE(again.is_gone);
  EXPECT_EQ(again.id, task);
}

TEST_F(TaskOperations, a_damaged_record_is_not_answered_and_named) {
  start_archiver();
  const auto task = submitted();
  world_.complete(task, "1");
  archive_all();
  ASSERT_TRUE(store_.damage(1));
  const auto found = status(task);
  EXPECT_EQ(found.code(), "archive_unavailable");
  EXPECT_THAT(found.error().describe(), HasSubstr("finish number 1"));
}

TEST_F(TaskOperations, answers_everyone_when_it_stops) {
  const auto task = submitted();
  const auto waiting = wait(task, 50s);
  ops_->stop();
  EXPECT_TRUE(waiting.value().is_stopping);
  EXPECT_EQ(submit({}).code(), "stopped");
  EXPECT_EQ(cancel(task).code(), "stopped");
}

TEST_F(TaskOperations, answers_stopped_when_the_journal_is_closed) {
  const auto task = submitted();
  world_.journal().close();
  Awaited<TaskStatus> seen;
  ops_->task_status({task, {}, {}}, seen.reply());
  EXPECT_EQ(seen.code(), "stopped");
  Awaited<SubmitAnswer> refused;
  SubmitRequest request;
  request.type = "echo";
  ops_->task_submit(request, refused.reply());
  EXPECT_EQ(refused.code(), "stopped");
}

TEST_F(TaskOperations, lets_only_so_many_wait) {
  stop();
  OperationsLimits limits;
  limits.waiters = 2;
  start(limits);
  const auto task = submitted();
  const auto first = wait(task, 50s);
  const auto second = wait(task, 50s);
  EXPECT_EQ(wait(task, 50s).code(), "overloaded");
  world_.complete(task);
  EXPECT_EQ(first.code(), "ok");
  EXPECT_EQ(second.code(), "ok");
}

TEST_F(TaskOperations, gives_the_place_of_a_wait_back_that_was_given_up) {
  stop();
  OperationsLimits limits;
  limits.waiters = 1;
  start(limits);
  const auto task = submitted();
  const auto ticket = std::make_shared<WaitTicket>();
  Awaited<WaitAnswer> first;
  ops_->task_wait({task, 50s, ticket}, {}, first.reply());
  settle();
  EXPECT_FALSE(first.here());
  ops_->give_up(*ticket);
  EXPECT_EQ(first.code(), "stopped");
  // Also before the journal's thread has come to it.
  const auto early = std::make_shared<WaitTicket>();
  Awaited<WaitAnswer> second;
  ops_->task_wait({task, 50s, early}, {}, second.reply());
  ops_->give_up(*early);
  settle();
  EXPECT_EQ(second.code(), "stopped");
  const auto third = wait(task, 50s);
  EXPECT_FALSE(third.here()) << "there is room";
  ops_->give_up(*ticket);
  world_.complete(task);
  EXPECT_EQ(third.code(), "ok");
}

TEST_F(TaskOperations, serves_thousands_who_wait) {
  std::vector<TaskId> tasks;
  for (int i = 0; i < 100; ++i) tasks.push_back(submitted());
  std::vector<Awaited<WaitAnswer>> answers(5000);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    ops_->task_wait({tasks[i % tasks.size()], 50s}, {}, answers[i].reply());
  }
  settle();
  for (std::size_t i = 0; i < 50; ++i) world_.complete(tasks[i]);
  advance(51s);
  std::size_t finished = 0;
  for (const auto& answer : answers) finished += answer.value().finished ? 1 : 0;
  EXPECT_EQ(finished, 2500U);
}

}  // namespace
}  // namespace skein::inline v0::operations
