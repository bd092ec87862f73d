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
}

}  // namespace
}  // namespace skein::agent
