#include "skein/journal/replica.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "skein/journal/kv_machine.hpp"
#include "skein/journal/test_disk.hpp"

namespace skein::journal {
namespace {

EntryView command(Position position, CommandId id, std::string_view bytes) {
  return {position, 1, EntryKind::command, id, bytes};
}

// Throws what it is told to at the command "throw" or "throw int".
struct Thrower {
  std::string apply(Position, std::string_view bytes) {
    if (bytes == "throw") throw std::runtime_error("on purpose");
    if (bytes == "throw int") throw 7;
    ++applied;
    return "ok";
  }
  std::shared_ptr<const Frozen> freeze() { return nullptr; }
  bool restore(std::string_view) { return false; }
  [[nodiscard]] Digest digest() const { return {}; }
  int applied = 0;
};

TEST(Replica, applies_a_command_once_however_often_it_is_appended) {
  KvMachine kv;
  Replica replica(kv, {});
  const auto add = kv_add("n", 1);
  EXPECT_EQ(replica.apply(command(1, {1, 1}, add))->result, "1");
  const auto again = replica.apply(command(2, {1, 1}, add));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->result, "1");
  EXPECT_EQ(again->position, 1U);
  EXPECT_TRUE(again->repeated);
  EXPECT_EQ(kv.get("n"), "1");
  EXPECT_EQ(replica.position(), 2U);
}

TEST(Replica, refuses_a_gap) {
  KvMachine kv;
  Replica replica(kv, {});
  EXPECT_FALSE(replica.apply(command(2, {1, 1}, kv_add("n", 1))));
  EXPECT_EQ(kv.get("n"), std::nullopt);
}

TEST(Replica, stops_for_good_at_a_throw_of_any_kind) {
  for (const auto* what : {"throw", "throw int"}) {
    Thrower machine;
    Replica replica(machine, {});
    ASSERT_TRUE(replica.apply(command(1, {1, 1}, "fine")));
    const auto failed = replica.apply(command(2, {2, 2}, what));
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().position, 2U);
    EXPECT_NE(failed.error().describe().find("skein log skip DIR 2"), std::string::npos);
    EXPECT_FALSE(replica.apply(command(2, {3, 3}, "fine")));
    EXPECT_EQ(machine.applied, 1);
    EXPECT_EQ(replica.position(), 1U);
  }
}

TEST(Replica, passes_over_a_skipped_position) {
  Thrower machine;
  Replica replica(machine, {});
  replica.set_skips({1});
  const auto skipped = replica.apply(command(1, {1, 1}, "throw"));
  ASSERT_TRUE(skipped);
  EXPECT_TRUE(skipped->skipped);
  EXPECT_TRUE(replica.apply(command(2, {2, 2}, "fine")));
}

TEST(Replica, the_running_hash_tells_entries_and_results_apart) {
  KvMachine a;
  KvMachine b;
  Replica one(a, {});
  Replica other(b, {});
  ASSERT_TRUE(one.apply(command(1, {1, 1}, kv_add("n", 1))));
  ASSERT_TRUE(other.apply(command(1, {1, 1}, kv_add("n", 1))));
  EXPECT_EQ(one.hash(), other.hash());
  b.apply(0, kv_add("n", 10));
  ASSERT_TRUE(one.apply(command(2, {2, 2}, kv_add("n", 1))));
  ASSERT_TRUE(other.apply(command(2, {2, 2}, kv_add("n", 1))));
  EXPECT_NE(one.hash(), other.hash()) << "same entries, another answer";
}

TEST(Replica, goes_on_from_a_snapshot_as_if_nothing_had_happened) {
  TestDisk disk;
  KvMachine a;
  Replica one(a, {5, 100});
  for (Position p = 1; p <= 20; ++p) ASSERT_TRUE(one.apply(command(p, {0, p}, kv_add("n", p))));
  const auto info = write_snapshot(disk, "d", one.freeze());
  ASSERT_TRUE(info);
  EXPECT_EQ(info->position, 20U);
  const auto loaded = newest_snapshot(disk, "d");
  ASSERT_TRUE(loaded && *loaded);
  KvMachine b;
  Replica other(b, {});
  ASSERT_TRUE(other.restore((*loaded)->meta, (*loaded)->body()));
  EXPECT_EQ(other.limits(), (IdLimits{5, 100})) << "the recorded limits win";
  for (Position p = 21; p <= 30; ++p) {
    ASSERT_TRUE(one.apply(command(p, {0, p - 3}, kv_add("n", 1))));
    ASSERT_TRUE(other.apply(command(p, {0, p - 3}, kv_add("n", 1))));
  }
  EXPECT_EQ(a.digest(), b.digest());
  EXPECT_EQ(one.hash(), other.hash());
}

TEST(Snapshot, any_flipped_byte_or_cut_is_corruption) {
  TestDisk disk;
  KvMachine kv;
  Replica replica(kv, {});
  ASSERT_TRUE(replica.apply(command(1, {0, 1}, kv_put("a", "b"))));
  const auto path = write_snapshot(disk, "d", replica.freeze())->path;
  const std::string good = disk.bytes_of(path);
  for (std::size_t byte = 0; byte < good.size(); byte += 7) {
    disk.bytes_of(path) = good;
    disk.bytes_of(path)[byte] ^= 1;
    EXPECT_FALSE(newest_snapshot(disk, "d")) << "byte " << byte;
    disk.bytes_of(path) = good.substr(0, byte);
    EXPECT_FALSE(newest_snapshot(disk, "d")) << "length " << byte;
  }
}

TEST(Snapshot, a_failed_write_leaves_nothing_behind) {
  TestDisk disk;
  KvMachine kv;
  Replica replica(kv, {});
  disk.fault = [](TestDisk::Op op, const std::string&) -> std::optional<DiskError::Code> {
    if (op == TestDisk::Op::write) return DiskError::Code::no_space;
    return std::nullopt;
  };
  EXPECT_FALSE(write_snapshot(disk, "d", replica.freeze()));
  EXPECT_TRUE(disk.files.empty());
}

TEST(Snapshot, old_and_unfinished_ones_are_removed) {
  TestDisk disk;
  for (const auto* name : {"snap-0000000000000001.snap", "snap-0000000000000005.snap.tmp", "snap-0000000000000009.snap",
                           "seg-0000000000000001.log"}) {
    ASSERT_TRUE(disk.open(std::string("d/") + name, Disk::Mode::create));
  }
  remove_old_snapshots(disk, "d", 9);
  EXPECT_EQ(disk.list("d").value(),
            (std::vector<std::string>{"seg-0000000000000001.log", "snap-0000000000000009.snap"}));
}

}  // namespace
}  // namespace skein::journal
