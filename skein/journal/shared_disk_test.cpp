#include "skein/journal/shared_disk.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>

#include "skein/journal/embedded_core.hpp"
#include "skein/journal/kv_machine.hpp"
#include "skein/journal/test_disk.hpp"

namespace skein::journal {
namespace {

TEST(SharedDiskTest, once_a_sync_of_the_folder_has_failed_every_later_one_fails_and_the_disk_is_not_asked_again) {
  for (const auto code : {DiskError::Code::io, DiskError::Code::no_space}) {
    TestDisk below;
    SharedDisk disk(below);
    ASSERT_TRUE(disk.sync_dir("d"));
    EXPECT_FALSE(disk.failed());
    below.fault = [&](TestDisk::Op, const std::string&) { return std::optional(code); };
    ASSERT_FALSE(disk.sync_dir("d"));
    below.fault = nullptr;  // the system has told its one failure
    const auto later = disk.sync_dir("d");
    ASSERT_FALSE(later);
    EXPECT_EQ(later.error().code, code);
    EXPECT_EQ(below.done.size(), 2U);
    EXPECT_TRUE(disk.failed());
    EXPECT_EQ(disk.failure()->what, later.error().what);
  }
}

TEST(SharedDiskTest, a_failure_of_anything_else_is_not_the_folder_s) {
  TestDisk below;
  SharedDisk disk(below);
  below.fault = [](TestDisk::Op op, const std::string&) {
    return op == TestDisk::Op::sync_dir ? std::nullopt : std::optional(DiskError::Code::io);
  };
  EXPECT_FALSE(disk.open("d/x", Disk::Mode::create));
  EXPECT_FALSE(disk.rename("d/x", "d/y"));
  EXPECT_FALSE(disk.remove("d/x"));
  EXPECT_FALSE(disk.failed());
  EXPECT_TRUE(disk.sync_dir("d"));
}

// Its first sync fails, and the failure is told, as by the system, before the caller gets to hear of it; all others
// succeed.
class OneFailure {
 public:
  std::optional<DiskError::Code> next() {
    std::unique_lock lock(mutex_);
    const bool first = ++asked_ == 1;
    changed_.notify_all();
    if (!first) return std::nullopt;
    // The other gets its chance. It must not take it, so this wait is a bound and not an event.
    changed_.wait_for(lock, std::chrono::milliseconds(50), [this] { return asked_ > 1; });
    return DiskError::Code::io;
  }
  void await_asked() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return asked_ > 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int asked_ = 0;
};

TEST(SharedDiskTest, a_sync_that_comes_while_another_is_about_to_fail_does_not_succeed) {
  TestDisk below;
  SharedDisk disk(below);
  OneFailure failure;
  below.fault = [&](TestDisk::Op, const std::string&) { return failure.next(); };
  auto first = std::async(std::launch::async, [&] { return disk.sync_dir("d").has_value(); });
  failure.await_asked();
  EXPECT_FALSE(disk.sync_dir("d"));
  EXPECT_FALSE(first.get());
}

// A log with one entry and a snapshot of it to be written, beside what else the log does.
class SharedFolderTest : public testing::Test {
 protected:
  SharedFolderTest() {
    JournalLimits limits;
    limits.segment_bytes = 8192;
    limits.first_segment_bytes = 8192;
    limits.sector_bytes = 512;
    limits.disk_low_water_bytes = 0;
    limits.spares_kept = 0;
    core_ = std::move(EmbeddedCore::open(disk_, "d", machine_, limits).value());
    submit();
    core_->run_queued();
    core_->request_snapshot([](StoreResult<SnapshotInfo>) {});
    job_ = core_->take_job();
  }
  void submit() {
    answer_.reset();
    core_->append({{CommandId{1, ++last_id_}, kv_put("k", std::string(600, 'x'))}},
                  [this](AppendAnswer answer) { answer_ = answer.outcome; });
  }

  TestDisk disk_;
  KvMachine machine_;
  std::unique_ptr<EmbeddedCore> core_;
  std::optional<AsideJob> job_;
  std::optional<Outcome> answer_;
  std::uint64_t last_id_ = 0;
};

// The snapshot's sync is the first to hear, in the middle of the roll-over's own sync, which comes after its rename.
// `skein-sim log --seed 9023002` is such a story.
TEST_F(SharedFolderTest, a_roll_over_does_not_trust_its_folder_after_a_snapshot_s_sync_of_it_failed) {
  ASSERT_TRUE(job_ && std::holds_alternative<SnapshotJob>(*job_));
  std::optional<AsideResult> result;
  bool in_job = false;
  disk_.fault = [&](TestDisk::Op op, const std::string&) -> std::optional<DiskError::Code> {
    if (op != TestDisk::Op::sync_dir) return std::nullopt;
    if (in_job) return DiskError::Code::io;
    if (!result) {
      in_job = true;
      result = run_aside(*core_->job_disk(), *job_);
      in_job = false;
    }
    return std::nullopt;
  };
  for (int i = 0; i < 20 && !core_->stopped(); ++i) {
    submit();
    core_->run_queued();
    EXPECT_EQ(answer_, result ? Outcome::unknown : Outcome::applied) << i;
  }
  ASSERT_TRUE(result);
  EXPECT_NE(error_of(*result), nullptr);
  ASSERT_TRUE(core_->stopped());
  EXPECT_NE(core_->stopped()->find("sync_dir"), std::string::npos) << *core_->stopped();
}

// The result of the work may wait behind much else that the log has to do.
TEST_F(SharedFolderTest, nothing_is_answered_after_a_sync_of_the_folder_failed_beside_the_log) {
  submit();
  ASSERT_TRUE(core_->write());
  disk_.fault = [](TestDisk::Op op, const std::string&) {
    return op == TestDisk::Op::sync_dir ? std::optional(DiskError::Code::no_space) : std::nullopt;
  };
  const auto result = run_aside(*core_->job_disk(), job_.value());
  disk_.fault = nullptr;
  core_->sync();
  core_->apply();
  EXPECT_EQ(answer_, Outcome::unknown);
  EXPECT_TRUE(core_->stopped());
  core_->job_done(result);
  EXPECT_TRUE(core_->stopped());
}

}  // namespace
}  // namespace skein::journal
