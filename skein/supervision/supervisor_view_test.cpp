#include "skein/supervision/supervisor_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skein::inline v0 {
namespace {

using ::testing::ElementsAre;

Pid pid(std::uint32_t slot) { return Pid(0, slot, 1); }

std::shared_ptr<SupervisorView> below(std::shared_ptr<SupervisorView> parent) {
  auto view = std::make_shared<SupervisorView>();
  view->parent = std::move(parent);
  return view;
}

TEST(SupervisorView, hands_remains_to_the_nearest_living_supervisor) {
  const auto root = below(nullptr);
  const auto middle = below(root);
  const auto leaf = below(middle);
  middle->close(Remains{pid(2), {pid(3)}});
  leaf->close(Remains{pid(3), {pid(4), pid(5)}});
  EXPECT_FALSE(middle->has_remains());
  ASSERT_TRUE(root->has_remains());
  const auto remains = root->take_remains();
  ASSERT_EQ(remains.size(), 2U);
  EXPECT_EQ(remains[0].of, pid(2)) << "in the order of the deaths";
  EXPECT_THAT(remains[0].pids, ElementsAre(pid(3)));
  EXPECT_THAT(remains[1].pids, ElementsAre(pid(4), pid(5)));
  EXPECT_FALSE(root->has_remains());
}

TEST(SupervisorView, what_was_not_taken_goes_up_as_its_own) {
  const auto root = below(nullptr);
  const auto middle = below(root);
  const auto leaf = below(middle);
  leaf->close(Remains{pid(3), {pid(4)}});
  EXPECT_TRUE(middle->has_remains());
  middle->close(Remains{pid(2), {}});
  const auto remains = root->take_remains();
  ASSERT_EQ(remains.size(), 1U);
  EXPECT_EQ(remains[0].of, pid(2));
  EXPECT_THAT(remains[0].pids, ElementsAre(pid(4)));
}

TEST(SupervisorView, a_clean_end_leaves_nothing) {
  const auto root = below(nullptr);
  below(root)->close(Remains{pid(2), {}});
  EXPECT_FALSE(root->has_remains());
}

}  // namespace
}  // namespace skein::inline v0
