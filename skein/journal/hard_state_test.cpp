#include "skein/journal/hard_state.hpp"

#include <gtest/gtest.h>

#include "skein/journal/test_disk.hpp"

namespace skein::journal {
namespace {

TEST(HardState, is_absent_in_a_new_folder_and_read_back_once_saved) {
  TestDisk disk;
  EXPECT_EQ(load_hard_state(disk, "d").value(), std::nullopt);
  ASSERT_TRUE(save_hard_state(disk, "d", {4, 2, 99}));
  EXPECT_EQ(load_hard_state(disk, "d").value(), (HardState{4, 2, 99}));
}

TEST(HardState, is_synced_before_it_is_renamed_and_the_folder_after) {
  TestDisk disk;
  ASSERT_TRUE(save_hard_state(disk, "d", {}));
  EXPECT_EQ(disk.done, (std::vector<std::string>{"create hard-state.tmp", "write hard-state.tmp", "sync hard-state.tmp",
                                                 "rename hard-state.tmp", "sync_dir d"}));
}

TEST(HardState, a_member_keeps_who_it_is_and_what_it_installs) {
  TestDisk disk;
  const MemberState state{.hard = {4, 2, 99}, .self = 77, .installing = Installing{120, 3}};
  ASSERT_TRUE(save_member_state(disk, "d", state));
  EXPECT_EQ(load_member_state(disk, "d").value(), state);
  EXPECT_EQ(load_hard_state(disk, "d").value(), (HardState{4, 2, 99}));
}

TEST(HardState, one_without_an_id_is_written_as_version_1) {
  TestDisk disk;
  ASSERT_TRUE(save_member_state(disk, "d", {.hard = {4, 2, 99}}));
  const std::string of_a_member = disk.bytes_of("d/hard-state");
  ASSERT_TRUE(save_hard_state(disk, "d", {4, 2, 99}));
  EXPECT_EQ(of_a_member, disk.bytes_of("d/hard-state"));
  EXPECT_EQ(load_member_state(disk, "d").value()->self, 0U);
}

class HardStateVersions : public testing::TestWithParam<consensus::MemberId> {};
INSTANTIATE_TEST_SUITE_P(Versions, HardStateVersions, testing::Values(0, 77));

TEST_P(HardStateVersions, any_flipped_bit_is_corruption) {
  TestDisk disk;
  ASSERT_TRUE(save_member_state(disk, "d", {.hard = {4, 2, 99}, .self = GetParam()}));
  const std::string good = disk.bytes_of("d/hard-state");
  for (std::size_t byte = 0; byte < good.size(); ++byte) {
    disk.bytes_of("d/hard-state") = good;
    disk.bytes_of("d/hard-state")[byte] ^= 4;
    const auto loaded = load_hard_state(disk, "d");
    ASSERT_FALSE(loaded) << "byte " << byte;
    EXPECT_EQ(loaded.error().kind, StoreError::Kind::corrupt);
  }
}

TEST(HardState, the_old_one_stays_when_the_new_one_can_not_be_synced) {
  TestDisk disk;
  ASSERT_TRUE(save_hard_state(disk, "d", {4, 2, 99}));
  disk.fault = [](TestDisk::Op op, const std::string&) -> std::optional<DiskError::Code> {
    if (op == TestDisk::Op::sync) return DiskError::Code::io;
    return std::nullopt;
  };
  EXPECT_FALSE(save_hard_state(disk, "d", {5, 0, 99}));
  EXPECT_EQ(load_hard_state(disk, "d").value(), (HardState{4, 2, 99}));
}

}  // namespace
}  // namespace skein::journal
