#include "skein/journal/backup.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

#include "skein/journal/file_disk.hpp"
#include "skein/journal/journal.hpp"
#include "skein/journal/kv_machine.hpp"
#include "skein/journal/testing.hpp"

namespace skein::journal {
namespace {

using tests::k_long;

class BackupTest : public testing::Test {
 protected:
  BackupTest() : dir_(std::filesystem::temp_directory_path() / ("skein-backup-" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(dir_);
    limits_.segment_bytes = 1U << 16U;
    limits_.first_segment_bytes = 1U << 16U;
    limits_.sector_bytes = 512;
    limits_.disk_low_water_bytes = 0;
    limits_.snapshot_bytes = 1U << 20U;
  }
  ~BackupTest() override { std::filesystem::remove_all(dir_); }
  [[nodiscard]] std::string path(const std::string& name) const { return (dir_ / name).string(); }

  std::filesystem::path dir_;
  JournalLimits limits_;
};

// Segments are begun and trimmed and snapshots taken all the while; each command adds one, so that a copy with a hole
// or with something twice would show in the sum.
TEST_F(BackupTest, of_a_journal_under_load_is_a_prefix_with_everything_answered_before_it_began) {
  KvMachine machine;
  auto journal = open_journal(path("source"), machine, limits_);
  ASSERT_TRUE(journal) << journal.error().describe();
  std::atomic<Position> answered{0};
  std::jthread writer([&](const std::stop_token& stop) {
    for (std::uint64_t i = 1; !stop.stop_requested(); ++i) {
      Batch batch{{{1, 2 * i}, kv_add("n", 1)}, {{1, 2 * i + 1}, kv_put("filler", std::string(700, 'x'))}};
      const auto answer = append_and_wait(**journal, std::move(batch), k_long);
      if (answer.outcome == Outcome::applied) answered = answer.results.back().position;
    }
  });
  for (int round = 0; round < 5; ++round) {
    const Position reached = answered;
    while (answered < reached + 100) std::this_thread::yield();
    const Position before = answered;
    const std::string copy = path("copy-" + std::to_string(round));
    const auto image = back_up_journal(file_disk(), path("source"), copy);
    ASSERT_TRUE(image) << image.error().describe();
    EXPECT_GE(image->log.last, before);
    const auto verified = verify_journal(file_disk(), copy);
    ASSERT_TRUE(verified) << verified.error().describe();
    KvMachine restored;
    auto opened = open_journal(copy, restored, limits_);
    ASSERT_TRUE(opened) << opened.error().describe();
    EXPECT_EQ((*opened)->status().applied, image->log.last);
    EXPECT_EQ(restored.get("n"), std::to_string((image->log.last + 1) / 2));
  }
}

}  // namespace
}  // namespace skein::journal
