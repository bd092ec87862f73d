#include "skein/archive/archiver.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>

#include "skein/archive/memory_store.hpp"
#include "skein/archive/sqlite_store.hpp"
#include "skein/archive/test_world.hpp"
#include "skein/base/crowded_job_queue.hpp"
#include "skein/base/manual_job_queue.hpp"
#include "skein/ledger/task.hpp"

namespace skein::inline v0::archive {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class Archivers : public testing::Test {
 protected:
  // Sealed with every batch, unless a test says otherwise.
  void start(ArchiverLimits limits = {}, std::chrono::milliseconds seal_after = 0ms) {
    limits.seal_after = seal_after;
    archiver_ = std::make_unique<Archiver>(world_.journal(), world_.ledger(), store_, jobs_, limits,
                                           [this](const ArchiverNews& news) { news_.push_back(news); });
    archiver_->start();
    settle();
  }
  void settle() { world_.settle(jobs_); }
  void advance(Duration by) {
    settle();
    const auto steps = by / 50ms;
    for (int i = 0; i < steps; ++i) {
      jobs_.advance(50ms);
      settle();
    }
  }
  // A task that failed, is archived, and has task 2 in its stead; the link was lost, as a power cut leaves it.
  ledger::TaskId lose_a_link() {
    start();
    const auto old_task = world_.submit(1);
    world_.fail(old_task, "broken");
    EXPECT_FALSE(world_.apply_one(ledger::Retry{old_task, TestWorld::id(2), 5000}).refused());
    advance(1s);
    EXPECT_EQ(store_.link_retry(old_task, ledger::TaskId{}).value_or(false), true) << "it was not archived";
    return old_task;
  }
  ledger::Counters counters() {
    return world_.look([](ledger::Ledger& ledger) { return ledger.counters(); });
  }

  [[nodiscard]] bool told(ArchiverNews::Kind kind) const {
    return std::ranges::any_of(news_, [kind](const ArchiverNews& each) { return each.kind == kind; });
  }

  std::vector<ArchiverNews> news_;
  MemoryStore store_;
  ManualJobQueue jobs_;
  TestWorld world_;
  std::unique_ptr<Archiver> archiver_;
};

TEST_F(Archivers, moves_a_finished_task_from_the_ledger_to_the_store) {
  start();
  const auto task = world_.finish_new(1);
  advance(300ms);
  EXPECT_TRUE(store_.find(task).value());
  EXPECT_FALSE(world_.look([&](ledger::Ledger& ledger) { return ledger.find(task).has_value(); }));
  EXPECT_EQ(counters().archived_up_to, 1U);
  EXPECT_EQ(archiver_->status().archived_up_to, 1U);
}

TEST_F(Archivers, takes_what_was_finished_before_it_started) {
  for (std::uint64_t n = 1; n <= 5; ++n) world_.finish_new(n);
  start();
  EXPECT_EQ(store_.count().value(), 5U);
  EXPECT_EQ(counters().finished_tasks, 0U);
}

TEST_F(Archivers, asks_again_when_the_journal_has_no_room_for_its_question) {
  journal::JournalLimits limits = small_journal();
  limits.reads_waiting = 1;
  TestWorld world("", limits);
  std::promise<void> held;
  std::promise<void> let_go;
  world.journal().read(journal::Read::linear(), [&](const journal::ReadAnswer&) {
    held.set_value();
    let_go.get_future().wait();
  });
  held.get_future().wait();
  Archiver archiver(world.journal(), world.ledger(), store_, jobs_);
  archiver.start();
  let_go.set_value();
  world.finish_new(1);
  for (int i = 0; i < 100 && store_.count().value() == 0; ++i) {
    jobs_.advance(50ms);
    jobs_.run_ready();
    world.apply_one(ledger::TakeDispatch{"test", 1});  // answered when the journal's thread was there
  }
  EXPECT_EQ(store_.count().value(), 1U);
  archiver.stop();
}

TEST_F(Archivers, waits_a_moment_so_that_few_tasks_make_one_batch) {
  start();
  for (std::uint64_t n = 1; n <= 7; ++n) world_.finish_new(n);
  settle();
  EXPECT_EQ(store_.count().value(), 0U);
  advance(250ms);
  EXPECT_EQ(store_.count().value(), 7U);
  EXPECT_EQ(archiver_->status().batches, 1U);
}

TEST_F(Archivers, does_not_wait_when_a_batch_is_full) {
  ArchiverLimits limits;
  limits.batch_tasks = 3;
  start(limits);
  for (std::uint64_t n = 1; n <= 3; ++n) world_.finish_new(n);
  settle();
  EXPECT_EQ(store_.count().value(), 3U);
}

TEST_F(Archivers, keeps_a_batch_within_its_bytes) {
  ArchiverLimits limits;
  limits.batch_bytes = 25'000;
  for (std::uint64_t n = 1; n <= 5; ++n) world_.finish_new(n, {}, std::string(10'000, 'r'));
  start(limits);
  advance(2s);
  EXPECT_EQ(store_.count().value(), 5U);
  EXPECT_EQ(archiver_->status().batches, 3U);
}

TEST_F(Archivers, leaves_tasks_in_the_ledger_while_the_store_fails_and_goes_on_by_itself) {
  store_.fail_with(ArchiveError{ArchiveError::Kind::no_space, "archive.sqlite", "disk full"});
  start();
  const auto task = world_.finish_new(1);
  advance(10s);
  EXPECT_EQ(counters().finished_tasks, 1U);
  EXPECT_THAT(archiver_->status().failing, HasSubstr("free some space"));
  EXPECT_EQ(archiver_->status().failures, 4U) << "after 0.2, 1.2, 3.2 and 7.2 seconds";
  store_.fail_with(std::nullopt);
  advance(30s);
  EXPECT_TRUE(store_.find(task).value());
  EXPECT_EQ(counters().finished_tasks, 0U);
  EXPECT_EQ(archiver_->status().failing, "");
}

TEST_F(Archivers, makes_the_ledger_refuse_submits_when_it_falls_too_far_behind) {
  ledger::Limits limits;
  limits.finished_tasks = 2;
  ASSERT_FALSE(world_.apply_one(ledger::SetLimits{limits}).refused());
  store_.fail_with(ArchiveError{});
  start();
  world_.finish_new(1);
  world_.finish_new(2);
  advance(1s);
  ledger::TaskSpec spec;
  spec.type = "echo";
  EXPECT_EQ(world_.apply_one(ledger::Submit{TestWorld::id(3), 1, spec}).verdict, ledger::Verdict::archive_behind);
  store_.fail_with(std::nullopt);
  advance(10s);
  EXPECT_FALSE(world_.apply_one(ledger::Submit{TestWorld::id(3), 1, spec}).refused());
}

TEST_F(Archivers, without_an_archive_the_oldest_go_before_submits_are_refused) {
  ledger::Limits ledger_limits;
  ledger_limits.finished_tasks = 10;
  ASSERT_FALSE(world_.apply_one(ledger::SetLimits{ledger_limits}).refused());
  ArchiverLimits limits;
  limits.only_when_half_full = true;
  start(limits);
  for (std::uint64_t n = 1; n <= 4; ++n) world_.finish_new(n);
  advance(1s);
  EXPECT_EQ(counters().finished_tasks, 4U) << "there is room: they can be asked for";
  for (std::uint64_t n = 5; n <= 40; ++n) {
    world_.finish_new(n);
    advance(250ms);
    ASSERT_LE(counters().finished_tasks, 5U);
    ASSERT_GE(counters().finished_tasks, 4U) << "only the oldest go";
  }
  EXPECT_TRUE(world_.look([](ledger::Ledger& ledger) { return ledger.find(TestWorld::id(40)).has_value(); }));
  EXPECT_FALSE(world_.look([](ledger::Ledger& ledger) { return ledger.find(TestWorld::id(1)).has_value(); }));
}

TEST_F(Archivers, without_an_archive_bytes_count_too) {
  ledger::Limits ledger_limits;
  ledger_limits.finished_bytes = 100'000;
  ASSERT_FALSE(world_.apply_one(ledger::SetLimits{ledger_limits}).refused());
  ArchiverLimits limits;
  limits.only_when_half_full = true;
  start(limits);
  for (std::uint64_t n = 1; n <= 20; ++n) {
    world_.finish_new(n, {}, std::string(20'000, 'r'));
    advance(250ms);
  }
  EXPECT_LT(counters().finished_bytes, 100'000U);
}

TEST_F(Archivers, notes_a_retry_of_a_task_it_has_just_taken) {
  start();
  const auto old_task = world_.submit(1);
  world_.fail(old_task, "broken");
  // The record is in the store, `archived` is not applied yet: what a crash in between leaves behind.
  const auto finished = world_.look([](ledger::Ledger& ledger) { return ledger.finished_after(0, 10); });
  ASSERT_TRUE(store_.insert(finished));
  ASSERT_FALSE(world_.apply_one(ledger::Retry{old_task, TestWorld::id(2), 5000}).refused());
  settle();
  EXPECT_EQ((*store_.find(old_task))->retried_as, TestWorld::id(2));
}

TEST_F(Archivers, makes_up_for_a_lost_link_when_the_task_that_stands_in_is_archived) {
  const auto old_task = lose_a_link();
  ASSERT_FALSE(world_.apply_one(ledger::Cancel{TestWorld::id(2), 5001, ""}).refused());
  advance(1s);
  ASSERT_TRUE(*store_.find(TestWorld::id(2)));
  EXPECT_EQ((*store_.find(old_task))->retried_as, TestWorld::id(2));
}

TEST_F(Archivers, links_at_its_start_what_a_crash_left_without_a_link) {
  const auto old_task = lose_a_link();
  // The task that stands in is open, and its key may be forgotten before it ends.
  archiver_.reset();
  start();
  EXPECT_EQ((*store_.find(old_task))->retried_as, TestWorld::id(2));
}

TEST_F(Archivers, removes_old_tasks_from_time_to_time) {
  ArchiverLimits limits;
  limits.retention = {std::chrono::hours(0), 2};
  limits.retain_tasks = 2;
  for (std::uint64_t n = 1; n <= 9; ++n) world_.finish_new(n);
  start(limits);
  EXPECT_EQ(store_.count().value(), 9U);
  advance(61s);
  EXPECT_EQ(store_.count().value(), 2U);
  EXPECT_EQ(archiver_->status().removed, 7U);
}

TEST_F(Archivers, goes_on_removing_old_tasks_when_the_job_queue_has_room_again) {
  ArchiverLimits limits;
  limits.retention = {std::chrono::hours(0), 2};
  CrowdedJobQueue jobs(jobs_);
  archiver_ = std::make_unique<Archiver>(world_.journal(), world_.ledger(), store_, jobs, limits);
  archiver_->start();
  advance(59s);
  jobs.is_full = true;
  advance(2s);
  jobs.is_full = false;
  for (std::uint64_t n = 1; n <= 9; ++n) world_.finish_new(n);
  advance(1s);
  ASSERT_EQ(store_.count().value(), 9U);
  advance(61s);
  EXPECT_EQ(store_.count().value(), 2U);
  archiver_.reset();
}

TEST_F(Archivers, a_task_stays_in_the_ledger_until_it_is_sealed) {
  start({}, 1s);
  const auto task = world_.finish_new(1);
  advance(400ms);
  EXPECT_TRUE(*store_.find(task));
  EXPECT_EQ(counters().finished_tasks, 1U) << "it is in both: the archive's copy may still be lost";
  advance(1s);
  EXPECT_EQ(counters().finished_tasks, 0U);
  EXPECT_EQ(archiver_->status().seals, 1U);
}

TEST_F(Archivers, seals_after_so_many_tasks_without_waiting) {
  ArchiverLimits limits;
  limits.batch_tasks = 2;
  limits.seal_tasks = 4;
  start(limits, 1h);
  for (std::uint64_t n = 1; n <= 3; ++n) world_.finish_new(n);
  advance(1s);
  EXPECT_EQ(counters().archived_up_to, 0U);
  world_.finish_new(4);
  advance(1s);
  EXPECT_EQ(counters().archived_up_to, 4U);
}

TEST_F(Archivers, keeps_tasks_in_the_ledger_while_a_seal_fails_and_says_so_at_once) {
  store_.fail_seal_with(ArchiveError{ArchiveError::Kind::io, "archive.sqlite", "sync failed"});
  start({}, 200ms);
  world_.finish_new(1);
  advance(1s);
  EXPECT_EQ(counters().finished_tasks, 1U);
  ASSERT_TRUE(told(ArchiverNews::Kind::failing));
  EXPECT_THAT(news_.front().text, HasSubstr("sync failed"));
  const auto count = news_.size();
  advance(5s);
  EXPECT_EQ(news_.size(), count) << "once, not at every attempt";
  store_.fail_seal_with(std::nullopt);
  advance(30s);
  EXPECT_TRUE(told(ArchiverNews::Kind::works_again));
  EXPECT_EQ(counters().finished_tasks, 0U);
}

TEST_F(Archivers, a_seal_that_waits_for_a_reader_is_no_failure_for_a_while) {
  store_.fail_seal_with(ArchiveError{ArchiveError::Kind::busy, "archive.sqlite", "read"});
  start();
  world_.finish_new(1);
  advance(20s);
  EXPECT_FALSE(told(ArchiverNews::Kind::failing));
  advance(15s);
  EXPECT_TRUE(told(ArchiverNews::Kind::failing));
}

TEST_F(Archivers, a_wall_clock_that_is_wrong_for_a_minute_removes_nothing) {
  ArchiverLimits limits;
  limits.retention = {24h * 90, 0};
  start(limits);
  const auto right = jobs_.wall_now();
  for (std::uint64_t n = 1; n <= 3; ++n) {
    const auto task = world_.submit(n);
    world_.complete(task, "1", right);
  }
  advance(1s);
  ASSERT_EQ(store_.count().value(), 3U);
  jobs_.set_wall(right + 100ULL * 24 * 3'600'000);
  // What finishes now has a wrong time, too: the newest finish alone is no proof.
  world_.complete(world_.submit(4), "1", jobs_.wall_now());
  jobs_.advance(3min);
  settle();
  EXPECT_EQ(store_.count().value(), 4U);
  jobs_.set_wall(right + 240'000);
  jobs_.advance(23h);
  settle();
  EXPECT_EQ(store_.count().value(), 4U);
  EXPECT_EQ(archiver_->status().clock_jumps, 1U);
  EXPECT_FALSE(archiver_->status().is_clock_agreed);
}

TEST_F(Archivers, removes_by_age_when_the_clock_has_gone_right_for_a_day_and_says_so) {
  ArchiverLimits limits;
  limits.retention = {1h, 0};
  start(limits);
  world_.complete(world_.submit(1), "1", jobs_.wall_now());
  advance(1s);
  jobs_.advance(25h);
  settle();
  EXPECT_EQ(store_.count().value(), 1U) << "it is the newest";
  world_.complete(world_.submit(2), "1", jobs_.wall_now());
  advance(1s);
  jobs_.advance(2min);
  settle();
  EXPECT_EQ(store_.count().value(), 1U);
  EXPECT_EQ(archiver_->status().removed, 1U);
  EXPECT_TRUE(told(ArchiverNews::Kind::removed));
}

TEST_F(Archivers, goes_on_with_the_clock_of_the_run_before) {
  ArchiverLimits limits;
  limits.retention = {1h, 0};
  start(limits);
  jobs_.advance(25h);
  archiver_.reset();
  jobs_.set_wall(jobs_.wall_now() + 100ULL * 24 * 3'600'000);
  start(limits);
  world_.complete(world_.submit(1), "1", jobs_.wall_now() - 90'000'000);
  world_.complete(world_.submit(2), "1", jobs_.wall_now());
  advance(1s);
  jobs_.advance(3min);
  settle();
  EXPECT_EQ(store_.count().value(), 2U) << "it was wrong when the program started";
}

TEST_F(Archivers, verifies_at_its_rate_and_tells_of_damage) {
  ArchiverLimits limits;
  limits.verify_rate = 2;
  for (std::uint64_t n = 1; n <= 6; ++n) world_.finish_new(n);
  start(limits);
  ASSERT_TRUE(store_.damage(5));
  advance(2s + 500ms);
  EXPECT_EQ(archiver_->status().checked, 4U);
  EXPECT_FALSE(told(ArchiverNews::Kind::damaged));
  advance(3s);
  EXPECT_TRUE(told(ArchiverNews::Kind::damaged));
  EXPECT_TRUE(told(ArchiverNews::Kind::verified));
  EXPECT_EQ(archiver_->status().damaged, 1U);
  EXPECT_EQ(archiver_->status().verified, 6U);
}

TEST_F(Archivers, begins_nothing_new_once_stopped) {
  start();
  archiver_->stop();
  world_.finish_new(1);
  advance(2s);
  EXPECT_EQ(store_.count().value(), 0U);
  EXPECT_EQ(counters().finished_tasks, 1U);
}

// A restart in each place between the store and the ledger: nothing is lost, nothing is there twice.
TEST(ArchiverRestart, catches_up_and_has_every_task_once) {
  const TestFolder folder;
  const auto path = folder.file(k_archive_file);
  {
    TestWorld world(folder.file("journal"));
    for (std::uint64_t n = 1; n <= 6; ++n) world.finish_new(n);
    // The store has some of them, and the ledger was never told.
    auto store = SqliteStore::open(path);
    ASSERT_TRUE(store);
    ASSERT_TRUE((*store)->insert(world.look([](ledger::Ledger& ledger) { return ledger.finished_after(0, 4); })));
  }
  auto store = SqliteStore::open(path);
  ASSERT_TRUE(store);
  ManualJobQueue jobs;
  TestWorld world(folder.file("journal"));
  {
    Archiver archiver(world.journal(), world.ledger(), **store, jobs);
    archiver.start();
    world.settle(jobs);
    jobs.advance(1s);
    world.settle(jobs);
  }
  EXPECT_EQ((*store)->count().value(), 6U);
  EXPECT_EQ((*store)->last().value(), 6U);
  const auto counters = world.look([](ledger::Ledger& ledger) { return ledger.counters(); });
  EXPECT_EQ(counters.finished_tasks, 0U);
  EXPECT_EQ(counters.archived_up_to, 6U);
}

}  // namespace
}  // namespace skein::inline v0::archive
