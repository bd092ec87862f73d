#include "skein/agent/os_executor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skein::agent {
namespace {

using testing::ElementsAre;

TEST(OsExecutor, hands_over_what_is_allowed_and_what_is_set_and_nothing_else) {
  const auto lookup = [](const std::string& name) -> std::optional<std::string> {
    if (name == "PATH") return "/bin";
    if (name == "HOME") return "/there";
    if (name == "SECRET") return "x";
    return std::nullopt;
  };
  EXPECT_THAT(
      build_environment({"PATH", "HOME", "TZ", "A=B", ""}, {{"HOME", "/here"}, {"B=C", "x"}, {"N", ""}}, lookup),
      ElementsAre("PATH=/bin", "HOME=/here", "N="));
}

TEST(OsExecutor, masks_a_secret_wherever_it_stands) {
  const std::string secret = "skein_task_0123456789";
  EXPECT_EQ(masked("nothing", secret), "nothing");
  EXPECT_EQ(masked("nothing", ""), "nothing");
  EXPECT_EQ(masked(secret, secret), "[SKEIN_TOKEN]");
  EXPECT_EQ(masked("a " + secret + secret + " b", secret), "a [SKEIN_TOKEN][SKEIN_TOKEN] b");
  EXPECT_EQ(masked("_task_0123456789 and on", secret), "[SKEIN_TOKEN] and on") << "its beginning was cut off";
  EXPECT_EQ(masked("789 and on", secret), "789 and on");
  // Masked before it is cut.
  EXPECT_EQ(shown_tail("x" + secret + "yy", 8, secret), "TOKEN]yy");
}

TEST(OsExecutor, says_how_a_process_ended) {
  launcher::OsExited exited;
  exited.code = 3;
  exited.stderr_tail = "line\nbad \x1b[31m\xff\n\n";
  EXPECT_EQ(how_it_ended(exited), "exit code 3: line\nbad ?[31m?");
  exited.stderr_tail.clear();
  exited.signalled = true;
  exited.code = 11;
  EXPECT_EQ(how_it_ended(exited), "killed by SIGSEGV (11)");
  EXPECT_EQ(shown_tail("0123456789", 4), "6789");
  exited = {};
  exited.code = 3;
  exited.stderr_tail = "my token is a-secret-of-mine.";
  EXPECT_EQ(how_it_ended(exited, "a-secret-of-mine"), "exit code 3: my token is [SKEIN_TOKEN].");
}

}  // namespace
}  // namespace skein::agent
