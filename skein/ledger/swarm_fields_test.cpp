#include "skein/ledger/swarm_fields.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace skein::inline v0::ledger {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(SwarmFields, have_names_of_their_own) {
  std::set<std::string_view> names;
  for (const SwarmField& each : swarm_fields()) {
    EXPECT_TRUE(names.insert(each.name).second) << each.name;
    if (!each.stored.empty() && each.stored != each.name) {
      EXPECT_TRUE(names.insert(each.stored).second) << each.stored;
    }
    EXPECT_EQ(find_swarm_field(each.name), &each);
    EXPECT_FALSE(each.help.empty()) << each.name;
  }
}

TEST(SwarmFields, are_stored_as_they_were_before_they_had_a_table) {
  SwarmFields fields;
  fields.executor = "words";
  fields.capabilities = {"b", "a"};
  const Fields expected{{"executor", "words"},    {"role", "worker"},          {"capabilities", "b,a"},
                        {"agents_min", "5"},      {"agents_max", "100"},       {"idle_after_ms", "30000"},
                        {"prefetch", "1"},        {"open_tasks", "10000"},     {"open_bytes", "1073741824"},
                        {"breaker_crashes", "5"}, {"breaker_open_ms", "60000"}};
  EXPECT_EQ(fields_of(fields), expected);
}

TEST(SwarmFields, come_back_from_the_ledger_as_they_were_put_in) {
  SwarmFields fields;
  fields.executor = "words";
  fields.role = "specialist";
  fields.capabilities = {"a", "b"};
  fields.min = 2;
  fields.max = 9;
  fields.idle_shrink = std::chrono::milliseconds(1500);
  fields.weight = 7;
  fields.strategy = "two_choices";
  fields.fallback = "others";
  Swarm swarm;
  swarm.definition = fields_of(fields);
  const auto read = read_swarm_fields(swarm);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, fields);
}

TEST(SwarmFields, are_taken_under_both_names_and_in_the_units_of_the_config) {
  const auto stored = stored_fields({{"min", "2"},
                                     {"agents_max", "7"},
                                     {"idle_shrink", "90s"},
                                     {"open_bytes", "64MiB"},
                                     {"breaker_open_ms", "5000"}});
  ASSERT_TRUE(stored);
  const Fields expected{{"agents_min", "2"},
                        {"agents_max", "7"},
                        {"idle_after_ms", "90000"},
                        {"open_bytes", "67108864"},
                        {"breaker_open_ms", "5000"}};
  EXPECT_EQ(*stored, expected);
}

TEST(SwarmFields, that_are_unknown_or_out_of_range_are_refused_one_by_one) {
  const auto stored = stored_fields({{"foo", "1"}, {"max", "200000"}, {"mim", "1"}, {"role", "boss"}, {"weight", "0"}});
  ASSERT_FALSE(stored);
  EXPECT_THAT(stored.error(), ElementsAre(HasSubstr("no field 'foo'"),
                                          HasSubstr("max is '200000'; it must be a whole number from 1 to 100000"),
                                          HasSubstr("no field 'mim' (did you mean 'min'?)"),
                                          HasSubstr("role is 'boss'; it must be worker"), HasSubstr("weight is '0'")));
  EXPECT_FALSE(stored_fields({{"min", "1"}, {"agents_min", "2"}}));
}

TEST(SwarmFields, of_a_ledger_of_before_are_read_although_some_are_unknown) {
  Swarm swarm;
  swarm.definition = {{"executor", "e"}, {"foo", "1"}, {"breaker_open_ms", "5"}, {"agents_min", "300"}};
  swarm.overrides = {{"prefetch", "3"}};
  const auto read = read_swarm_fields(swarm);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->prefetch, 3U);
  EXPECT_EQ(read->max, 300U);
  EXPECT_EQ(read->breaker_open, std::chrono::seconds(60));
}

}  // namespace
}  // namespace skein::inline v0::ledger
