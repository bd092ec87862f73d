#include "skein/journal/kv_machine.hpp"

#include <gtest/gtest.h>

#include "skein/journal/testing.hpp"

namespace skein::journal {
namespace {

using tests::bytes_of;

TEST(KvMachine, puts_erases_and_adds) {
  KvMachine kv;
  EXPECT_EQ(kv.apply(1, kv_put("a", "x")), "ok");
  EXPECT_EQ(kv.get("a"), "x");
  EXPECT_EQ(kv.apply(2, kv_add("n", 5)), "5");
  EXPECT_EQ(kv.apply(3, kv_add("n", 7)), "12");
  EXPECT_EQ(kv.apply(4, kv_erase("a")), "ok");
  EXPECT_EQ(kv.apply(5, kv_erase("a")), "none");
  EXPECT_EQ(kv.get("a"), std::nullopt);
  EXPECT_EQ(kv.size(), 1U);
}

TEST(KvMachine, answers_a_bad_command_and_changes_nothing) {
  KvMachine kv;
  const auto before = kv.digest();
  for (const std::string& bad : {std::string(), std::string("\x09zzz"), kv_put("a", "b") + "x"}) {
    EXPECT_EQ(kv.apply(1, bad), "bad command");
  }
  EXPECT_EQ(kv.digest(), before);
}

TEST(KvMachine, a_frozen_state_does_not_see_what_is_applied_later) {
  KvMachine kv;
  for (int i = 0; i < 3000; ++i) kv.apply(1, kv_put("k" + std::to_string(i), "old"));
  const auto before = kv.digest();
  const auto frozen = kv.freeze();
  for (int i = 0; i < 3000; ++i) kv.apply(2, kv_put("k" + std::to_string(i), "new"));
  KvMachine back;
  ASSERT_TRUE(back.restore(bytes_of(*frozen)));
  EXPECT_EQ(back.digest(), before);
  EXPECT_EQ(kv.get("k1"), "new");
}

TEST(KvMachine, snapshot_bytes_depend_on_the_state_and_not_on_how_it_came_about) {
  KvMachine one;
  KvMachine other;
  for (int i = 0; i < 100; ++i) one.apply(1, kv_put("k" + std::to_string(i), "v"));
  other.apply(1, kv_put("gone", "v"));
  for (int i = 99; i >= 0; --i) other.apply(1, kv_put("k" + std::to_string(i), "v"));
  other.apply(1, kv_erase("gone"));
  EXPECT_EQ(bytes_of(*one.freeze()), bytes_of(*other.freeze()));
}

TEST(KvMachine, refuses_bytes_that_are_no_snapshot) {
  KvMachine kv;
  EXPECT_FALSE(kv.restore("nonsense"));
  kv.apply(1, kv_put("a", "x"));
  auto bytes = bytes_of(*kv.freeze());
  EXPECT_TRUE(KvMachine().restore(bytes));
  bytes[bytes.find('a')] = 'b';
  EXPECT_FALSE(kv.restore(bytes)) << "a key where none of its kind belongs";
}

}  // namespace
}  // namespace skein::journal
