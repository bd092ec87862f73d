#include "skein/routing/id_index.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace skein {
namespace {

TEST(IdIndex, finds_what_was_added_and_not_what_was_removed) {
  constexpr std::uint32_t k_items = 20'000;
  std::vector<std::string> texts;
  const auto text_of = [&](std::uint32_t number) -> const std::string& { return texts[number]; };
  IdIndex index;
  for (std::uint32_t i = 0; i < k_items; ++i) {
    texts.push_back("agent-" + std::to_string(i));
    index.add(texts.back(), i);
  }
  EXPECT_EQ(index.size(), k_items);
  for (std::uint32_t i = 0; i < k_items; i += 2) index.remove(texts[i], i);
  EXPECT_EQ(index.size(), k_items / 2);
  for (std::uint32_t i = 0; i < k_items; ++i) {
    const auto found = index.find(texts[i], text_of);
    ASSERT_EQ(found.has_value(), i % 2 == 1) << texts[i];
    ASSERT_EQ(found.value_or(i), i);
  }
  EXPECT_FALSE(index.find("agent-", text_of));
  EXPECT_FALSE(index.find("", text_of));
}

TEST(IdIndex, takes_a_text_again_under_another_number) {
  std::vector<std::string> texts{"one", "one"};
  const auto text_of = [&](std::uint32_t number) -> const std::string& { return texts[number]; };
  IdIndex index;
  index.add("one", 0);
  index.remove("one", 0);
  EXPECT_FALSE(index.find("one", text_of));
  index.add("one", 1);
  EXPECT_EQ(index.find("one", text_of), 1U);
}

}  // namespace
}  // namespace skein
