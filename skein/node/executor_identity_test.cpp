#include "skein/node/executor_identity.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skein::inline v0::node {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uid_t k_root = 0;
constexpr uid_t k_somebody = 1'000;

ExecutorConfig command_as(const std::string& user = {}, const std::string& isolate = "none") {
  ExecutorConfig config;
  config.kind = "command";
  config.user = user;
  config.isolate = isolate;
  return config;
}

TEST(ExecutorIdentity, names_and_numbers_become_a_user_with_its_groups) {
  EXPECT_EQ(user_of(command_as(), "x", k_somebody)->has_value(), false);
  const auto root = user_of(command_as("root"), "x", k_root);
  ASSERT_TRUE(root && *root);
  EXPECT_EQ((*root)->uid, 0U);
  const auto numbered = user_of(command_as("123456"), "x", k_root);
  ASSERT_TRUE(numbered && *numbered);
  EXPECT_EQ((*numbered)->uid, 123456U);
  EXPECT_EQ((*numbered)->gid, 123456U);
  EXPECT_THAT((*numbered)->groups, ElementsAre(123456U));
  ExecutorConfig grouped = command_as("123456");
  grouped.group = "654";
  EXPECT_EQ((*user_of(grouped, "x", k_root))->gid, 654U);
  EXPECT_THAT((*user_of(grouped, "x", k_root))->groups, ElementsAre(654U));
}

TEST(ExecutorIdentity, says_what_is_wrong_with_a_user) {
  EXPECT_THAT(user_of(command_as("nobody-has-this-name"), "x", k_root).error(),
              HasSubstr("[executors.x] user = \"nobody-has-this-name\": there is no such user"));
  EXPECT_THAT(user_of(command_as("nobody"), "x", k_somebody).error(), HasSubstr("only a node that runs as root"));
  ExecutorConfig grouped = command_as();
  grouped.group = "nobody-has-this-name";
  EXPECT_THAT(user_of(grouped, "x", k_root).error(), HasSubstr("there is no such group"));
  EXPECT_THAT(user_of(grouped, "x", k_somebody).error(), HasSubstr("[executors.x] group = "));
  EXPECT_THAT(user_of(command_as("4294967295"), "x", k_root).error(), HasSubstr("there is no such user"));
}

TEST(ExecutorIdentity, a_umask_is_octal) {
  EXPECT_EQ(parse_umask("077"), 077U);
  EXPECT_EQ(parse_umask("0"), 0U);
  EXPECT_EQ(parse_umask("0027"), 027U);
  for (const char* bad : {"", "8", "1777", "77x", "-1", " 77"}) EXPECT_FALSE(parse_umask(bad)) << bad;
}

TEST(ExecutorIdentity, private_is_had_or_refused_and_auto_takes_what_there_is) {
  EXPECT_EQ(is_private(command_as({}, "none"), "x", "", k_somebody), false);
  EXPECT_EQ(is_private(command_as({}, "private"), "x", "", k_somebody), true);
  EXPECT_EQ(is_private(command_as({}, "private"), "x", "", k_root), true);
  EXPECT_THAT(is_private(command_as({}, "private"), "x", "no namespaces", k_somebody).error(),
              HasSubstr("a private view is not possible here: no namespaces; set isolate = \"none\""));
  EXPECT_EQ(is_private(command_as({}, "auto"), "x", "", k_somebody), true);
  EXPECT_EQ(is_private(command_as({}, "auto"), "x", "no namespaces", k_somebody), false);
  EXPECT_EQ(is_private(command_as({}, "auto"), "x", "", k_root), false) << "root has users to give";
}

TEST(ExecutorIdentity, says_plainly_what_an_agent_can_reach) {
  const ExecutorIdentity plain{};
  const ExecutorIdentity hidden{.is_private = true};
  EXPECT_THAT(exposure_of("x", plain, "", k_somebody), HasSubstr("can read the token"));
  EXPECT_THAT(exposure_of("x", plain, "", k_root), HasSubstr("give it a user"));
  EXPECT_THAT(exposure_of("x", plain, "no namespaces", k_somebody), HasSubstr("(not possible here: no namespaces)"));
  EXPECT_THAT(exposure_of("x", {.user = launcher::OsUser{7, 7, {}}}, "", k_root), IsEmpty());
  EXPECT_THAT(exposure_of("x", {.user = launcher::OsUser{0, 7, {}}}, "", k_root), HasSubstr("can read the token"));
  EXPECT_THAT(exposure_of("x", hidden, "", k_somebody), IsEmpty());
  EXPECT_THAT(exposure_of("x", hidden, "", k_root), HasSubstr("run as root"));
}

}  // namespace
}  // namespace skein::inline v0::node
