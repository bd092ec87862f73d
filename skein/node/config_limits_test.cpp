// What the config lets through as a limit of the ledger, the ledger's operations must take, and work with.
#include <gtest/gtest.h>

#include "skein/archive/archiver.hpp"
#include "skein/archive/memory_store.hpp"
#include "skein/archive/test_world.hpp"
#include "skein/base/manual_job_queue.hpp"
#include "skein/ledger/task.hpp"
#include "skein/node/config_keys.hpp"
#include "skein/operations/operations.hpp"

namespace skein::inline v0::node {
namespace {

class ConfigLimits : public testing::Test {
 protected:
  ConfigLimits() {
    archive::ArchiverLimits limits;
    limits.retention.age = std::chrono::hours(0);  // the tasks of tests finish in 1970
    archiver_ = std::make_unique<archive::Archiver>(world_.journal(), world_.ledger(), store_, jobs_, limits);
    archiver_->start();
    ops_ = operations::Operations::start({world_.journal(), world_.ledger(), &store_, jobs_, jobs_, 7});
  }
  ~ConfigLimits() override { ops_->stop(); }

  // Its answer: "ok", or the error in words.
  template <class T, class Start>
  std::string said(Start start, T* value = nullptr) {
    auto answer = std::make_shared<std::string>("nothing");
    start(operations::Reply<T>([answer, value](operations::Result<T> result) {
      *answer = result ? "ok" : result.error().describe();
      if (result && value != nullptr) *value = *result;
    }));
    world_.settle(jobs_);
    return *answer;
  }
  std::string set(const ledger::Limits& limits) {
    using Nothing = operations::Operations::Nothing;
    return said<Nothing>([&](auto reply) { ops_->set_limits(limits, std::move(reply)); });
  }
  void archive_all() {
    world_.settle(jobs_);
    jobs_.advance(std::chrono::milliseconds(500));
    world_.settle(jobs_);
  }
  // The ledger's defaults but for one, which is at an end of its range.
  static ledger::Limits at_end(const Key<ledger::Limits>& key, std::uint64_t end) {
    ledger::Limits limits;
    *std::get<std::uint64_t*>(key.place(limits)) = end;
    return limits;
  }

  archive::MemoryStore store_;
  ManualJobQueue jobs_;
  archive::TestWorld world_;
  std::unique_ptr<archive::Archiver> archiver_;
  std::shared_ptr<operations::Operations> ops_;
};

TEST_F(ConfigLimits, both_ends_of_every_range_are_taken) {
  for (const auto& key : keys_of<ledger::Limits>()) {
    EXPECT_EQ(set(at_end(key, key.rule.min)), "ok") << key.name << " = " << key.rule.min;
    EXPECT_EQ(set(at_end(key, key.rule.max)), "ok") << key.name << " = " << key.rule.max;
  }
}

TEST_F(ConfigLimits, an_archived_task_can_be_retried_at_the_lower_end_of_every_range) {
  std::uint64_t n = 0;
  for (const auto& key : keys_of<ledger::Limits>()) {
    ASSERT_EQ(set({}), "ok");
    ledger::TaskSpec smallest;  // it fits into every limit there is
    smallest.attempts_max = 1;
    const auto id = world_.submit(++n, smallest);
    world_.fail(id, "broken");
    archive_all();
    ASSERT_TRUE(store_.find(id).value());
    ASSERT_EQ(set(at_end(key, key.rule.min)), "ok");
    operations::RetryAnswer made;
    const auto retry = [&](auto reply) { ops_->task_retry(id, std::move(reply)); };
    EXPECT_EQ(said<operations::RetryAnswer>(retry, &made), "ok") << key.name << " = " << key.rule.min;
    if (made.id.none()) continue;
    world_.complete(made.id);
    archive_all();
  }
}

TEST_F(ConfigLimits, keys_too_short_for_a_retry_are_refused) {
  ledger::Limits limits;
  limits.key_bytes = 44;
  EXPECT_NE(set(limits), "ok");
}

}  // namespace
}  // namespace skein::inline v0::node
