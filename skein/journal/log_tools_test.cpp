#include "skein/journal/log_tools.hpp"

#include <gtest/gtest.h>

#include <utility>

#include "skein/journal/backup.hpp"
#include "skein/journal/embedded_core.hpp"
#include "skein/journal/kv_machine.hpp"
#include "skein/journal/log_repair.hpp"
#include "skein/journal/log_store.hpp"
#include "skein/journal/test_disk.hpp"

namespace skein::journal {
namespace {

// A journal of small segments on a disk in memory, and ways to damage it.
class LogToolsTest : public testing::Test {
 protected:
  LogToolsTest() {
    limits_.segment_bytes = 8192;
    limits_.first_segment_bytes = 8192;
    limits_.sector_bytes = 512;
    limits_.disk_low_water_bytes = 0;
    limits_.snapshot_bytes = 1U << 30U;
  }
  std::unique_ptr<EmbeddedCore> open(const std::string& dir = "d") {
    machine_ = std::make_unique<KvMachine>();
    auto core = EmbeddedCore::open(disk_, dir, *machine_, limits_);
    EXPECT_TRUE(core) << core.error().describe();
    return core ? std::move(*core) : nullptr;
  }
  void add(EmbeddedCore& core, int n) {
    for (int i = 0; i < n; ++i) {
      core.append({{CommandId{1, ++last_id_}, kv_put("key" + std::to_string(last_id_), "value")}}, [](AppendAnswer) {});
      core.run_queued();
    }
  }
  static void snapshot(EmbeddedCore& core) {
    core.request_snapshot([](StoreResult<SnapshotInfo>) {});
    while (auto job = core.take_job()) core.job_done(run_aside(*core.job_disk(), *job));
  }
  // Flips a bit in the first place where the text stands in a file whose name starts with `prefix`.
  void damage(std::string_view prefix, std::string_view text) {
    for (auto& [path, bytes] : disk_.files) {
      if (!path.starts_with(prefix)) continue;
      const auto at = bytes->find(text);
      if (at == std::string::npos) continue;
      (*bytes)[at] ^= 1;
      return;
    }
    FAIL() << text << " is nowhere";
  }
  Position last_of(const std::string& dir) {
    const auto image = verify_journal(disk_, dir);
    EXPECT_TRUE(image) << image.error().describe();
    return image ? image->log.last : 0;
  }

  TestDisk disk_;
  JournalLimits limits_;
  std::unique_ptr<KvMachine> machine_;
  std::uint64_t last_id_ = 0;
};

TEST_F(LogToolsTest, verify_says_what_is_there) {
  {
    auto core = open();
    add(*core, 100);
    snapshot(*core);
    add(*core, 5);
    core->close();
  }
  const auto image = verify_journal(disk_, "d");
  ASSERT_TRUE(image) << image.error().describe();
  EXPECT_EQ(image->snapshot->position, 100U);
  EXPECT_EQ(image->log.last, 105U);
  EXPECT_TRUE(image->log.clean);
  EXPECT_NE(image->describe().find("snapshot  at position 100"), std::string::npos) << image->describe();
}

TEST_F(LogToolsTest, a_folder_that_is_no_journal_is_refused_and_left_alone) {
  ASSERT_TRUE(disk_.open("other/file.txt", Disk::Mode::create));
  const auto before = disk_.files.size();
  EXPECT_EQ(verify_journal(disk_, "other").error().kind, StoreError::Kind::not_a_journal);
  EXPECT_EQ(plan_repair(disk_, "other").error().kind, StoreError::Kind::not_a_journal);
  EXPECT_EQ(back_up_journal(disk_, "other", "b").error().kind, StoreError::Kind::not_a_journal);
  EXPECT_EQ(append_skip(disk_, "other", 1).error().kind, StoreError::Kind::not_a_journal);
  EXPECT_EQ(disk_.files.size(), before);
}

TEST_F(LogToolsTest, dump_writes_a_line_per_entry) {
  {
    auto core = open();
    add(*core, 3);
  }
  std::vector<std::string> lines;
  const auto keep = [&](std::string_view line) {
    lines.emplace_back(line);
    return true;
  };
  ASSERT_TRUE(dump_journal(disk_, "d", DumpFormat::text, 2, keep));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_TRUE(lines[0].starts_with("2 term 1 command 00000000000000010000000000000002")) << lines[0];
  EXPECT_NE(lines[0].find("key2"), std::string::npos);
  lines.clear();
  ASSERT_TRUE(dump_journal(disk_, "d", DumpFormat::json, 1, keep));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_TRUE(lines[0].starts_with(R"({"position":1,"term":1,"kind":"command","id":")")) << lines[0];
  EXPECT_TRUE(lines[0].ends_with("\"}"));
}

TEST_F(LogToolsTest, a_dump_of_a_running_journal_says_what_was_dropped_before_it_came_to_it) {
  limits_.spares_kept = 0;
  auto core = open();
  add(*core, 40);
  ASSERT_GT(core->store().segment_count(), 3U);
  std::vector<std::string> lines;
  const auto dumped = dump_journal(disk_, "d", DumpFormat::text, 1, [&](std::string_view line) {
    if (lines.empty()) snapshot(*core);
    lines.emplace_back(line);
    return true;
  });
  ASSERT_FALSE(dumped);
  EXPECT_NE(dumped.error().describe().find("dropped positions 9 to "), std::string::npos) << dumped.error().describe();
  EXPECT_EQ(lines.size(), 8U);
}

TEST_F(LogToolsTest, skip_is_appended_to_a_closed_journal_only_and_only_for_what_is_to_be_applied) {
  {
    auto core = open();
    add(*core, 3);
    EXPECT_EQ(append_skip(disk_, "d", 2).error().kind, StoreError::Kind::busy);
  }
  EXPECT_FALSE(append_skip(disk_, "d", 4));
  EXPECT_FALSE(append_skip(disk_, "d", 0));
  EXPECT_EQ(append_skip(disk_, "d", 2).value(), 4U);
  const auto again = append_skip(disk_, "d", 2);
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().describe().find("skipped already"), std::string::npos) << again.error().describe();
  const auto of_a_skip = append_skip(disk_, "d", 4);
  ASSERT_FALSE(of_a_skip);
  EXPECT_NE(of_a_skip.error().describe().find("only commands"), std::string::npos) << of_a_skip.error().describe();
  auto core = open();
  EXPECT_EQ(machine_->get("key2"), std::nullopt);
  EXPECT_EQ(machine_->get("key3"), "value");
}

TEST_F(LogToolsTest, shows_what_a_skip_would_pass_over_and_changes_nothing) {
  {
    auto core = open();
    add(*core, 3);
    core->close();
  }
  const auto before = disk_.bytes_of("d/" + segment_name(1));
  const auto line = show_skip(disk_, "d", 2);
  ASSERT_TRUE(line) << line.error().describe();
  EXPECT_TRUE(line->starts_with("2 term 1 command")) << *line;
  EXPECT_NE(line->find("key2"), std::string::npos);
  EXPECT_FALSE(show_skip(disk_, "d", 4));
  EXPECT_EQ(disk_.bytes_of("d/" + segment_name(1)), before);
}

TEST_F(LogToolsTest, repair_refuses_to_drop_what_a_later_version_wrote) {
  {
    auto core = open();
    add(*core, 20);
    core->close();
  }
  {
    auto store = LogStore::open(disk_, "d", {}, 0);
    ASSERT_TRUE(store);
    const EntryView entry{(*store)->next_position(), 1, static_cast<EntryKind>(9), {3, 3}, "from the future"};
    ASSERT_TRUE((*store)->append({&entry, 1}));
    ASSERT_TRUE((*store)->sync());
  }
  for (const bool damaged_too : {false, true}) {
    if (damaged_too) damage("d/seg", "key3");
    const auto plan = plan_repair(disk_, "d");
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().kind, StoreError::Kind::version) << plan.error().describe();
    EXPECT_NE(plan.error().describe().find("use the version of skein that wrote it"), std::string::npos);
  }
}

TEST_F(LogToolsTest, repair_names_a_segment_that_is_lost_and_goes_on_without_it) {
  {
    auto core = open();
    add(*core, 20);
  }
  std::string last;
  for (const auto& [path, bytes] : disk_.files) {
    if (path.starts_with("d/seg-")) last = path;
  }
  disk_.files.erase(last);
  ASSERT_FALSE(verify_journal(disk_, "d"));
  const auto plan = plan_repair(disk_, "d");
  ASSERT_TRUE(plan) << plan.error().describe();
  EXPECT_NE(plan->describe().find(last + ": byte 0: missing"), std::string::npos) << plan->describe();
  ASSERT_TRUE(carry_out_repair(disk_, "d", *plan));
  EXPECT_EQ(last_of("d"), 16U);
}

TEST_F(LogToolsTest, repair_salvages_a_segment_whose_header_is_damaged) {
  {
    auto core = open();
    add(*core, 5);
  }
  disk_.bytes_of("d/" + segment_name(1))[20] ^= 1;
  const auto plan = plan_repair(disk_, "d");
  ASSERT_TRUE(plan) << plan.error().describe();
  EXPECT_EQ(plan->keep_last, 5U);
}

TEST_F(LogToolsTest, a_whole_journal_needs_no_repair) {
  {
    auto core = open();
    add(*core, 100);
  }
  const auto before = disk_.files.size();
  const auto plan = plan_repair(disk_, "d");
  ASSERT_TRUE(plan);
  EXPECT_FALSE(plan->needed);
  ASSERT_TRUE(carry_out_repair(disk_, "d", *plan));
  EXPECT_EQ(disk_.files.size(), before);
}

TEST_F(LogToolsTest, repair_keeps_what_lies_before_the_damage_and_says_what_it_drops) {
  {
    auto core = open();
    add(*core, 100);
  }
  damage("d/seg", "key70");
  ASSERT_FALSE(verify_journal(disk_, "d"));
  const auto plan = plan_repair(disk_, "d");
  ASSERT_TRUE(plan) << plan.error().describe();
  EXPECT_TRUE(plan->needed);
  EXPECT_EQ(plan->keep_last, 69U);
  EXPECT_EQ(plan->dropped, 30U);
  EXPECT_NE(plan->describe().find("dropped   positions 70 to 100"), std::string::npos) << plan->describe();
  EXPECT_FALSE(verify_journal(disk_, "d")) << "a plan changes nothing";
  const auto done = carry_out_repair(disk_, "d", *plan);
  ASSERT_TRUE(done) << done.error().describe();
  EXPECT_EQ(last_of("d"), 69U);
  auto core = open();
  EXPECT_EQ(machine_->size(), 69U);
}

TEST_F(LogToolsTest, repair_makes_a_missing_hard_state_anew_and_drops_nothing) {
  {
    auto core = open();
    add(*core, 10);
    core->close();
  }
  disk_.files.erase("d/hard-state");
  const auto plan = plan_repair(disk_, "d");
  ASSERT_TRUE(plan) << plan.error().describe();
  EXPECT_NE(plan->describe().find("d/hard-state: missing"), std::string::npos) << plan->describe();
  ASSERT_TRUE(carry_out_repair(disk_, "d", *plan));
  EXPECT_EQ(open()->replica().position(), 10U);
}

TEST_F(LogToolsTest, damage_before_the_snapshot_costs_nothing) {
  limits_.segment_bytes = limits_.first_segment_bytes = 1U << 20U;
  {
    auto core = open();
    add(*core, 50);
    snapshot(*core);
    add(*core, 30);
  }
  damage("d/seg", "key20");
  ASSERT_FALSE(verify_journal(disk_, "d"));
  const auto plan = plan_repair(disk_, "d");
  ASSERT_TRUE(plan) << plan.error().describe();
  EXPECT_EQ(plan->keep_last, 80U);
  EXPECT_EQ(plan->dropped, 0U);
  ASSERT_TRUE(carry_out_repair(disk_, "d", *plan));
  auto core = open();
  EXPECT_EQ(machine_->size(), 80U);
}

TEST_F(LogToolsTest, a_damaged_snapshot_is_rebuilt_from_the_log_when_that_is_all_there) {
  limits_.segment_bytes = limits_.first_segment_bytes = 1U << 20U;
  {
    auto core = open();
    add(*core, 50);
    snapshot(*core);
    add(*core, 10);
  }
  damage("d/snap", "key20");
  const auto plan = plan_repair(disk_, "d");
  ASSERT_TRUE(plan) << plan.error().describe();
  EXPECT_EQ(plan->snapshot, 0U);
  EXPECT_EQ(plan->keep_last, 60U);
  ASSERT_TRUE(carry_out_repair(disk_, "d", *plan));
  auto core = open();
  EXPECT_EQ(machine_->size(), 60U);
}

TEST_F(LogToolsTest, without_a_snapshot_or_a_beginning_only_a_backup_helps) {
  {
    auto core = open();
    add(*core, 200);
    snapshot(*core);
    add(*core, 10);
  }
  damage("d/snap", "key20");
  const auto plan = plan_repair(disk_, "d");
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().describe().find("restore a backup"), std::string::npos);
}

TEST_F(LogToolsTest, a_repair_that_is_cut_off_at_any_point_can_be_repaired_again) {
  {
    auto core = open();
    add(*core, 100);
    core->close();
  }
  damage("d/seg", "key70");
  std::map<std::string, std::string> damaged;
  for (const auto& [path, bytes] : disk_.files) damaged[path] = *bytes;
  int cut_at = 0;
  for (bool finished = false; !finished; ++cut_at) {
    disk_.files.clear();
    for (const auto& [path, bytes] : damaged) disk_.files[path] = std::make_shared<std::string>(bytes);
    int step = 0;
    disk_.fault = [&](TestDisk::Op, const std::string&) -> std::optional<DiskError::Code> {
      if (step++ >= cut_at) return DiskError::Code::io;
      return std::nullopt;
    };
    finished = carry_out_repair(disk_, "d", plan_repair(disk_, "d").value()).has_value();
    disk_.fault = nullptr;
    const auto again = plan_repair(disk_, "d");
    ASSERT_TRUE(again) << "cut at " << cut_at << ": " << again.error().describe();
    ASSERT_TRUE(carry_out_repair(disk_, "d", *again)) << "cut at " << cut_at;
    EXPECT_EQ(last_of("d"), 69U) << "cut at " << cut_at;
  }
  EXPECT_GT(cut_at, 5);
}

TEST_F(LogToolsTest, a_backup_of_a_running_journal_restores_to_the_same_state) {
  auto core = open();
  add(*core, 150);
  snapshot(*core);
  add(*core, 20);
  const auto digest = machine_->digest();
  const auto backed_up = back_up_journal(disk_, "d", "b");
  ASSERT_TRUE(backed_up) << backed_up.error().describe();
  EXPECT_EQ(backed_up->log.last, 170U);
  add(*core, 5);
  core.reset();
  ASSERT_TRUE(back_up_journal(disk_, "b", "r"));
  core = open("r");
  EXPECT_EQ(machine_->digest(), digest);
}

TEST_F(LogToolsTest, a_backup_takes_along_the_segments_that_are_begun_while_it_is_made) {
  auto core = open();
  add(*core, 20);
  disk_.fault = [&](TestDisk::Op op, const std::string& path) -> std::optional<DiskError::Code> {
    if (op == TestDisk::Op::create && path == "b.unfinished/hard-state") add(*core, 20);
    return std::nullopt;
  };
  const auto backed_up = back_up_journal(disk_, "d", "b");
  ASSERT_TRUE(backed_up) << backed_up.error().describe();
  EXPECT_EQ(backed_up->log.last, 40U) << "at the first try";
}

TEST_F(LogToolsTest, a_backup_copies_again_what_was_half_full_when_the_next_segment_was_begun) {
  auto core = open();
  add(*core, 3);
  bool once = false;
  disk_.fault = [&](TestDisk::Op op, const std::string& path) -> std::optional<DiskError::Code> {
    if (op == TestDisk::Op::create && path.starts_with("b.unfinished/seg-") && !std::exchange(once, true))
      add(*core, 20);
    return std::nullopt;
  };
  const auto backed_up = back_up_journal(disk_, "d", "b");
  ASSERT_TRUE(backed_up) << backed_up.error().describe();
  EXPECT_EQ(backed_up->log.last, 23U);
}

TEST_F(LogToolsTest, a_backup_never_overwrites_and_never_copies_damage) {
  {
    auto core = open();
    add(*core, 100);
  }
  ASSERT_TRUE(back_up_journal(disk_, "d", "b"));
  EXPECT_FALSE(back_up_journal(disk_, "d", "b")) << "it is there already";
  damage("d/seg", "key70");
  const auto bad = back_up_journal(disk_, "d", "c");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().kind, StoreError::Kind::corrupt);
  for (const auto& [path, bytes] : disk_.files) EXPECT_FALSE(path.starts_with("c")) << path;
}

}  // namespace
}  // namespace skein::journal
