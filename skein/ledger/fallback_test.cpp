#include "skein/ledger/fallback.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace skein::ledger {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

struct FallbackProblem : testing::Test {
  std::map<std::string, std::string, std::less<>> swarms;

  std::optional<std::string> problem(std::string_view swarm, std::string_view fallback) {
    return fallback_problem(swarm, fallback, [this](std::string_view name) -> std::optional<std::string> {
      const auto at = swarms.find(name);
      return at == swarms.end() ? std::nullopt : std::optional(at->second);
    });
  }
};

TEST_F(FallbackProblem, is_none_for_a_swarm_that_is_there_and_leads_nowhere_else) {
  swarms = {{"b", ""}, {"c", "b"}};
  EXPECT_EQ(problem("a", ""), std::nullopt);
  EXPECT_EQ(problem("a", "b"), std::nullopt);
  EXPECT_EQ(problem("a", "c"), std::nullopt);
}

TEST_F(FallbackProblem, names_itself_and_the_unknown) {
  EXPECT_THAT(problem("a", "a"), Optional(HasSubstr("its own fallback")));
  EXPECT_THAT(problem("a", "b"), Optional(HasSubstr("there is no swarm 'b'")));
}

TEST_F(FallbackProblem, shows_the_circle) {
  swarms = {{"b", "c"}, {"c", "a"}};
  EXPECT_THAT(problem("a", "b"), Optional(HasSubstr("'a' -> 'b' -> 'c' -> 'a' is a circle")));
  swarms = {{"b", "c"}, {"c", "d"}, {"d", "a"}};
  EXPECT_THAT(problem("a", "b"), Optional(HasSubstr("'d' -> 'a' is a circle")));
}

TEST_F(FallbackProblem, ends_with_a_circle_that_is_not_its_own_and_with_a_path_too_long) {
  swarms = {{"b", "c"}, {"c", "b"}};
  EXPECT_THAT(problem("a", "b"), Optional(HasSubstr("too long")));
  swarms = {{"b", "c"}, {"c", "d"}, {"d", "e"}, {"e", ""}};
  EXPECT_THAT(problem("a", "b"), Optional(HasSubstr("at most 3 times")));
  EXPECT_EQ(problem("x", "c"), std::nullopt);
}

}  // namespace
}  // namespace skein::ledger
