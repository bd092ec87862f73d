#include "skein/dispatch/learned_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skein::inline v0::dispatch {
namespace {

std::string some_table() {
  QLearning table;
  for (int i = 0; i < 100; ++i) table.learn(static_cast<QState>(i % 20), -1.5 * i, 3);
  AdaptiveRetry::Chosen chosen;
  chosen.delay = std::chrono::seconds(1);
  chosen.other_agent = true;
  chosen.error = decltype(chosen.error)::resource;
  chosen.action = 5;
  table.retry().learn(chosen, false);
  return table.save();
}

TEST(LearnedText, is_opened_as_it_was_sealed) {
  const auto opened = opened_learned(sealed_learned(some_table()));
  ASSERT_TRUE(opened) << opened.error();
  EXPECT_EQ(*opened, some_table());
}

TEST(LearnedText, cut_anywhere_or_with_any_bit_turned_it_is_refused) {
  const std::string sealed = sealed_learned(some_table());
  for (std::size_t n = 0; n < sealed.size(); ++n) EXPECT_FALSE(opened_learned(sealed.substr(0, n))) << n;
  for (std::size_t bit = 0; bit < sealed.size() * 8; ++bit) {
    std::string damaged = sealed;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(opened_learned(damaged)) << bit;
  }
  EXPECT_FALSE(opened_learned(sealed + "\n"));
}

TEST(LearnedText, what_is_no_table_is_refused_in_words) {
  EXPECT_THAT(opened_learned("hello").error(), testing::HasSubstr("does not begin with"));
  EXPECT_THAT(opened_learned(sealed_learned("skein-q 9\n")).error(), testing::HasSubstr("skein-q"));
  EXPECT_THAT(opened_learned(std::string(k_learned_bytes_max + 1, 'x')).error(), testing::HasSubstr("too long"));
}

}  // namespace
}  // namespace skein::inline v0::dispatch
