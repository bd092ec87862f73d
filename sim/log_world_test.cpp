#include "sim/log_world.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <string_view>

namespace skein::sim {
namespace {

using journal::EmbeddedCore;

// What has to come about in any larger number of stories: a fault that is never met proves nothing.
constexpr auto k_faults = std::to_array<std::string_view>({
    "slow sync",
    "job beside the log during a slow sync",
    "job beside another during a slow sync",
    "name lost by a job during another's slow sync",
    "sector written back before its sync",
    "killed in the middle of a step",
    "unsynced write torn",
    "unsynced write lost",
    "create lost",
    "rename lost",
    "remove lost",
    "name kept though an earlier one is lost",
    "EIO of write seg",
    "EIO of sync seg",
    "EIO of sync folder",
    "EIO of rename spare",
    "EIO of write snap.tmp",
    "EIO of sync snap.tmp",
    "ENOSPC of write seg",
    "ENOSPC of sync seg",
    "ENOSPC of sync folder",
    "ENOSPC since the disk was full",
    "sector lost by a failed sync",
    "name lost by a failed sync of its folder",
    "stopped at write seg",
    "stopped at sync seg",
    "stopped at rename seg",
    "stopped at remove seg",
    "stopped at create seg.tmp",
    "stopped at write seg.tmp",
    "stopped at sync seg.tmp",
    "stopped at rename seg.tmp",
    "stopped at write spare",
    "stopped at sync spare",
    "stopped at rename spare",
    "stopped at create spare.tmp",
    "stopped at write spare.tmp",
    "stopped at sync spare.tmp",
    "stopped at rename spare.tmp",
    "stopped at create snap.tmp",
    "stopped at write snap.tmp",
    "stopped at sync snap.tmp",
    "stopped at rename snap.tmp",
    "stopped at remove snap",
    "stopped at create hard-state.tmp",
    "stopped at write hard-state.tmp",
    "stopped at sync hard-state.tmp",
    "stopped at rename hard-state.tmp",
    "stopped at sync folder",
    "bit flip of a closed log",
    "rotten sector of a closed log",
    "unreadable sector of a closed log",
    "short file of a closed log",
    "lost file of a closed log",
    "bit flip of a crashed log",
    "rotten sector of a crashed log",
    "unreadable sector of a crashed log",
    "short file of a crashed log",
    "lost file of a crashed log",
});

TEST(LogWorld, holds_what_it_promises_in_a_thousand_stories_and_meets_every_fault_in_them) {
  Tally met;
  for (std::uint64_t seed = 1'000'001; seed <= 1'001'000; ++seed) {
    const auto story = tell_log_story(seed, false);
    ASSERT_FALSE(story.violation) << *story.violation << "\nagain: skein-sim log --seed " << seed << " --trace";
    for (const auto& [what, times] : story.tally) met[what] += times;
  }
  for (const auto& what : k_faults) EXPECT_GT(met[std::string(what)], 0U) << what;
}

TEST(LogWorld, tells_the_same_story_from_the_same_seed) {
  const auto once = tell_log_story(7, true);
  const auto again = tell_log_story(7, true);
  EXPECT_GT(once.trace.size(), 10U);
  EXPECT_EQ(once.trace, again.trace);
}

// A fixed course through everything that writes: appends over several segments, a snapshot, a trim, a close.
class Course {
 public:
  Course(SimDisk& disk, LogOracle& oracle) : disk_(disk), oracle_(oracle) {
    limits_.segment_bytes = 8192;
    limits_.first_segment_bytes = 8192;
    limits_.sector_bytes = 512;
    limits_.snapshot_bytes = 6000;
    limits_.ids.ids_kept = 1000;
    limits_.disk_low_water_bytes = 0;
  }

  void run() {
    start();
    for (int i = 0; i < 12 && !oracle_.violation(); ++i) {
      append();
      core_->run_queued();
      while (auto job = core_->take_job()) core_->job_done(run_aside(*core_->job_disk(), *job));
      if (i == 6) core_->idle();
    }
    core_->close();
    core_.reset();
  }

  void start() {
    core_.reset();
    machine_ = std::make_unique<HistoryMachine>();
    auto core = EmbeddedCore::open(disk_, k_sim_dir, *machine_, limits_);
    if (!core) return oracle_.violated(core.error().describe());
    core_ = std::move(*core);
    oracle_.started(core_->replica().position(), core_->replica().hash(), machine_->steps());
    machine_->on_apply = [this](journal::Position p, std::string_view bytes) { oracle_.applied(p, bytes); };
  }

  void power_cut() {
    core_.reset();
    disk_.lose_power();
  }

 private:
  void append() {
    auto batch = oracle_.new_batch(3, 300);
    const Serial first = batch.front().id.low - 1;
    oracle_.submitted(first);
    core_->append(std::move(batch),
                  [this, first](const journal::AppendAnswer& answer) { oracle_.answered(first, answer); });
  }

  SimDisk& disk_;
  LogOracle& oracle_;
  journal::JournalLimits limits_;
  std::unique_ptr<HistoryMachine> machine_;
  std::unique_ptr<EmbeddedCore> core_;
};

TEST(LogWorld, survives_a_power_cut_at_every_persistence_point_of_a_course) {
  SimDisk whole(1);
  LogOracle watching(false);
  Course(whole, watching).run();
  ASSERT_FALSE(watching.violation()) << *watching.violation();
  ASSERT_GT(whole.points(), 60U);
  for (std::uint64_t point = 1; point <= whole.points(); ++point) {
    SimDisk disk(point);
    LogOracle oracle(false);
    Course course(disk, oracle);
    disk.cut_power_at(point);
    EXPECT_THROW(course.run(), PowerCut);
    course.power_cut();
    course.start();
    EXPECT_FALSE(oracle.violation()) << "cut at point " << point << ": " << *oracle.violation();
  }
}

}  // namespace
}  // namespace skein::sim
