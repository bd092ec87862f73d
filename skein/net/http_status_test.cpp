#include "skein/net/http_status.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace skein::inline v0::net {
namespace {

TEST(HttpStatus, names_every_status_that_a_node_answers_with_once) {
  const auto numbers = [](const http_status::Reason& each) { return each.status; };
  EXPECT_TRUE(std::ranges::is_sorted(http_status::k_reasons, {}, numbers));
  EXPECT_EQ(std::ranges::adjacent_find(http_status::k_reasons, {}, numbers), http_status::k_reasons.end());
  EXPECT_EQ(http_reason(http_status::k_ok), "OK");
  EXPECT_EQ(http_reason(http_status::k_header_fields_too_large), "Request Header Fields Too Large");
}

TEST(HttpStatus, says_status_of_a_number_that_it_does_not_know) { EXPECT_EQ(http_reason(299), "Status"); }

}  // namespace
}  // namespace skein::inline v0::net
