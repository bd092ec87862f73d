#include "skein/base/sha256.hpp"

#include <gtest/gtest.h>

namespace skein {
namespace {

// FIPS 180-2, appendix B.1, and the empty message.
TEST(Sha256, gives_the_published_values) {
  EXPECT_EQ(to_hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(to_hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Sha256, digest_does_not_end_the_stream) {
  Sha256 s;
  s.update("a");
  EXPECT_EQ(s.digest(), sha256("a"));
  s.update("bc");
  EXPECT_EQ(s.digest(), sha256("abc"));
}

TEST(Sha256, goes_on_from_a_saved_middle_at_every_length) {
  const std::string text(150, 'q');
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    Sha256 first;
    first.update(text.substr(0, cut));
    Sha256 second;
    second.update("something else");
    ASSERT_TRUE(second.load(first.save()));
    second.update(text.substr(cut));
    EXPECT_EQ(second.digest(), sha256(text)) << "cut at " << cut;
  }
}

TEST(Sha256, saved_bytes_do_not_depend_on_how_updates_were_cut) {
  Sha256 one;
  one.update(std::string(100, 'z'));
  Sha256 many;
  for (int i = 0; i < 100; ++i) many.update("z");
  EXPECT_EQ(one.save(), many.save());
}

TEST(Sha256, refuses_bytes_that_are_no_saved_stream) {
  Sha256 s;
  EXPECT_FALSE(s.load("short"));
  EXPECT_EQ(s.digest(), sha256(""));
}

}  // namespace
}  // namespace skein
