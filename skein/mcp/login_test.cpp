#include "skein/mcp/login.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace skein::inline v0::mcp {
namespace {

using Verdict = Login::Verdict;
using namespace std::chrono_literals;

TEST(LoginTest, lets_in_who_shows_the_token) {
  const auto login = login_with("secret", {}, {100, 10s});
  const Instant now{};
  EXPECT_EQ(login->check("Bearer secret", now).verdict, Verdict::good);
  EXPECT_EQ(login->check("bearer secret", now).verdict, Verdict::good);
  EXPECT_EQ(login->check("bearer secret", now).who->name, "first");
  for (const char* bad : {"Bearer secre", "Bearer secrett", "Basic secret", "secret", "Bearer  secret", "x"}) {
    EXPECT_EQ(login->check(bad, now).verdict, Verdict::bad) << bad;
    EXPECT_EQ(login->check(bad, now).who, nullptr) << bad;
  }
}

TEST(LoginTest, lets_everybody_in_where_no_token_is_wanted) {
  const auto login = login_with("", {});
  EXPECT_EQ(login->check("", Instant{}).verdict, Verdict::good);
  EXPECT_EQ(login->check("Bearer of what", Instant{}).who->kind, operations::Principal::Kind::anyone);
}

TEST(LoginTest, where_no_token_is_wanted_who_shows_a_known_one_counts_as_its_holder) {
  const auto access = std::make_shared<operations::Access>("key", [] { return ledger::WallMs{1}; });
  Login login(access, false, {});
  const auto who = login.check_token(access->task_token({1, 2}, 3), Instant{}).who;
  EXPECT_EQ(who->bounds.task, (ledger::TaskId{1, 2}));
}

TEST(LoginTest, slows_down_who_guesses_and_not_who_knows) {
  std::vector<std::string> lines;
  const auto login = login_with("secret", [&](const std::string& line) { lines.push_back(line); }, {3, 10s});
  const Instant begin = later(Instant{}, 100s);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(login->check("Bearer guess", begin).verdict, Verdict::bad);
  EXPECT_EQ(login->check("Bearer guess", begin).verdict, Verdict::too_many);
  EXPECT_EQ(login->check("Bearer secret", begin).verdict, Verdict::good);
  EXPECT_EQ(login->check("Bearer guess", later(begin, 9s)).verdict, Verdict::too_many);
  EXPECT_EQ(login->check("Bearer guess", later(begin, 10s)).verdict, Verdict::bad);
  EXPECT_EQ(lines.size(), 4U);
  for (const std::string& each : lines) EXPECT_EQ(each.find("guess"), std::string::npos);
}

TEST(LoginTest, who_shows_nothing_is_refused_and_is_no_guesser) {
  std::vector<std::string> lines;
  const auto login = login_with("secret", [&](const std::string& line) { lines.push_back(line); }, {3, 10s});
  const Instant now{};
  for (int i = 0; i < 100; ++i) EXPECT_EQ(login->check("", now).verdict, Verdict::missing);
  for (const char* bare : {"Bearer", "bearer ", "BEARER \t", "Basic", "basic "}) {
    for (int i = 0; i < 5; ++i) EXPECT_EQ(login->check(bare, now).verdict, Verdict::missing) << bare;
  }
  EXPECT_TRUE(lines.empty());
  EXPECT_EQ(login->check("Bearer guess", now).verdict, Verdict::bad) << "guesses are still counted from none";
}

}  // namespace
}  // namespace skein::inline v0::mcp
