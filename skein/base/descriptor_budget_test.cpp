#include "skein/base/descriptor_budget.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace skein {
namespace {

// Connections in the order in which they came, and who was told to go.
struct Crowd {
  explicit Crowd(DescriptorLimits limits) : budget(std::make_shared<DescriptorBudget>(limits)) {}

  bool stranger() { return keep(budget->admit_stranger()); }
  bool member() { return keep(budget->admit_member()); }
  bool keep(DescriptorPlace place) {
    if (!place) return false;
    const std::size_t number = places.size();
    place.when_to_go([this, number] { told.push_back(number); });
    places.push_back(std::move(place));
    return true;
  }
  void leave(std::size_t number) { places[number] = {}; }

  std::shared_ptr<DescriptorBudget> budget;
  std::vector<DescriptorPlace> places;
  std::vector<std::size_t> told;
};

TEST(DescriptorBudget, strangers_beyond_their_share_send_the_oldest_away) {
  Crowd crowd({.total = 100, .strangers_max = 3});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(crowd.stranger());
  EXPECT_TRUE(crowd.told.empty());
  EXPECT_TRUE(crowd.stranger());
  EXPECT_TRUE(crowd.stranger());
  EXPECT_EQ(crowd.told, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(crowd.budget->use().sent_away, 2U);
}

TEST(DescriptorBudget, who_has_shown_who_it_is_is_never_told_to_go) {
  Crowd crowd({.total = 5, .strangers_max = 3});
  ASSERT_TRUE(crowd.stranger());
  crowd.places[0].trust();
  ASSERT_TRUE(crowd.member());
  for (int i = 0; i < 30; ++i) {
    if (crowd.stranger() && !crowd.told.empty()) crowd.leave(crowd.told.back());
  }
  for (const std::size_t each : crowd.told) EXPECT_GT(each, 1U);
  EXPECT_FALSE(crowd.told.empty());
}

TEST(DescriptorBudget, a_member_takes_the_place_of_a_stranger_when_all_is_used) {
  Crowd crowd({.total = 4, .strangers_max = 4});
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(crowd.stranger());
  EXPECT_TRUE(crowd.member());
  EXPECT_EQ(crowd.told, (std::vector<std::size_t>{0}));
}

TEST(DescriptorBudget, without_a_stranger_there_is_no_room_and_that_is_counted) {
  Crowd crowd({.total = 2, .strangers_max = 2});
  ASSERT_TRUE(crowd.member());
  ASSERT_TRUE(crowd.member());
  EXPECT_FALSE(crowd.member());
  EXPECT_FALSE(crowd.stranger());
  EXPECT_FALSE(crowd.budget->admit_process(6));
  EXPECT_EQ(crowd.budget->use().refused, 3U);
  crowd.leave(0);
  EXPECT_TRUE(crowd.member());
}

TEST(DescriptorBudget, a_process_sends_as_many_away_as_it_needs) {
  Crowd crowd({.total = 10, .strangers_max = 10});
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(crowd.stranger());
  const auto process = crowd.budget->admit_process(6);
  EXPECT_TRUE(process);
  EXPECT_EQ(crowd.told.size(), 6U);
  EXPECT_EQ(crowd.budget->use().processes, 1U);
}

TEST(DescriptorBudget, those_on_their_way_out_are_bounded) {
  Crowd crowd({.total = 100, .strangers_max = 3, .leaving_max = 5});
  int admitted = 0;
  for (int i = 0; i < 50; ++i) admitted += crowd.stranger() ? 1 : 0;
  EXPECT_EQ(admitted, 3 + 5) << "nobody has gone yet";
  EXPECT_EQ(crowd.budget->use().used, 8U);
  crowd.leave(0);
  EXPECT_TRUE(crowd.stranger());
}

TEST(DescriptorBudget, who_is_told_before_it_has_said_how_hears_of_it_then) {
  const auto budget = std::make_shared<DescriptorBudget>(DescriptorLimits{.total = 10, .strangers_max = 1});
  auto first = budget->admit_stranger();
  const auto second = budget->admit_stranger();
  ASSERT_TRUE(second);
  bool is_told = false;
  first.when_to_go([&] { is_told = true; });
  EXPECT_TRUE(is_told);
}

TEST(DescriptorBudget, who_shows_who_it_is_after_it_was_told_to_go_stays_and_there_is_one_too_many_for_a_while) {
  Crowd crowd({.total = 3, .strangers_max = 3, .leaving_max = 1});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(crowd.stranger());
  ASSERT_TRUE(crowd.member());
  ASSERT_EQ(crowd.told, (std::vector<std::size_t>{0}));
  crowd.places[0].trust();
  EXPECT_EQ(crowd.budget->use().used, 4U);
  EXPECT_FALSE(crowd.member()) << "two would have to go";
  crowd.leave(1);
  EXPECT_TRUE(crowd.member());
  EXPECT_EQ(crowd.told.back(), 2U);
}

TEST(DescriptorBudget, places_give_back_what_they_stand_for) {
  const auto budget = std::make_shared<DescriptorBudget>(DescriptorLimits{.total = 100, .strangers_max = 50});
  {
    std::vector<DescriptorPlace> places;
    for (int i = 0; i < 20; ++i) places.push_back(budget->admit_stranger());
    for (int i = 0; i < 10; ++i) places[static_cast<std::size_t>(i)].trust();
    places.push_back(budget->admit_process(6));
    EXPECT_EQ(budget->use().used, 26U);
    EXPECT_EQ(budget->use().strangers, 10U);
  }
  EXPECT_EQ(budget->use().used, 0U);
  EXPECT_EQ(budget->use().strangers, 0U);
  EXPECT_EQ(budget->use().processes, 0U);
}

}  // namespace
}  // namespace skein
