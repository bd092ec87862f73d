#include "skein/base/comma_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skein::inline v0 {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(CommaList, has_the_items_without_spaces_and_without_empty_ones) {
  EXPECT_THAT(comma_list("b, a ,,c d"), ElementsAre("b", "a", "c d"));
  EXPECT_THAT(comma_list(""), IsEmpty());
  EXPECT_THAT(comma_list(" , "), IsEmpty());
}

}  // namespace
}  // namespace skein::inline v0
