#include "skein/journal/log_store.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "skein/base/crc32c.hpp"
#include "skein/journal/file_disk.hpp"
#include "skein/journal/test_disk.hpp"

namespace skein::journal {
namespace {

StoreOptions small() {
  StoreOptions options;
  options.segment_bytes = 8192;
  options.first_segment_bytes = 8192;
  options.batch_align = 512;
  return options;
}

class LogStoreTest : public testing::Test {
 protected:
  std::unique_ptr<LogStore> open(Position snapshot = 0) {
    auto store = LogStore::open(disk_, "d", small(), snapshot);
    EXPECT_TRUE(store) << store.error().describe();
    return store ? std::move(*store) : nullptr;
  }
  StoreError open_error(Position snapshot = 0) {
    auto store = LogStore::open(disk_, "d", small(), snapshot);
    EXPECT_FALSE(store) << "damage went unnoticed";
    return store ? StoreError{} : store.error();
  }
  static StoreResult<void> append(LogStore& store, const std::string& text, bool sync = true) {
    const Term term = std::max<Term>(store.last_term(), 1);
    const EntryView entry{store.next_position(), term, EntryKind::command, {0, store.next_position()}, text};
    if (auto ok = store.append({&entry, 1}); !ok) return ok;
    if (sync) return store.sync();
    return {};
  }
  static std::vector<std::string> texts(const LogStore& store, Position from = 1) {
    std::vector<std::string> out;
    EXPECT_TRUE(store.read(from, [&](const EntryView& e) {
      out.emplace_back(e.bytes);
      return true;
    }));
    return out;
  }
  void append_all(LogStore& store, int n, std::size_t bytes = 100) {
    for (int i = 0; i < n; ++i) ASSERT_TRUE(append(store, std::string(bytes, static_cast<char>('a' + i % 26))));
  }
  std::string segment(std::uint64_t id) { return "d/" + segment_name(id); }
  std::string last_segment() {
    std::string last;
    for (const auto& [path, bytes] : disk_.files) {
      if (path.starts_with("d/seg-")) last = path;
    }
    return last;
  }
  // Where the bytes of a text stand in a segment.
  std::size_t where(const std::string& path, std::string_view text) { return disk_.bytes_of(path).find(text); }

  TestDisk disk_;
};

TEST_F(LogStoreTest, hands_back_what_was_appended_after_a_clean_close) {
  {
    auto store = open();
    ASSERT_TRUE(append(*store, "one"));
    ASSERT_TRUE(append(*store, "two"));
    ASSERT_TRUE(store->mark_idle());
  }
  auto store = open();
  EXPECT_EQ(texts(*store), (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(texts(*store, 2), (std::vector<std::string>{"two"}));
  EXPECT_EQ(store->segment_count(), 1U) << "a clean log goes on in place";
  ASSERT_TRUE(append(*store, "three"));
  EXPECT_EQ(store->last_position(), 3U);
}

TEST_F(LogStoreTest, copies_what_lies_past_the_mark_and_syncs_it_before_handing_it_out) {
  {
    auto store = open();
    ASSERT_TRUE(append(*store, "one"));
    ASSERT_TRUE(append(*store, "two", false));
  }
  disk_.done.clear();
  auto store = open();
  EXPECT_EQ(texts(*store), (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(store->durable_position(), 2U);
  EXPECT_NE(std::ranges::find(disk_.done, "sync " + segment_name(2) + ".tmp"), disk_.done.end());
  EXPECT_NE(where(segment(2), "two"), std::string::npos);
  EXPECT_EQ(where(segment(2), "one"), std::string::npos) << "what was durable stays where it is";
}

// Killed between a rename and the sync of the folder, a program leaves names that a power cut may still take back.
TEST_F(LogStoreTest, syncs_the_folder_at_open_before_it_builds_on_it) {
  {
    auto store = open();
    ASSERT_TRUE(store->mark_idle());
  }
  disk_.done.clear();
  auto store = open();
  ASSERT_FALSE(disk_.done.empty());
  EXPECT_EQ(disk_.done.front(), "sync_dir d");
}

TEST_F(LogStoreTest, cuts_a_torn_tail_beyond_the_mark) {
  {
    auto store = open();
    ASSERT_TRUE(append(*store, "one"));
    ASSERT_TRUE(append(*store, "two"));
  }
  disk_.bytes_of(segment(1))[where(segment(1), "two")] = 'X';
  auto store = open();
  EXPECT_EQ(texts(*store), (std::vector<std::string>{"one"}));
  EXPECT_GT(store->cut_bytes(), 0U);
  ASSERT_TRUE(append(*store, "again"));
  EXPECT_EQ(store->last_position(), 2U);
}

TEST_F(LogStoreTest, reports_damage_that_a_later_batch_gives_away) {
  {
    auto store = open();
    for (const auto* text : {"one", "two", "three"}) ASSERT_TRUE(append(*store, text));
  }
  disk_.bytes_of(segment(1))[where(segment(1), "two")] = 'X';
  const auto error = open_error();
  EXPECT_EQ(error.kind, StoreError::Kind::corrupt);
  EXPECT_EQ(error.file, segment(1));
  EXPECT_NE(error.describe().find("skein log repair"), std::string::npos);
}

TEST_F(LogStoreTest, reports_a_rotten_last_batch_of_a_cleanly_closed_log) {
  {
    auto store = open();
    ASSERT_TRUE(append(*store, "one"));
    ASSERT_TRUE(append(*store, "two"));
    ASSERT_TRUE(store->mark_idle());
  }
  disk_.bytes_of(segment(1))[where(segment(1), "two")] = 'X';
  EXPECT_EQ(open_error().kind, StoreError::Kind::corrupt);
}

TEST_F(LogStoreTest, reports_a_segment_shorter_than_it_was_made) {
  {
    auto store = open();
    ASSERT_TRUE(append(*store, "one"));
  }
  disk_.bytes_of(segment(1)).resize(5000);
  EXPECT_EQ(open_error().kind, StoreError::Kind::corrupt);
}

TEST_F(LogStoreTest, reports_a_damaged_header) {
  {
    auto store = open();
  }
  disk_.bytes_of(segment(1))[20] ^= 1;
  EXPECT_EQ(open_error().kind, StoreError::Kind::corrupt);
}

TEST_F(LogStoreTest, refuses_a_later_format_without_calling_it_damage) {
  {
    auto store = open();
  }
  auto& bytes = disk_.bytes_of(segment(1));
  bytes[8] = 99;
  put_u32_at(bytes, k_sector_bytes - 4, crc32c(std::string_view(bytes).substr(0, k_sector_bytes - 4)));
  EXPECT_EQ(open_error().kind, StoreError::Kind::version);
}

TEST_F(LogStoreTest, rolls_over_and_reads_across_segments) {
  {
    auto store = open();
    append_all(*store, 200);
    EXPECT_GT(store->segment_count(), 3U);
    EXPECT_EQ(texts(*store).size(), 200U);
  }
  auto store = open();
  EXPECT_EQ(store->last_position(), 200U);
  EXPECT_EQ(texts(*store, 150).size(), 51U);
}

TEST_F(LogStoreTest, takes_a_prepared_spare_at_roll_over) {
  auto store = open();
  const auto job = store->take_spare_job();
  ASSERT_TRUE(job);
  EXPECT_FALSE(store->take_spare_job()) << "one at a time";
  store->spare_done(run(disk_, *job));
  disk_.done.clear();
  append_all(*store, 40);
  EXPECT_NE(std::ranges::find(disk_.done, "rename " + spare_name(1)), disk_.done.end());
}

TEST_F(LogStoreTest, a_missing_segment_is_corruption) {
  {
    auto store = open();
    append_all(*store, 200);
  }
  disk_.files.erase(segment(2));
  EXPECT_EQ(open_error().kind, StoreError::Kind::corrupt);
}

TEST_F(LogStoreTest, trims_only_what_the_snapshot_covers) {
  auto store = open();
  append_all(*store, 200);
  const auto before = store->segment_count();
  const auto job = store->trim(100);
  ASSERT_TRUE(job);
  EXPECT_LT(store->segment_count(), before);
  EXPECT_EQ(job->recycle, 2U);
  store->discard_done(run(disk_, *job));
  EXPECT_EQ(texts(*store, 101).size(), 100U);
  EXPECT_FALSE(store->take_spare_job()) << "recycled segments are spares enough";
  store.reset();
  EXPECT_EQ(texts(*open(100), 101).size(), 100U);
}

TEST_F(LogStoreTest, old_records_in_a_recycled_segment_never_pass) {
  auto store = open();
  append_all(*store, 100);
  store->discard_done(run(disk_, *store->trim(80)));
  append_all(*store, 60);
  ASSERT_NE(disk_.files.size(), 0U);
  store.reset();
  auto again = open(80);
  EXPECT_EQ(again->last_position(), 160U);
  EXPECT_EQ(texts(*again, 81).size(), 80U);
}

TEST_F(LogStoreTest, damage_before_the_snapshot_in_obsolete_segments_does_not_matter) {
  {
    auto store = open();
    append_all(*store, 200);
  }
  disk_.bytes_of(segment(1))[20] ^= 1;
  EXPECT_EQ(texts(*open(150), 151).size(), 50U);
  EXPECT_FALSE(disk_.files.contains(segment(1)));
}

TEST_F(LogStoreTest, a_failed_sync_stops_it_for_good) {
  auto store = open();
  ASSERT_TRUE(append(*store, "one"));
  disk_.fault = [](TestDisk::Op op, const std::string&) -> std::optional<DiskError::Code> {
    if (op == TestDisk::Op::sync) return DiskError::Code::io;
    return std::nullopt;
  };
  const auto failed = append(*store, "two");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, StoreError::Kind::io);
  disk_.fault = nullptr;
  const auto after = append(*store, "three");
  ASSERT_FALSE(after);
  EXPECT_EQ(after.error().kind, StoreError::Kind::stopped);
  EXPECT_FALSE(store->mark_idle());
  EXPECT_EQ(store->durable_position(), 1U);
}

TEST_F(LogStoreTest, a_failed_write_stops_it_even_when_it_was_for_want_of_room) {
  auto store = open();
  disk_.fault = [](TestDisk::Op op, const std::string&) -> std::optional<DiskError::Code> {
    if (op == TestDisk::Op::write) return DiskError::Code::no_space;
    return std::nullopt;
  };
  EXPECT_EQ(append(*store, "one").error().kind, StoreError::Kind::io);
  EXPECT_EQ(append(*store, "one").error().kind, StoreError::Kind::stopped);
}

TEST_F(LogStoreTest, no_room_for_a_new_segment_harms_nothing) {
  auto store = open();
  disk_.fault = [](TestDisk::Op op, const std::string&) -> std::optional<DiskError::Code> {
    if (op == TestDisk::Op::create) return DiskError::Code::no_space;
    return std::nullopt;
  };
  StoreResult<void> last;
  while (last) last = append(*store, std::string(500, 'x'));
  EXPECT_EQ(last.error().kind, StoreError::Kind::no_space);
  const auto reached = store->last_position();
  disk_.fault = nullptr;
  EXPECT_TRUE(append(*store, "room again"));
  EXPECT_EQ(store->last_position(), reached + 1);
}

TEST_F(LogStoreTest, a_batch_larger_than_a_segment_gets_one_of_its_own) {
  {
    auto store = open();
    ASSERT_TRUE(append(*store, std::string(50'000, 'L')));
    ASSERT_TRUE(append(*store, "small"));
  }
  auto store = open();
  const auto all = texts(*store);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].size(), 50'000U);
}

TEST_F(LogStoreTest, a_later_batch_replaces_a_tail) {
  {
    auto store = open();
    append_all(*store, 150);
    const EntryView entry{20, 2, EntryKind::command, {9, 9}, "instead"};
    ASSERT_TRUE(store->append({&entry, 1}));
    ASSERT_TRUE(store->sync());
    EXPECT_EQ(store->last_position(), 20U);
    ASSERT_TRUE(append(*store, "and on", false));
  }
  auto store = open();
  const auto all = texts(*store, 19);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[1], "instead");
  EXPECT_EQ(all[2], "and on");
}

TEST_F(LogStoreTest, a_skip_goes_with_the_tail_that_held_it) {
  const auto skip = [](Position at, const std::string& bytes) { return EntryView{at, 1, EntryKind::skip, {}, bytes}; };
  const std::string of_five = encode_skip(5);
  const std::string of_six = encode_skip(6);
  {
    auto store = open();
    append_all(*store, 10);
    for (const auto& entry : {skip(11, of_five), skip(12, of_six)}) {
      ASSERT_TRUE(store->append({&entry, 1}));
      ASSERT_TRUE(store->sync());
    }
  }
  {
    auto store = open();
    ASSERT_EQ(store->skips().size(), 2U);
    const EntryView entry{12, 2, EntryKind::command, {9, 9}, "instead"};
    ASSERT_TRUE(store->append({&entry, 1}));
    ASSERT_TRUE(store->sync());
    EXPECT_EQ(store->skips().size(), 1U);
  }
  const auto store = open();
  ASSERT_EQ(store->skips().size(), 1U);
  EXPECT_EQ(store->skips()[0].skipped, 5U);
}

TEST_F(LogStoreTest, the_folders_id_limits_win) {
  auto options = small();
  options.ids = {10, 20};
  {
    ASSERT_TRUE(LogStore::open(disk_, "d", options, 0));
  }
  EXPECT_EQ(open()->ids(), (IdLimits{10, 20}));
}

TEST_F(LogStoreTest, opening_again_and_again_leaves_no_pile_of_segments) {
  for (int i = 0; i < 10; ++i) {
    auto store = open();
    disk_.bytes_of(last_segment())[k_header_bytes + 100] = 'x';
  }
  EXPECT_LE(open()->segment_count(), 2U);
}

TEST_F(LogStoreTest, a_lost_last_segment_is_reported_after_a_crash) {
  {
    auto store = open();
    append_all(*store, 30);
    EXPECT_GT(store->segment_count(), 2U);
  }
  const auto lost = last_segment();
  disk_.files.erase(lost);
  const auto error = open_error();
  EXPECT_EQ(error.kind, StoreError::Kind::corrupt);
  EXPECT_EQ(error.file, lost);
}

TEST_F(LogStoreTest, says_where_the_log_goes_on_when_that_is_safe_and_before_anything_is_appended_there) {
  auto store = open();
  append_all(*store, 8);
  ASSERT_EQ(store->segment_count(), 1U);
  disk_.done.clear();
  ASSERT_TRUE(append(*store, "in the next"));
  ASSERT_EQ(store->segment_count(), 2U);
  std::vector<std::string> order;
  for (const auto& step : disk_.done) {
    if (step == "sync_dir d" || step.ends_with(segment_name(1)) || step.ends_with(segment_name(2)))
      order.push_back(step);
  }
  EXPECT_EQ(order, (std::vector<std::string>{"sync_dir d", "write " + segment_name(1), "sync " + segment_name(1),
                                             "write " + segment_name(2), "sync " + segment_name(2)}));
  EXPECT_EQ(decode_marks(1, disk_.bytes_of(segment(1)))->next, 2U);
}

TEST_F(LogStoreTest, a_crash_before_the_log_says_where_it_goes_on_is_no_damage_and_is_made_good) {
  {
    auto store = open();
    append_all(*store, 8);
    disk_.fault = [this](TestDisk::Op op, const std::string& path) -> std::optional<DiskError::Code> {
      if (op == TestDisk::Op::write && path == segment(1) && disk_.files.contains(segment(2)))
        return DiskError::Code::io;
      return std::nullopt;
    };
    EXPECT_FALSE(append(*store, "never"));
    disk_.fault = nullptr;
  }
  {
    auto store = open();
    EXPECT_EQ(store->last_position(), 8U);
    ASSERT_TRUE(append(*store, "nine"));
  }
  disk_.files.erase(last_segment());
  EXPECT_EQ(open_error().kind, StoreError::Kind::corrupt);
}

// What a start finds in a mark may be in the page cache only, since the program before it may have died, or been
// refused by the disk, before the sync.
TEST_F(LogStoreTest, writes_the_marks_it_found_again_and_syncs_them_before_it_goes_on) {
  {
    auto store = open();
    append_all(*store, 12);
    ASSERT_EQ(store->segment_count(), 2U);
    ASSERT_TRUE(store->mark_idle());
  }
  const auto link = decode_marks(1, disk_.bytes_of(segment(1)));
  const auto idle = decode_marks(2, disk_.bytes_of(segment(2)));
  disk_.done.clear();
  auto store = open();
  const auto count = [this](const std::string& what) { return std::ranges::count(disk_.done, what); };
  EXPECT_EQ(count("sync " + segment_name(1)), 1);
  EXPECT_EQ(count("sync " + segment_name(2)), 1);
  const auto link_again = decode_marks(1, disk_.bytes_of(segment(1)));
  const auto idle_again = decode_marks(2, disk_.bytes_of(segment(2)));
  EXPECT_EQ(link_again->sequence, link->sequence + 1);
  EXPECT_EQ(link_again->next, 2U);
  EXPECT_EQ(idle_again->sequence, idle->sequence + 1);
  EXPECT_EQ(idle_again->end_offset, idle->end_offset);
}

TEST_F(LogStoreTest, a_rotten_sector_costs_at_most_the_last_batch_of_a_crashed_log) {
  std::string good;
  {
    auto store = open();
    for (int i = 1; i <= 6; ++i) ASSERT_TRUE(append(*store, "entry " + std::to_string(i)));
    good = disk_.bytes_of(segment(1));
  }
  for (std::size_t sector = 0; sector < 6; ++sector) {
    disk_.files.clear();
    disk_.files[segment(1)] = std::make_shared<std::string>(good);
    disk_.bytes_of(segment(1)).replace(k_header_bytes + sector * 512, 512, 512, '?');
    if (sector < 5) {
      EXPECT_EQ(open_error().kind, StoreError::Kind::corrupt) << sector;
    } else {
      EXPECT_EQ(open()->last_position(), 5U);
    }
  }
}

TEST_F(LogStoreTest, refuses_batches_that_would_share_a_sector) {
  auto options = small();
  options.batch_align = 100;
  const auto store = LogStore::open(disk_, "d", options, 0);
  ASSERT_FALSE(store);
  EXPECT_NE(store.error().describe().find("sector_bytes is 100"), std::string::npos) << store.error().describe();
}

// That the old tail was durable says nothing about what stands in its place.
TEST_F(LogStoreTest, what_replaces_a_durable_tail_is_copied_until_it_is_durable_itself) {
  for (const int before : {4, 20}) {
    disk_.files.clear();
    {
      auto store = open();
      append_all(*store, before);
      ASSERT_TRUE(store->mark_idle());
      const EntryView entry{3, 2, EntryKind::command, {9, 9}, "instead"};
      ASSERT_TRUE(store->append({&entry, 1}));
    }
    const auto image = scan_log(disk_, "d", 0);
    ASSERT_TRUE(image) << image.error().describe();
    EXPECT_EQ(image->last, 3U) << before;
    EXPECT_EQ(image->durable, 2U) << before;
    EXPECT_FALSE(image->clean) << before;
  }
}

TEST_F(LogStoreTest, a_term_that_began_in_a_tail_in_doubt_does_not_speak_against_the_copy_of_that_tail) {
  {
    auto store = open();
    append_all(*store, 2);
    const std::vector<EntryView> entries{{3, 1, EntryKind::command, {9, 1}, "three"},
                                         {4, 5, EntryKind::command, {9, 2}, "four"}};
    ASSERT_TRUE(store->append(entries));
  }
  EXPECT_EQ(open()->last_position(), 4U);
  auto store = open();
  EXPECT_EQ(store->last_position(), 4U);
  EXPECT_EQ(store->last_term(), 5U);
}

TEST_F(LogStoreTest, an_entry_of_a_later_version_is_not_called_damage) {
  {
    auto store = open();
    const EntryView entry{1, 1, static_cast<EntryKind>(77), {1, 1}, "from the future"};
    ASSERT_TRUE(store->append({&entry, 1}));
    ASSERT_TRUE(store->sync());
  }
  const auto error = open_error();
  EXPECT_EQ(error.kind, StoreError::Kind::version);
  EXPECT_NE(error.describe().find("use the version of skein that wrote it"), std::string::npos) << error.describe();
}

TEST_F(LogStoreTest, leaves_no_unfinished_file_behind_when_there_is_no_room_and_removes_old_ones) {
  for (const std::string name : {"seg-0000000000000009.log", "spare-0000000000000009.log", "hard-state"}) {
    disk_.files["d/" + name + ".tmp"] = std::make_shared<std::string>("half");
  }
  disk_.files["d/mine.tmp"] = std::make_shared<std::string>("not ours");
  disk_.fault = [](TestDisk::Op op, const std::string& path) -> std::optional<DiskError::Code> {
    if (op == TestDisk::Op::write && path.ends_with("1.log.tmp")) return DiskError::Code::no_space;
    return std::nullopt;
  };
  EXPECT_EQ(open_error().kind, StoreError::Kind::no_space);
  EXPECT_FALSE(disk_.files.contains(segment(1) + ".tmp"));
  disk_.fault = nullptr;
  open();
  for (const auto& [path, bytes] : disk_.files) EXPECT_TRUE(!path.ends_with(".tmp") || path == "d/mine.tmp") << path;
  EXPECT_TRUE(disk_.files.contains("d/mine.tmp"));
}

TEST_F(LogStoreTest, segments_with_entries_past_the_trim_limit_stay_also_at_open) {
  {
    auto store = open();
    append_all(*store, 40);
    EXPECT_FALSE(store->trim(7));
  }
  auto options = small();
  options.trim_limit = 10;
  auto store = LogStore::open(disk_, "d", options, 32);
  ASSERT_TRUE(store) << store.error().describe();
  EXPECT_FALSE(disk_.files.contains(segment(1))) << "holds 1 to 8";
  EXPECT_TRUE(disk_.files.contains(segment(2))) << "holds 9 to 16";
  EXPECT_TRUE(disk_.files.contains(segment(3)));
  EXPECT_FALSE((*store)->trim(15));
  auto job = (*store)->trim(16);
  ASSERT_TRUE(job);
  (*store)->discard_done(run(disk_, *job));
  EXPECT_FALSE(disk_.files.contains(segment(2)));
  EXPECT_TRUE(disk_.files.contains(segment(3)));
}

TEST_F(LogStoreTest, does_not_start_when_the_folder_can_not_be_synced_after_tidying) {
  int syncs = 0;
  disk_.fault = [&](TestDisk::Op op, const std::string&) -> std::optional<DiskError::Code> {
    if (op == TestDisk::Op::sync_dir && ++syncs == 3) return DiskError::Code::io;
    return std::nullopt;
  };
  EXPECT_EQ(open_error().kind, StoreError::Kind::io);
}

TEST(LogStoreOnFiles, works_on_a_real_folder) {
  const auto dir = std::filesystem::temp_directory_path() / ("skein-log-store-" + std::to_string(::getpid()));
  std::filesystem::remove_all(dir);
  std::filesystem::create_directories(dir);
  for (int round = 0; round < 3; ++round) {
    auto store = LogStore::open(file_disk(), dir.string(), small(), 0);
    ASSERT_TRUE(store) << store.error().describe();
    EXPECT_EQ((*store)->last_position(), static_cast<Position>(round) * 50);
    for (int i = 0; i < 50; ++i) {
      const std::string text(200, 'x');
      const EntryView entry{(*store)->next_position(), 1, EntryKind::command, {1, 1}, text};
      ASSERT_TRUE((*store)->append({&entry, 1}));
      ASSERT_TRUE((*store)->sync());
    }
    if (round == 1) {
      ASSERT_TRUE((*store)->mark_idle());
    }
  }
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace skein::journal
