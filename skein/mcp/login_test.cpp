#include "skein/mcp/login.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace skein::inline v0::mcp {
namespace {

using Verdict = Login::Verdict;
using namespace std::chrono_literals;

TEST(LoginTest, lets_in_who_shows_the_token) {
  Login login("secret", {});
  const Instant now{};
  EXPECT_EQ(login.check("Bearer secret", now), Verdict::good);
  EXPECT_EQ(login.check("bearer secret", now), Verdict::good);
  for (const char* bad :
       {"", "Bearer ", "Bearer secre", "Bearer secrett", "Basic secret", "secret", "Bearer  secret"}) {
    EXPECT_EQ(login.check(bad, now), Verdict::bad) << bad;
  }
}

TEST(LoginTest, lets_everybody_in_without_a_token) {
  Login login("", {});
  EXPECT_EQ(login.check("", Instant{}), Verdict::good);
}

TEST(LoginTest, slows_down_who_guesses_and_not_who_knows) {
  std::vector<std::string> lines;
  Login login("secret", [&](const std::string& line) { lines.push_back(line); }, {3, 10s});
  const Instant begin = later(Instant{}, 100s);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(login.check("Bearer guess", begin), Verdict::bad);
  EXPECT_EQ(login.check("Bearer guess", begin), Verdict::too_many);
  EXPECT_EQ(login.check("Bearer secret", begin), Verdict::good);
  EXPECT_EQ(login.check("Bearer guess", later(begin, 9s)), Verdict::too_many);
  EXPECT_EQ(login.check("Bearer guess", later(begin, 10s)), Verdict::bad);
  EXPECT_EQ(lines.size(), 4U);
  for (const std::string& each : lines) EXPECT_EQ(each.find("guess"), std::string::npos);
}

}  // namespace
}  // namespace skein::inline v0::mcp
