#include <mutex>
#include <vector>

#include "skein/base/crowded_job_queue.hpp"
#include "skein/ledger/task.hpp"
#include "skein/operations/test_operations.hpp"
#include "skein/runtime/testing.hpp"

namespace skein::operations {
namespace {

// What a process was told.
class Heard {
 public:
  void add(const Message& message) {
    const std::lock_guard lock(mutex_);
    if (const auto* done = message.get_if<TaskComplete>()) complete_.push_back(*done);
    if (const auto* failed = message.get_if<TaskFailed>()) failed_.push_back(*failed);
  }
  [[nodiscard]] std::vector<TaskComplete> complete() const {
    const std::lock_guard lock(mutex_);
    return complete_;
  }
  [[nodiscard]] std::vector<TaskFailed> failed() const {
    const std::lock_guard lock(mutex_);
    return failed_;
  }
  [[nodiscard]] std::size_t count() const { return complete().size() + failed().size(); }

 private:
  mutable std::mutex mutex_;
  std::vector<TaskComplete> complete_;
  std::vector<TaskFailed> failed_;
};

struct Listener {
  std::shared_ptr<Heard> heard;
  explicit Listener(std::shared_ptr<Heard> where) : heard(std::move(where)) {}
  void handle_info(Self, Message message) { heard->add(message); }
};

class NotifyOperations : public OperationsTest {
 protected:
  NotifyOperations() : pid_(runtime_.spawn<Listener>(heard_)) {}
  ~NotifyOperations() override {
    stop();
    runtime_.shutdown();
  }
  void begin(const OperationsLimits& limits = {}) {
    ops_ = Operations::start({world_.journal(), world_.ledger(), archive_, jobs_, jobs_, 7, &runtime_}, limits);
  }
  SubmitRequest request() const {
    SubmitRequest request;
    request.type = "echo";
    request.notify = pid_;
    return request;
  }
  TaskId submit_one() { return submit(request()).value().id; }
  void expect_told(std::size_t count) {
    settle();
    EXPECT_TRUE(tests::eventually([&] { return heard_->count() >= count; }));
    EXPECT_EQ(heard_->count(), count);
  }
  std::size_t promised() {
    return call<NodeStatus>([&](auto reply) { ops_->status(std::move(reply)); }).value().notices;
  }

  std::shared_ptr<Heard> heard_ = std::make_shared<Heard>();
  Runtime runtime_{tests::threaded()};
  Pid pid_;
};

TEST_F(NotifyOperations, tells_a_process_of_a_completed_task_once_with_its_result) {
  begin();
  const auto id = submit_one();
  settle();
  EXPECT_EQ(heard_->count(), 0U);
  EXPECT_EQ(promised(), 1U);
  world_.complete(id, "[1]");
  expect_told(1);
  ASSERT_EQ(heard_->complete().size(), 1U);
  EXPECT_EQ(heard_->complete()[0].id, id);
  EXPECT_EQ(ledger::view_of(heard_->complete()[0].result), "[1]");
  EXPECT_EQ(promised(), 0U);
}

TEST_F(NotifyOperations, tells_of_failed_and_cancelled_tasks_and_why) {
  begin();
  const auto broken = submit_one();
  world_.fail(broken, "out of paper");
  expect_told(1);
  const auto unwanted = submit_one();
  call<State>([&](auto reply) { ops_->task_cancel({unwanted, "no longer needed"}, std::move(reply)); });
  expect_told(2);
  ASSERT_EQ(heard_->failed().size(), 2U);
  EXPECT_EQ(heard_->failed()[0].id, broken);
  EXPECT_EQ(heard_->failed()[0].state, State::failed);
  EXPECT_EQ(heard_->failed()[0].message, "out of paper");
  EXPECT_EQ(heard_->failed()[1].id, unwanted);
  EXPECT_EQ(heard_->failed()[1].state, State::cancelled);
}

TEST_F(NotifyOperations, tells_at_once_when_the_key_belongs_to_a_task_that_has_ended) {
  begin();
  start_archiver();
  auto again = request();
  again.key = "once";
  again.notify = Pid{};
  const auto id = submit(again).value().id;
  world_.complete(id, "[2]");
  again.notify = pid_;
  EXPECT_TRUE(submit(again).value().existing);
  expect_told(1);
  archive_all();
  EXPECT_TRUE(submit(again).value().existing);
  expect_told(2);
  ASSERT_EQ(heard_->complete().size(), 2U);
  EXPECT_EQ(heard_->complete()[1].id, id);
  EXPECT_EQ(ledger::view_of(heard_->complete()[1].result), "[2]");
}

TEST_F(NotifyOperations, tells_as_soon_as_an_archive_that_could_not_be_asked_answers) {
  CrowdedJobQueue reads(jobs_);
  ops_ = Operations::start({world_.journal(), world_.ledger(), archive_, jobs_, reads, 7, &runtime_});
  start_archiver();
  auto again = request();
  again.key = "once";
  again.notify = Pid{};
  world_.complete(submit(again).value().id, "[3]");
  archive_all();
  reads.is_full = true;
  again.notify = pid_;
  ASSERT_TRUE(submit(again).value().existing);
  advance(std::chrono::seconds(3));
  reads.is_full = false;
  advance(std::chrono::seconds(3));
  expect_told(1);
  EXPECT_EQ(promised(), 0U);
  stop();
}

TEST_F(NotifyOperations, turns_away_what_it_could_not_keep_its_word_for) {
  OperationsLimits limits;
  limits.notices = 1;
  begin(limits);
  const auto first = submit_one();
  EXPECT_EQ(submit(request()).code(), "overloaded");
  world_.complete(first);
  expect_told(1);
  const auto second = submit(request());
  EXPECT_EQ(second.code(), "ok");
  auto refused = request();
  refused.swarm = "nowhere";
  world_.complete(second.value().id);
  expect_told(2);
  EXPECT_EQ(submit(refused).code(), "swarm_not_found");
  EXPECT_EQ(promised(), 0U) << "a refused submit must give its place back";
}

TEST_F(NotifyOperations, needs_a_runtime) {
  start();
  EXPECT_EQ(submit(request()).code(), "invalid");
}

TEST_F(NotifyOperations, a_process_that_is_gone_harms_nobody) {
  begin();
  const auto id = submit_one();
  runtime_.exit(pid_, ExitReason::kill());
  world_.complete(id);
  settle();
  EXPECT_EQ(promised(), 0U);
}

}  // namespace
}  // namespace skein::operations
