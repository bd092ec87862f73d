// Operations over a ledger on virtual time, for their tests. One thread, but for the journal's.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>

#include "skein/archive/archiver.hpp"
#include "skein/archive/memory_store.hpp"
#include "skein/archive/test_world.hpp"
#include "skein/base/manual_job_queue.hpp"
#include "skein/operations/operations.hpp"

namespace skein::inline v0::operations {

using archive::TestWorld;

// An answer that may not be there yet. Declare it before what answers.
template <class T>
struct Awaited {
  std::shared_ptr<std::optional<Result<T>>> place = std::make_shared<std::optional<Result<T>>>();

  Reply<T> reply() {
    return Reply<T>([where = place](Result<T> result) {
      EXPECT_FALSE(where->has_value()) << "answered twice";
      *where = std::move(result);
    });
  }
  [[nodiscard]] bool here() const { return place->has_value(); }
  [[nodiscard]] const T& value() const {
    if (!here()) ADD_FAILURE() << "no answer";
    if (here() && !**place) ADD_FAILURE() << (*place)->error().describe();
    return (*place).value().value();
  }
  [[nodiscard]] const Error& error() const {
    if (!here() || **place) ADD_FAILURE() << "no error";
    return (*place).value().error();
  }
  [[nodiscard]] std::string code() const {
    if (!here()) return "no answer";
    return **place ? "ok" : std::string(name_of(error().code));
  }
};

class OperationsTest : public testing::Test {
 protected:
  ~OperationsTest() override { stop(); }

  void start(const OperationsLimits& limits = {}) {
    ops_ = Operations::start({world_.journal(), world_.ledger(), archive_, jobs_, jobs_, 7}, limits);
  }
  void stop() {
    if (ops_) ops_->stop();
    ops_.reset();
  }
  // With an archiver, finished tasks leave the ledger after its linger.
  void start_archiver() {
    archive::ArchiverLimits limits;
    limits.seal_after = std::chrono::milliseconds(0);
    limits.retention.age = std::chrono::hours(0);  // the tasks of tests finish in 1970
    archiver_ = std::make_unique<archive::Archiver>(world_.journal(), world_.ledger(), store_, jobs_, limits);
    archiver_->start();
    settle();
  }
  void settle() { world_.settle(jobs_); }
  void advance(Duration by) {
    settle();
    jobs_.advance(by);
    settle();
  }
  void archive_all() { advance(std::chrono::milliseconds(500)); }

  // Calls an operation and lets everything settle.
  template <class T, class Start>
  Awaited<T> call(Start start) {
    Awaited<T> answer;
    start(answer.reply());
    settle();
    return answer;
  }
  Awaited<SubmitAnswer> submit(SubmitRequest request) {
    if (request.type.empty()) request.type = "echo";
    return call<SubmitAnswer>([&](auto reply) { ops_->task_submit(request, std::move(reply)); });
  }
  TaskId submitted(const std::string& params = "") {
    SubmitRequest request;
    request.params = params;
    return submit(request).value().id;
  }
  Awaited<TaskStatus> status(TaskId id) {
    return call<TaskStatus>([&](auto reply) { ops_->task_status({id, {}, {}}, std::move(reply)); });
  }

  archive::MemoryStore store_;
  archive::Store* archive_ = &store_;
  ManualJobQueue jobs_;
  TestWorld world_;
  std::shared_ptr<Operations> ops_;
  std::unique_ptr<archive::Archiver> archiver_;
};

}  // namespace skein::inline v0::operations
