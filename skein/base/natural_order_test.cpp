#include "skein/base/natural_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace skein::inline v0 {
namespace {

TEST(NaturalOrder, counts_digits_as_numbers) {
  std::vector<std::string> names{"b", "default-10", "default-2", "default", "a10b2", "a10b10", "a9", "07", "7", "8"};
  std::ranges::sort(names, natural_less);
  EXPECT_EQ(names, (std::vector<std::string>{"07", "7", "8", "a9", "a10b2", "a10b10", "b", "default", "default-2",
                                             "default-10"}));
  EXPECT_FALSE(natural_less("x-1", "x-1"));
  EXPECT_TRUE(natural_less("99999999999999999999", "100000000000000000000"));
}

}  // namespace
}  // namespace skein::inline v0
