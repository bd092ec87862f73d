#include "skein/base/crc32c.hpp"

#include <gtest/gtest.h>

#include <string>

namespace skein {
namespace {

// The check value of the catalogue of CRCs, and a vector of RFC 3720, B.4.
TEST(Crc32c, gives_the_published_values) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62A8AB43U);
  EXPECT_EQ(crc32c(""), 0U);
}

TEST(Crc32c, table_and_instruction_agree_at_every_length) {
  std::string bytes;
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(crc32c(bytes), crc32c_portable(bytes)) << "length " << i;
    bytes.push_back(static_cast<char>((i * 131) & 0xFF));
  }
}

TEST(Crc32c, continues_from_a_checksum_so_far) { EXPECT_EQ(crc32c("world", crc32c("hello ")), crc32c("hello world")); }

TEST(Crc32c, every_flipped_bit_changes_it) {
  const std::string good(64, 'x');
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_NE(crc32c(bad), crc32c(good)) << "bit " << bit;
  }
}

}  // namespace
}  // namespace skein
