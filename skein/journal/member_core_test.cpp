#include "skein/journal/member_core.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "skein/journal/kv_machine.hpp"
#include "skein/journal/snapshot_file.hpp"
#include "skein/journal/test_disk.hpp"

namespace skein::journal {
namespace {

struct MemberTestMachine : KvMachine {
  std::string apply(Position position, std::string_view bytes) {
    if (bytes == "throw") throw std::runtime_error("on purpose");
    return KvMachine::apply(position, bytes);
  }
  std::shared_ptr<const Frozen> freeze() {
    if (throws == Throws::at_freeze) throw std::runtime_error("not now");
    if (throws == Throws::a_number_at_freeze) throw 7;  // NOLINT(hicpp-exception-baseclass): what others may throw
    if (throws == Throws::a_number_at_write) return std::make_shared<Unwritable>();
    return KvMachine::freeze();
  }
  bool restore(std::string_view bytes) {
    if (restore_throws) throw 7;  // NOLINT(hicpp-exception-baseclass)
    return KvMachine::restore(bytes);
  }

  struct Unwritable final : Frozen {
    void write(SnapshotSink& sink) const override {
      sink.write("begun");
      throw 7;  // NOLINT(hicpp-exception-baseclass)
    }
  };
  enum class Throws { nowhere, at_freeze, a_number_at_freeze, a_number_at_write };
  Throws throws = Throws::nowhere;
  static inline bool restore_throws = false;
};

// A new log begins with its configuration and its membership; each later start adds one entry, which says who leads.
constexpr Position k_founding = 2;

class MemberCoreTest : public testing::Test {
 protected:
  MemberCoreTest() {
    limits_.segment_bytes = 8192;
    limits_.first_segment_bytes = 8192;
    limits_.sector_bytes = 512;
    limits_.disk_low_water_bytes = 1000;
    limits_.snapshot_bytes = 1U << 30U;
  }
  // A new machine and core on the same disk, as after a restart.
  void open() {
    core_.reset();
    machine_ = std::make_unique<MemberTestMachine>();
    auto core = MemberCore::open(disk_, "d", *machine_, limits_);
    ASSERT_TRUE(core) << core.error().describe();
    core_ = std::move(*core);
  }
  StoreError open_error() {
    core_.reset();
    machine_ = std::make_unique<MemberTestMachine>();
    auto core = MemberCore::open(disk_, "d", *machine_, limits_);
    EXPECT_FALSE(core);
    return core ? StoreError{} : core.error();
  }
  void submit(std::string bytes, Urgency urgency = Urgency::ordinary) {
    answers_.emplace_back();
    core_->append(
        {{CommandId{1, ++last_id_}, std::move(bytes)}},
        [this, i = answers_.size() - 1](AppendAnswer a) { answers_[i] = std::move(a); }, urgency);
  }
  void add(int n) {
    for (int i = 0; i < n; ++i) {
      submit(kv_add("n", 1));
      core_->run_queued();
      run_jobs();
    }
  }
  // The next job, after what comes before it; and its result.
  std::optional<AsideJob> next_job() {
    core_->run_queued();
    return core_->take_job();
  }
  void job_done(AsideResult result) {
    core_->job_done(std::move(result));
    core_->run_queued();
  }
  void run_jobs() {
    while (auto job = next_job()) job_done(run_aside(*core_->job_disk(), *job));
  }
  Position snapshot() {
    Position at = 0;
    core_->request_snapshot([&](StoreResult<SnapshotInfo> info) { at = info ? info->position : 0; });
    run_jobs();
    return at;
  }
  void fail(TestDisk::Op op, DiskError::Code code) {
    disk_.fault = [=](TestDisk::Op asked, const std::string&) -> std::optional<DiskError::Code> {
      if (asked == op) return code;
      return std::nullopt;
    };
  }

  TestDisk disk_;
  JournalLimits limits_;
  std::unique_ptr<MemberTestMachine> machine_;
  std::unique_ptr<MemberCore> core_;
  std::deque<std::optional<AppendAnswer>> answers_;
  std::uint64_t last_id_ = 0;
};

TEST_F(MemberCoreTest, applies_and_answers_nothing_before_it_is_synced) {
  open();
  submit(kv_add("n", 1));
  ASSERT_TRUE(core_->step_write());
  core_->step_apply();
  EXPECT_EQ(machine_->get("n"), std::nullopt);
  EXPECT_FALSE(answers_[0]);
  core_->step_sync();
  EXPECT_FALSE(answers_[0]);
  core_->step_apply();
  ASSERT_TRUE(answers_[0]);
  EXPECT_EQ(answers_[0]->outcome, Outcome::applied);
  EXPECT_EQ(machine_->get("n"), "1");
}

TEST_F(MemberCoreTest, many_appends_are_one_write_and_one_sync) {
  open();
  for (int i = 0; i < 50; ++i) submit(kv_add("n", 1));
  disk_.done.clear();
  core_->run_queued();
  EXPECT_EQ(disk_.done.size(), 2U) << testing::PrintToString(disk_.done);
  EXPECT_EQ(machine_->get("n"), "50");
}

TEST_F(MemberCoreTest, comes_back_with_the_same_state_after_a_crash_and_after_a_close) {
  open();
  add(100);
  const auto digest = machine_->digest();
  open();
  EXPECT_EQ(machine_->digest(), digest);
  EXPECT_EQ(core_->replica().position(), k_founding + 101);
  core_->close();
  open();
  EXPECT_EQ(machine_->digest(), digest);
  EXPECT_EQ(core_->replica().position(), k_founding + 102);
}

TEST_F(MemberCoreTest, remembers_ids_across_a_restart) {
  open();
  add(3);
  open();
  last_id_ = 0;
  add(3);
  EXPECT_EQ(machine_->get("n"), "3");
  EXPECT_TRUE(answers_.back()->results[0].repeated);
}

TEST_F(MemberCoreTest, comes_back_from_a_snapshot_and_the_log_after_it) {
  open();
  add(100);
  EXPECT_EQ(snapshot(), k_founding + 100);
  const auto segments = core_->store().segment_count();
  add(30);
  EXPECT_LE(segments, 2U) << "the log before the snapshot is trimmed";
  open();
  EXPECT_EQ(core_->snapshot_position(), k_founding + 100);
  EXPECT_EQ(machine_->get("n"), "130");
  const auto hash = core_->replica().hash();
  const auto term = core_->consensus().term();
  EXPECT_EQ(core_->replica().position(), k_founding + 131);
  EXPECT_EQ(core_->replica().term(), term);
  EXPECT_NE(hash, Digest{});
}

TEST_F(MemberCoreTest, takes_snapshots_by_itself_when_the_log_has_grown) {
  limits_.snapshot_bytes = 5000;
  open();
  add(300);
  EXPECT_GT(core_->snapshot_position(), 0U);
  EXPECT_LT(core_->store().segment_count(), 6U);
  open();
  EXPECT_EQ(machine_->get("n"), "300");
}

TEST_F(MemberCoreTest, a_snapshot_does_not_see_what_is_applied_while_it_is_written) {
  open();
  add(10);
  core_->request_snapshot([](StoreResult<SnapshotInfo>) {});
  const auto job = next_job();
  ASSERT_TRUE(job && std::holds_alternative<SnapshotJob>(*job));
  submit(kv_add("n", 1));
  core_->run_queued();
  job_done(run_aside(*core_->job_disk(), *job));
  EXPECT_EQ(core_->snapshot_position(), k_founding + 10);
  open();
  EXPECT_EQ(machine_->get("n"), "11");
}

TEST_F(MemberCoreTest, a_failed_snapshot_is_told_and_harms_nothing) {
  open();
  add(10);
  int failed = 0;
  core_->on_event([&](const JournalEvent& e) { failed += e.kind == JournalEvent::Kind::snapshot_failed ? 1 : 0; });
  fail(TestDisk::Op::create, DiskError::Code::no_space);
  EXPECT_EQ(snapshot(), 0U);
  EXPECT_EQ(failed, 1);
  disk_.fault = nullptr;
  add(1);
  EXPECT_EQ(snapshot(), k_founding + 11);
}

// The failed sync may have been the one that the log's own names were waiting for.
TEST_F(MemberCoreTest, a_disk_failure_of_work_beside_the_log_stops_it_for_good) {
  using enum TestDisk::Op;
  for (const auto op : {write, sync, TestDisk::Op::rename, sync_dir}) {
    disk_.files.clear();
    open();
    add(1);
    core_->request_snapshot([](StoreResult<SnapshotInfo> info) { EXPECT_FALSE(info); });
    auto job = next_job();
    ASSERT_TRUE(job && std::holds_alternative<SnapshotJob>(*job));
    fail(op, DiskError::Code::io);
    const auto result = run_aside(*core_->job_disk(), *job);
    disk_.fault = nullptr;
    job_done(result);
    ASSERT_TRUE(core_->stopped()) << static_cast<int>(op);
    EXPECT_NE(core_->stopped()->find("check the disk"), std::string::npos) << *core_->stopped();
    submit(kv_add("n", 1));
    core_->run_queued();
    EXPECT_EQ(answers_.back()->outcome, Outcome::stopped);
  }
}

// A folder has names of everybody in it: when its sync fails, for whatever reason, those of the log may be lost too.
TEST_F(MemberCoreTest, a_spare_or_a_discard_that_can_not_be_synced_stops_it_and_want_of_room_does_not) {
  using enum TestDisk::Op;
  struct Case {
    TestDisk::Op op;
    DiskError::Code code;
    bool stops;
  };
  for (const auto& [op, code, stops] :
       {Case{sync_dir, DiskError::Code::io, true}, Case{sync_dir, DiskError::Code::no_space, true},
        Case{write, DiskError::Code::io, true}, Case{write, DiskError::Code::no_space, false},
        Case{sync, DiskError::Code::no_space, false}}) {
    disk_.files.clear();
    limits_.spares_kept = 1;
    open();
    for (int i = 0; i < 3; ++i) submit(kv_put("k", std::string(600, 'x')));
    core_->run_queued();
    auto job = next_job();
    ASSERT_TRUE(job && std::holds_alternative<SpareJob>(*job));
    fail(op, code);
    job_done(run_aside(*core_->job_disk(), *job));
    disk_.fault = nullptr;
    EXPECT_EQ(core_->stopped().has_value(), stops) << static_cast<int>(op);
  }
  limits_.spares_kept = 0;
  disk_.files.clear();
  open();
  add(20);
  core_->request_snapshot([](StoreResult<SnapshotInfo>) {});
  job_done(run_aside(*core_->job_disk(), next_job().value()));
  auto job = next_job();
  ASSERT_TRUE(job && std::holds_alternative<DiscardJob>(*job));
  fail(TestDisk::Op::remove, DiskError::Code::io);
  job_done(run_aside(*core_->job_disk(), *job));
  EXPECT_TRUE(core_->stopped());
}

TEST_F(MemberCoreTest, a_machine_that_can_not_be_frozen_or_written_costs_the_snapshot_and_nothing_else) {
  using enum MemberTestMachine::Throws;
  open();
  add(3);
  for (const auto where : {at_freeze, a_number_at_freeze, a_number_at_write}) {
    machine_->throws = where;
    EXPECT_EQ(snapshot(), 0U);
    EXPECT_FALSE(core_->stopped());
    EXPECT_EQ(std::ranges::count_if(disk_.files, [](const auto& file) { return file.first.ends_with(".tmp"); }), 0);
  }
  machine_->throws = nowhere;
  EXPECT_EQ(snapshot(), k_founding + 3);
}

TEST_F(MemberCoreTest, a_machine_that_throws_at_restore_is_told_and_nothing_is_touched) {
  open();
  add(3);
  EXPECT_EQ(snapshot(), k_founding + 3);
  core_.reset();
  const auto before = disk_.done.size();
  MemberTestMachine::restore_throws = true;
  const auto error = open_error();
  MemberTestMachine::restore_throws = false;
  EXPECT_NE(error.what.find("no std::exception"), std::string::npos) << error.what;
  EXPECT_EQ(disk_.done.size(), before);
  open();
  EXPECT_EQ(machine_->get("n"), "3");
}

TEST_F(MemberCoreTest, a_snapshot_asked_for_while_one_is_written_covers_what_was_applied_by_then) {
  open();
  add(10);
  Position first = 0;
  Position second = 0;
  core_->request_snapshot([&](StoreResult<SnapshotInfo> info) { first = info->position; });
  const auto job = next_job();
  ASSERT_TRUE(job && std::holds_alternative<SnapshotJob>(*job));
  submit(kv_add("n", 1));
  core_->run_queued();
  core_->request_snapshot([&](StoreResult<SnapshotInfo> info) { second = info->position; });
  job_done(run_aside(*core_->job_disk(), *job));
  EXPECT_EQ(first, k_founding + 10);
  EXPECT_EQ(second, 0U) << "the one that was under way does not cover it";
  run_jobs();
  EXPECT_EQ(second, k_founding + 11);
}

TEST_F(MemberCoreTest, trims_no_further_than_the_owner_allows) {
  limits_.spares_kept = 0;
  limits_.trim_limit = k_founding + 10;
  open();
  add(40);
  const auto entries_from = [this](Position from) {
    std::vector<Position> seen;
    EXPECT_TRUE(core_->store().read(from, [&](const EntryView& e) {
      seen.push_back(e.position);
      return true;
    }));
    return seen;
  };
  EXPECT_EQ(snapshot(), k_founding + 40);
  ASSERT_EQ(entries_from(k_founding + 11).size(), 30U);
  const auto segments = core_->store().segment_count();
  core_->set_trim_limit(k_founding + 30);
  run_jobs();
  EXPECT_LT(core_->store().segment_count(), segments);
  ASSERT_EQ(entries_from(k_founding + 31).size(), 10U);
  core_->set_trim_limit(k_no_trim_limit);
  run_jobs();
  EXPECT_LE(core_->store().segment_count(), 1U);
}

TEST_F(MemberCoreTest, trims_up_to_a_position_that_is_asked_for) {
  limits_.spares_kept = 0;
  limits_.trim_limit = 0;
  open();
  add(40);
  EXPECT_EQ(snapshot(), k_founding + 40);
  EXPECT_EQ(core_->store().segment_count(), 6U);
  core_->request_trim(20);
  run_jobs();
  EXPECT_EQ(core_->store().segment_count(), 6U) << "the limit comes first";
  core_->set_trim_limit(20);
  run_jobs();
  EXPECT_EQ(core_->store().segment_count(), 4U);
}

TEST_F(MemberCoreTest, a_failed_sync_makes_what_was_written_unknown_and_stops) {
  open();
  add(1);
  fail(TestDisk::Op::sync, DiskError::Code::io);
  submit(kv_add("n", 1));
  core_->run_queued();
  ASSERT_TRUE(answers_.back());
  EXPECT_EQ(answers_.back()->outcome, Outcome::unknown);
  EXPECT_EQ(machine_->get("n"), "1");
  disk_.fault = nullptr;
  submit(kv_add("n", 1));
  core_->run_queued();
  EXPECT_EQ(answers_.back()->outcome, Outcome::stopped);
  EXPECT_NE(answers_.back()->why.find("check the disk"), std::string::npos) << answers_.back()->why;
}

TEST_F(MemberCoreTest, no_room_for_a_segment_is_overload_and_passes_when_there_is_room) {
  open();
  fail(TestDisk::Op::create, DiskError::Code::no_space);
  do {
    submit(kv_put("k", std::string(500, 'x')));
    core_->run_queued();
  } while (answers_.back()->outcome == Outcome::applied);
  EXPECT_EQ(answers_.back()->outcome, Outcome::overloaded);
  disk_.fault = nullptr;
  add(1);
  EXPECT_EQ(answers_.back()->outcome, Outcome::applied);
}

TEST_F(MemberCoreTest, room_refused_for_a_segment_is_told_once_and_so_is_room_that_is_there_again) {
  open();
  std::vector<JournalEvent::Kind> told;
  core_->on_event([&](const JournalEvent& event) { told.push_back(event.kind); });
  fail(TestDisk::Op::create, DiskError::Code::no_space);
  do {
    submit(kv_put("k", std::string(500, 'x')));
    core_->run_queued();
  } while (answers_.back()->outcome == Outcome::applied);
  submit(kv_put("k", std::string(500, 'x')));
  core_->run_queued();
  core_->idle();
  run_jobs();
  EXPECT_TRUE(core_->admission().segment_refused());
  EXPECT_EQ(told, std::vector{JournalEvent::Kind::disk_low}) << "the disk itself has room";
  disk_.fault = nullptr;
  core_->idle();
  run_jobs();
  EXPECT_FALSE(core_->admission().segment_refused()) << "a spare could be made";
  EXPECT_EQ(told, (std::vector{JournalEvent::Kind::disk_low, JournalEvent::Kind::disk_ok}));
}

TEST_F(MemberCoreTest, under_the_low_water_mark_only_completions_are_taken) {
  open();
  disk_.room = 999;
  core_->check_disk();
  submit(kv_add("n", 1));
  EXPECT_EQ(answers_.back()->outcome, Outcome::overloaded);
  submit(kv_add("n", 1), Urgency::completion);
  core_->run_queued();
  EXPECT_EQ(answers_.back()->outcome, Outcome::applied);
  disk_.room = 5000;
  core_->idle();
  add(1);
  EXPECT_EQ(answers_.back()->outcome, Outcome::applied);
}

TEST_F(MemberCoreTest, a_throwing_entry_stops_every_start_until_it_is_skipped) {
  open();
  add(2);
  submit("throw");
  core_->run_queued();
  EXPECT_EQ(answers_.back()->outcome, Outcome::unknown);
  const auto error = open_error();
  EXPECT_EQ(error.kind, StoreError::Kind::stopped);
  EXPECT_NE(error.describe().find("position 5"), std::string::npos) << error.describe();
  {
    auto store = LogStore::open(disk_, "d", {}, 0);
    ASSERT_TRUE(store);
    const auto bytes = encode_skip(5);
    const EntryView skip{(*store)->next_position(), (*store)->last_term(), EntryKind::skip, {}, bytes};
    ASSERT_TRUE((*store)->append({&skip, 1}));
    ASSERT_TRUE((*store)->sync());
  }
  open();
  EXPECT_FALSE(core_->stopped());
  add(1);
  EXPECT_EQ(machine_->get("n"), "3");
}

TEST_F(MemberCoreTest, the_folders_id_limits_win_over_the_callers) {
  limits_.ids = {2, 50};
  open();
  add(5);
  limits_.ids = {1000, 1000};
  open();
  EXPECT_EQ(core_->replica().limits(), (IdLimits{2, 50}));
  add(1);
  EXPECT_EQ(snapshot(), k_founding + 7);
  open();
  EXPECT_EQ(core_->replica().limits(), (IdLimits{2, 50}));
}

TEST_F(MemberCoreTest, a_log_that_ends_before_what_was_decided_is_corruption) {
  open();
  add(200);
  core_->close();
  core_.reset();
  std::string last;
  for (const auto& [path, bytes] : disk_.files) {
    if (path.starts_with("d/seg-")) last = path;
  }
  disk_.files.erase(last);
  EXPECT_EQ(open_error().kind, StoreError::Kind::corrupt);
}

TEST_F(MemberCoreTest, close_records_what_was_written_and_not_yet_synced) {
  open();
  submit(kv_add("n", 1));
  ASSERT_TRUE(core_->step_write());
  core_->close();
  ASSERT_TRUE(answers_[0]);
  EXPECT_EQ(answers_[0]->outcome, Outcome::applied);
  const auto hard = load_hard_state(disk_, "d");
  ASSERT_TRUE(hard && *hard);
  EXPECT_EQ((*hard)->commit, k_founding + 1);
}

TEST_F(MemberCoreTest, a_missing_hard_state_or_log_is_corruption_and_nothing_is_touched) {
  open();
  add(3);
  core_->close();
  core_.reset();
  for (const std::string lost : {"d/hard-state", "d/seg-0000000000000001.log"}) {
    const auto kept = disk_.files.extract(lost);
    ASSERT_FALSE(kept.empty()) << lost;
    const auto before = disk_.files;
    EXPECT_EQ(open_error().kind, StoreError::Kind::corrupt) << lost;
    EXPECT_EQ(disk_.files, before) << lost;
    disk_.files[lost] = kept.mapped();
  }
  open();
  EXPECT_EQ(machine_->get("n"), "3");
}

TEST_F(MemberCoreTest, a_missing_snapshot_is_told_as_that) {
  open();
  add(100);
  ASSERT_EQ(snapshot(), k_founding + 100);
  add(5);
  core_.reset();
  const auto names = disk_.list("d");
  ASSERT_TRUE(names);
  for (const auto& name : *names) {
    if (!parse_snapshot_name(name)) continue;
    ASSERT_TRUE(disk_.remove("d/" + name));
  }
  const StoreError error = open_error();
  EXPECT_EQ(error.kind, StoreError::Kind::corrupt);
  EXPECT_NE(error.what.find("the snapshot that holds them"), std::string::npos) << error.what;
  EXPECT_EQ(error.describe().find("at byte"), std::string::npos) << error.describe();
  EXPECT_NE(error.describe().find("restore a backup"), std::string::npos);
}

TEST_F(MemberCoreTest, does_not_start_on_names_that_can_not_be_synced) {
  open();
  add(3);
  core_->close();
  fail(TestDisk::Op::sync_dir, DiskError::Code::io);
  EXPECT_EQ(open_error().kind, StoreError::Kind::io);
}

TEST_F(MemberCoreTest, a_second_opener_is_told_that_the_folder_is_taken) {
  open();
  MemberTestMachine other;
  auto second = MemberCore::open(disk_, "d", other, limits_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, StoreError::Kind::busy);
}

TEST_F(MemberCoreTest, a_rotten_byte_in_a_closed_log_is_never_silently_dropped) {
  open();
  add(20);
  core_->close();
  core_.reset();
  const std::string path = "d/" + segment_name(1);
  const std::string good = disk_.bytes_of(path);
  const auto used = good.find_last_not_of('\0') + 1;
  for (std::size_t byte = k_header_bytes; byte < used; byte += 13) {
    disk_.bytes_of(path) = good;
    disk_.bytes_of(path)[byte] ^= 0x20;
    EXPECT_EQ(open_error().kind, StoreError::Kind::corrupt) << "byte " << byte;
  }
}

}  // namespace
}  // namespace skein::journal
