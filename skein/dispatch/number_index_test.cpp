#include "skein/dispatch/number_index.hpp"

#include <gtest/gtest.h>

#include <map>

#include "skein/base/random.hpp"

namespace skein::dispatch {
namespace {

TEST(NumberIndex, agrees_with_a_map_whatever_is_added_and_removed) {
  Random random(5);
  NumberIndex index;
  std::map<std::uint64_t, std::uint32_t> model;
  for (std::uint32_t i = 0; i < 50'000; ++i) {
    const std::uint64_t number = random.below(3'000) + (random.chance(0.1) ? 1'000'000 : 0);
    const auto at = model.find(number);
    ASSERT_EQ(index.find(number), at == model.end() ? NumberIndex::k_none : at->second);
    if (at == model.end() && random.chance(0.5)) {
      index.add(number, i);
      model[number] = i;
    } else if (random.chance(0.5)) {
      index.remove(number);
      model.erase(number);
    }
    ASSERT_EQ(index.size(), model.size());
  }
}

}  // namespace
}  // namespace skein::dispatch
