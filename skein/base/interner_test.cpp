#include "skein/base/interner.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace skein {
namespace {

using Numbers = std::vector<int>;

TEST(Interner, equal_values_are_one) {
  Interner<Numbers> interner;
  const auto one = interner.keep({1, 2});
  EXPECT_EQ(interner.keep({1, 2}), one);
  EXPECT_NE(interner.keep({2, 1}), one);
  EXPECT_EQ(*one, (Numbers{1, 2}));
}

TEST(Interner, forgets_what_nobody_holds) {
  Interner<Numbers> interner;
  const auto held = interner.keep({-1});
  for (int i = 0; i < 100'000; ++i) EXPECT_EQ(interner.keep({i})->front(), i);
  EXPECT_LE(interner.size(), 64U);
  EXPECT_EQ(interner.keep({-1}), held);
}

}  // namespace
}  // namespace skein
