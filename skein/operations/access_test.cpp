#include "skein/operations/access.hpp"

#include <gtest/gtest.h>

namespace skein::operations {
namespace {

using ledger::Token;

struct AccessTest : testing::Test {
  static Token token(const std::string& name, const std::string& secret, Rank rank = Rank::operate) {
    Token made;
    made.name = name;
    made.secret = sha256(secret);
    made.rank = rank;
    made.made_at = 1'000;
    return made;
  }

  ledger::WallMs now = 1'000;
  Access access{"key", [this] { return now; }};
};

TEST_F(AccessTest, knows_the_holder_of_a_secret_and_nobody_else) {
  access.set_first("file");
  access.set_tokens({token("ci", "one", Rank::read)});
  EXPECT_EQ(access.identify("one")->name, "ci");
  EXPECT_EQ(access.identify("one")->rank, Rank::read);
  EXPECT_EQ(access.identify("file")->kind, Principal::Kind::first);
  EXPECT_EQ(access.identify("file")->rank, Rank::administer);
  for (const char* bad : {"", "on", "two", "skein_", "skein_task_", "skein_task_1_2_3"}) {
    EXPECT_EQ(access.identify(bad), nullptr) << bad;
  }
}

TEST_F(AccessTest, a_revoked_token_stops_working_for_those_who_have_shown_it) {
  access.put(token("ci", "one"));
  const auto who = access.identify("one");
  EXPECT_TRUE(who->holds());
  access.remove("ci");
  EXPECT_FALSE(who->holds());
  EXPECT_EQ(access.identify("one"), nullptr);
}

TEST_F(AccessTest, a_token_expires_by_the_clock_and_works_again_when_the_clock_was_wrong) {
  Token made = token("ci", "one");
  made.expires_at = 2'000;
  access.put(made);
  const auto who = access.identify("one");
  now = 1'999;
  EXPECT_TRUE(who->holds());
  now = 2'000;
  EXPECT_FALSE(who->holds());
  EXPECT_EQ(access.identify("one"), nullptr);
  now = 1'500;  // nothing was removed because of one look at a clock
  EXPECT_TRUE(who->holds());
}

TEST_F(AccessTest, after_a_rotation_both_secrets_work_until_the_overlap_ends) {
  access.put(token("ci", "one"));
  const auto old_holder = access.identify("one");
  Token rotated = token("ci", "two");
  rotated.previous = sha256("one");
  rotated.previous_until = 1'500;
  access.put(rotated);
  const auto new_holder = access.identify("two");
  ASSERT_NE(new_holder, nullptr);
  EXPECT_TRUE(old_holder->holds());
  EXPECT_NE(access.identify("one"), nullptr);
  now = 1'500;
  EXPECT_FALSE(old_holder->holds());
  EXPECT_EQ(access.identify("one"), nullptr);
  EXPECT_TRUE(new_holder->holds());
}

TEST_F(AccessTest, without_an_overlap_the_old_secret_is_void_at_once) {
  access.put(token("ci", "one"));
  const auto old_holder = access.identify("one");
  access.put(token("ci", "two"));
  EXPECT_FALSE(old_holder->holds());
}

TEST_F(AccessTest, who_has_shown_a_token_whose_rank_changed_must_show_it_again) {
  access.put(token("ci", "one", Rank::administer));
  const auto who = access.identify("one");
  access.put(token("ci", "one", Rank::read));
  EXPECT_FALSE(who->holds());
  EXPECT_EQ(access.identify("one")->rank, Rank::read);
}

TEST_F(AccessTest, a_restarted_engine_leaves_those_who_are_logged_in_alone) {
  access.set_tokens({token("ci", "one"), token("gone", "two")});
  const auto who = access.identify("one");
  const auto other = access.identify("two");
  access.set_tokens({token("ci", "one")});
  EXPECT_TRUE(who->holds());
  EXPECT_FALSE(other->holds());
}

TEST_F(AccessTest, the_first_token_is_that_of_the_file_whatever_the_ledger_says) {
  access.set_first("old");
  Token rotated = token("first", "new", Rank::administer);
  rotated.previous = sha256("old");
  rotated.previous_until = 5'000;
  access.put(rotated);
  // The program ended before the file was written: what is in it works, and the other secret was shown to nobody.
  EXPECT_NE(access.identify("old"), nullptr);
  EXPECT_EQ(access.identify("new"), nullptr);
  const auto who = access.identify("old");
  access.set_first("new");
  EXPECT_NE(access.identify("new"), nullptr);
  EXPECT_TRUE(who->holds()) << "the overlap";
  now = 5'000;
  EXPECT_FALSE(who->holds());
  access.set_first("by hand");
  EXPECT_EQ(access.identify("old"), nullptr);
  EXPECT_EQ(access.identify("new"), nullptr);
}

TEST_F(AccessTest, the_token_of_an_attempt_says_which_it_is_and_cannot_be_changed) {
  const ledger::TaskId task{0x0190'0000'0000'7000ULL, 0xabcULL};
  const std::string secret = access.task_token(task, 77);
  const auto who = access.identify(secret);
  ASSERT_NE(who, nullptr);
  EXPECT_EQ(who->kind, Principal::Kind::task);
  EXPECT_EQ(who->bounds.task, task);
  EXPECT_EQ(who->fence, 77U);
  EXPECT_EQ(access.task_token(task, 77), secret) << "derived, not kept";
  for (std::size_t i = 0; i < secret.size(); ++i) {
    std::string changed = secret;
    changed[i] = changed[i] == '0' ? '1' : '0';
    EXPECT_EQ(access.identify(changed), nullptr) << changed;
  }
  for (std::size_t n = 0; n < secret.size(); ++n) EXPECT_EQ(access.identify(secret.substr(0, n)), nullptr) << n;
  Access other("another key", [] { return ledger::WallMs{1}; });
  EXPECT_EQ(other.identify(secret), nullptr);
}

TEST_F(AccessTest, whoever_has_shown_the_token_of_an_attempt_is_told_of_its_end) {
  const ledger::TaskId task{1, 2};
  const auto first = access.identify(access.task_token(task, 3));
  const auto again = access.identify(access.task_token(task, 3));
  const auto other = access.identify(access.task_token({1, 3}, 4));
  EXPECT_EQ(first->standing, again->standing);
  access.end_attempts(task);
  EXPECT_FALSE(first->holds());
  EXPECT_FALSE(again->holds());
  EXPECT_TRUE(other->holds());
  const auto next = access.identify(access.task_token(task, 5));
  EXPECT_TRUE(next->holds());
  access.end_attempt(task, 3);
  EXPECT_TRUE(next->holds()) << "that was another attempt";
  access.end_attempt(task, 5);
  EXPECT_FALSE(next->holds());
  EXPECT_FALSE(may(*next, "task_status", {})->message.find("has ended") == std::string::npos);
}

}  // namespace
}  // namespace skein::operations
