#include "skein/mcp/seal.hpp"

#include <gtest/gtest.h>

namespace skein::inline v0::mcp {
namespace {

TEST(SealTest, opens_what_it_sealed) {
  const Sealer sealer("key");
  const std::string binary("\0\xff\n", 3);
  for (const std::string& text : {std::string(), std::string("a"), std::string("some state"), binary}) {
    EXPECT_EQ(sealer.open("state", sealer.seal("state", text)), text);
  }
}

TEST(SealTest, refuses_every_changed_byte) {
  const Sealer sealer("key");
  const std::string sealed = sealer.seal("state", "ab");
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    std::string changed = sealed;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(sealer.open("state", changed)) << i;
  }
  EXPECT_FALSE(sealer.open("state", sealed + "A"));
  EXPECT_FALSE(sealer.open("state", sealed.substr(1)));
  EXPECT_FALSE(sealer.open("state", ""));
  EXPECT_FALSE(sealer.open("state", "!!!"));
}

TEST(SealTest, holds_for_one_key_and_one_purpose) {
  const Sealer sealer("key");
  const std::string sealed = sealer.seal("state", "ab");
  EXPECT_FALSE(Sealer("other").open("state", sealed));
  EXPECT_FALSE(sealer.open("session", sealed));
  EXPECT_FALSE(sealer.open("stat", sealer.seal("state", "")));
}

TEST(SealTest, compares_secrets) {
  EXPECT_TRUE(equal_secrets("abc", "abc"));
  EXPECT_FALSE(equal_secrets("abc", "abd"));
  EXPECT_FALSE(equal_secrets("abc", "ab"));
  EXPECT_TRUE(equal_secrets("", ""));
}

TEST(SealTest, reads_base64_of_both_alphabets) {
  EXPECT_EQ(to_base64url("\xfb\xff"), "-_8");
  EXPECT_EQ(from_base64("+/8="), "\xfb\xff");
  EXPECT_EQ(from_base64("-_8"), "\xfb\xff");
  EXPECT_EQ(from_base64("aGVsbG8="), "hello");
  EXPECT_FALSE(from_base64("a"));
  EXPECT_FALSE(from_base64("aG VsbG8="));
  EXPECT_FALSE(from_base64("aB"));  // with bits that say nothing
}

}  // namespace
}  // namespace skein::inline v0::mcp
