#include "skein/journal/log_config.hpp"

#include <gtest/gtest.h>

namespace skein::journal {
namespace {

TEST(LogConfigTest, is_read_back_as_written) {
  const LogConfig config{.cluster = 77, .ids = {50, 100}};
  EXPECT_EQ(LogConfig::decode(config.encode()), config);
}

TEST(LogConfigTest, what_is_cut_or_longer_or_of_a_later_version_is_none) {
  const std::string bytes = LogConfig{.cluster = 77, .ids = {50, 100}}.encode();
  EXPECT_FALSE(LogConfig::decode(bytes.substr(1)));
  EXPECT_FALSE(LogConfig::decode(bytes.substr(0, bytes.size() - 1)));
  EXPECT_FALSE(LogConfig::decode(bytes + "x"));
  std::string later = bytes;
  later[0] = 2;
  EXPECT_FALSE(LogConfig::decode(later));
}

}  // namespace
}  // namespace skein::journal
