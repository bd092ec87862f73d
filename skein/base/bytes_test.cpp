#include "skein/base/bytes.hpp"

#include <gtest/gtest.h>

namespace skein {
namespace {

TEST(Bytes, reads_back_what_was_written) {
  std::string out;
  ByteWriter w(out);
  w.u8(7);
  w.u32(0x01020304);
  w.u64(~0ULL);
  w.blob("abc");
  w.raw("xy");
  ByteReader r(out);
  EXPECT_EQ(r.u8(), 7);
  EXPECT_EQ(r.u32(), 0x01020304U);
  EXPECT_EQ(r.u64(), ~0ULL);
  EXPECT_EQ(r.blob(), "abc");
  EXPECT_EQ(r.raw(2), "xy");
  EXPECT_TRUE(r.done());
}

TEST(Bytes, puts_the_low_byte_first) {
  std::string out;
  ByteWriter(out).u32(0x01020304);
  EXPECT_EQ(out, std::string("\x04\x03\x02\x01", 4));
}

TEST(Bytes, a_read_past_the_end_fails_for_good) {
  ByteReader r("abc");
  EXPECT_EQ(r.u32(), 0U);
  EXPECT_FALSE(r.ok());
  EXPECT_EQ(r.u8(), 0);
  EXPECT_FALSE(r.done());
}

TEST(Bytes, a_blob_longer_than_the_input_is_refused) {
  std::string out;
  ByteWriter w(out);
  w.u32(1000);
  w.raw("short");
  ByteReader r(out);
  EXPECT_EQ(r.blob(), "");
  EXPECT_FALSE(r.ok());
}

}  // namespace
}  // namespace skein
