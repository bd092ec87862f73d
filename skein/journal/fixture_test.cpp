// Data directories of each format are kept under tests/fixtures and must be readable for good. The one of the present
// format must also be what this program writes, byte for byte: a format does not change by accident.
// With SKEIN_WRITE_FIXTURES set, the present one is written again; that is for a new format and its new folder only.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "skein/base/test_files.hpp"
#include "skein/journal/embedded_core.hpp"
#include "skein/journal/kv_machine.hpp"
#include "skein/journal/log_tools.hpp"
#include "skein/journal/test_disk.hpp"

namespace skein::journal {
namespace {

JournalLimits fixture_limits() {
  JournalLimits limits;
  limits.segment_bytes = 8192;
  limits.first_segment_bytes = 8192;
  limits.sector_bytes = 512;
  limits.disk_low_water_bytes = 0;
  limits.snapshot_bytes = 1U << 30U;
  limits.ids = {50, 100};
  return limits;
}

// A snapshot, a segment that goes on from it, and a cleanly closed tail.
void write_journal(TestDisk& disk) {
  KvMachine machine;
  auto core = EmbeddedCore::open(disk, "d", machine, fixture_limits());
  ASSERT_TRUE(core) << core.error().describe();
  for (std::uint64_t i = 1; i <= 60; ++i) {
    (*core)->append({{{7, i}, kv_put("key" + std::to_string(i % 25), "value")}, {{8, i}, kv_add("sum", i)}},
                    [](AppendAnswer) {});
    (*core)->run_queued();
    if (i != 40) continue;
    (*core)->request_snapshot([](StoreResult<SnapshotInfo>) {});
    while (auto job = (*core)->take_job()) (*core)->job_done(run_aside(*(*core)->job_disk(), *job));
  }
  (*core)->close();
}

bool is_data(const std::string& name) {
  return name == k_hard_state_name || parse_segment_name(name) || parse_snapshot_name(name);
}

void load_folder(const std::filesystem::path& from, TestDisk& disk) {
  ASSERT_TRUE(std::filesystem::is_directory(from)) << from << " is missing";
  for (const auto& file : std::filesystem::directory_iterator(from)) {
    std::ifstream in(file.path(), std::ios::binary);
    disk.files["d/" + file.path().filename().string()] =
        std::make_shared<std::string>(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
}

class Fixture : public testing::TestWithParam<int> {};

TEST_P(Fixture, what_an_earlier_version_wrote_is_read_and_gone_on_with) {
  TestDisk disk;
  load_folder(test_fixture("journal-v" + std::to_string(GetParam())), disk);
  const auto image = verify_journal(disk, "d");
  ASSERT_TRUE(image) << image.error().describe();
  EXPECT_EQ(image->snapshot->position, 80U);
  EXPECT_TRUE(image->log.clean);
  KvMachine machine;
  auto core = EmbeddedCore::open(disk, "d", machine, {});
  ASSERT_TRUE(core) << core.error().describe();
  EXPECT_EQ((*core)->replica().position(), 120U);
  EXPECT_EQ((*core)->replica().limits(), (IdLimits{50, 100}));
  EXPECT_EQ(machine.size(), 26U);
  EXPECT_EQ(machine.get("sum"), "1830");
  for (std::uint64_t i = 1; i <= 500; ++i) {
    (*core)->append({{{9, i}, kv_add("sum", 1)}},
                    [](AppendAnswer answer) { EXPECT_EQ(answer.outcome, Outcome::applied); });
    (*core)->run_queued();
  }
  core->reset();
  KvMachine later;
  core = EmbeddedCore::open(disk, "d", later, {});
  ASSERT_TRUE(core) << core.error().describe();
  EXPECT_EQ((*core)->replica().position(), 620U);
  EXPECT_EQ(later.get("sum"), "2330");
}

INSTANTIATE_TEST_SUITE_P(Versions, Fixture, testing::Values(1, 2),
                         [](const auto& version) { return "v" + std::to_string(version.param); });

TEST(PresentFormat, is_version_2_byte_for_byte) {
  TestDisk written;
  write_journal(written);
  if (std::getenv("SKEIN_WRITE_FIXTURES") != nullptr) {
    std::filesystem::create_directories(test_fixture("journal-v2"));
    for (const auto& [path, bytes] : written.files) {
      if (is_data(path.substr(2)))
        std::ofstream(test_fixture("journal-v2") / path.substr(2), std::ios::binary) << *bytes;
    }
  }
  TestDisk kept;
  load_folder(test_fixture("journal-v2"), kept);
  std::erase_if(written.files, [](const auto& file) { return !is_data(file.first.substr(2)); });
  ASSERT_EQ(written.files.size(), kept.files.size());
  for (const auto& [path, bytes] : kept.files) {
    ASSERT_TRUE(written.files.contains(path)) << path;
    EXPECT_TRUE(*written.files[path] == *bytes) << path << " differs";
  }
}

}  // namespace
}  // namespace skein::journal
