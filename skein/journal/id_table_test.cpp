#include "skein/journal/id_table.hpp"

#include <gtest/gtest.h>

#include "skein/journal/testing.hpp"

namespace skein::journal {
namespace {

using tests::bytes_of;

TEST(IdTable, finds_the_answer_of_an_applied_command) {
  IdTable table({10, 100});
  EXPECT_EQ(table.find({1, 1}), nullptr);
  table.remember({1, 1}, 7, "answer");
  ASSERT_NE(table.find({1, 1}), nullptr);
  EXPECT_EQ(table.find({1, 1})->result, "answer");
  EXPECT_EQ(table.find({1, 1})->position, 7U);
}

TEST(IdTable, forgets_the_oldest_beyond_the_limit) {
  IdTable table({3000, 100});
  for (std::uint64_t i = 1; i <= 10'000; ++i) table.remember({0, i}, i, std::to_string(i));
  EXPECT_EQ(table.size(), 3000U);
  EXPECT_EQ(table.find({0, 7000}), nullptr);
  ASSERT_NE(table.find({0, 7001}), nullptr);
  EXPECT_EQ(table.find({0, 7001})->result, "7001");
  EXPECT_EQ(table.find({0, 10'000})->result, "10000");
}

TEST(IdTable, keeps_the_id_of_a_long_result_without_the_result) {
  IdTable table({10, 4});
  table.remember({1, 1}, 1, "fits");
  table.remember({2, 2}, 2, "too long");
  EXPECT_TRUE(table.find({1, 1})->result_kept);
  ASSERT_NE(table.find({2, 2}), nullptr);
  EXPECT_FALSE(table.find({2, 2})->result_kept);
  EXPECT_EQ(table.find({2, 2})->result, "");
}

TEST(IdTable, a_frozen_table_does_not_change_and_restores_the_same) {
  IdTable table({1500, 100});
  for (std::uint64_t i = 1; i <= 2500; ++i) table.remember({0, i}, i, "r");
  const auto frozen = table.freeze();
  const auto before = bytes_of(*frozen);
  for (std::uint64_t i = 2501; i <= 5000; ++i) table.remember({0, i}, i, "r");
  EXPECT_EQ(bytes_of(*frozen), before);
  IdTable back({1500, 100});
  ASSERT_TRUE(back.restore(before));
  EXPECT_EQ(back.size(), 1500U);
  EXPECT_EQ(back.find({0, 1000}), nullptr);
  EXPECT_NE(back.find({0, 1001}), nullptr);
  EXPECT_EQ(bytes_of(*back.freeze()), before) << "canonical: no trace of where chunks were cut";
  back.remember({5, 5}, 1, "more");
  EXPECT_EQ(back.find({0, 1001}), nullptr);
}

TEST(IdTable, refuses_bytes_that_are_no_table) {
  IdTable table({10, 10});
  EXPECT_FALSE(table.restore("xx"));
  EXPECT_EQ(table.size(), 0U);
}

}  // namespace
}  // namespace skein::journal
