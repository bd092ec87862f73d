#include "skein/base/must_hold.hpp"

#include <gtest/gtest.h>

namespace skein::inline v0 {
namespace {

TEST(MustHoldDeathTest, ends_the_program_with_the_header_and_the_number) {
  must_hold(true, "x.hpp 1: never said");
  EXPECT_DEATH(must_hold(false, "x.hpp 2: two is two"), "this does not hold: x.hpp 2: two is two .*must_hold_test.cpp");
}

}  // namespace
}  // namespace skein::inline v0
