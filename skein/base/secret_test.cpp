#include "skein/base/secret.hpp"

#include <gtest/gtest.h>

namespace skein {
namespace {

TEST(Secret, has_256_bits_and_is_another_each_time) {
  const std::string one = random_secret();
  EXPECT_EQ(one.size(), 2 * k_secret_bytes);
  EXPECT_EQ(one.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(one, random_secret());
}

// RFC 4231, test case 2.
TEST(Secret, hmac_is_that_of_the_standard) {
  EXPECT_EQ(to_hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST(Secret, digests_are_equal_when_all_their_bytes_are) {
  Digest one = sha256("one");
  EXPECT_TRUE(equal_digests(one, sha256("one")));
  one.back() ^= 1U;
  EXPECT_FALSE(equal_digests(one, sha256("one")));
}

}  // namespace
}  // namespace skein
