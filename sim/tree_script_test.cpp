#include "sim/tree_script.hpp"

#include <gtest/gtest.h>

#include "sim/tree_run.hpp"

namespace skein::sim {
namespace {

std::string error_of(std::string_view text) {
  const auto script = parse_tree_script(text);
  return script ? "none" : script.error();
}

TEST(TreeScript, names_the_line_that_is_wrong_and_what_is_wrong_with_it) {
  EXPECT_EQ(error_of("worker a under -\nstart\n"), "1: the first must be a supervisor under '-'");
  EXPECT_EQ(error_of("supervisor s under -\nworker a under t\nstart\n"), "2: 't' is not declared above");
  EXPECT_EQ(error_of("supervisor s under -\n# said before\nworker s under s\nstart\n"), "3: 's' is declared twice");
  EXPECT_EQ(error_of("supervisor s under - strategy=one\nstart\n"),
            "1: 'one' is none of one_for_one, one_for_all, rest_for_one, escalate");
  EXPECT_EQ(error_of("supervisor s under -\nworker a under s intensity=1\nstart\n"),
            "2: a worker has no option 'intensity'");
  EXPECT_EQ(error_of("supervisor s under - intensity=lots\nstart\n"), "1: 'lots' is not a number up to 1000000000");
  EXPECT_EQ(error_of("supervisor s under -\nstart\nfly a\n"), "3: unknown command 'fly'");
  EXPECT_EQ(error_of("supervisor s under -\nstart\ncrash\n"), "3: 'crash' takes 1 words after it, not 0");
  EXPECT_EQ(error_of("supervisor s under -\n"), "1: no 'start' was found");
}

TEST(TreeScript, prints_answers_and_what_changed) {
  const auto script = parse_tree_script(
      "supervisor top under - strategy=rest_for_one intensity=1 period=3600\n"
      "worker a under top\n"
      "worker b under top   # restarts with a\n"
      "start\n"
      "crash b\n"
      "delete_child top a\n"
      "crash a\n");
  ASSERT_TRUE(script) << script.error();
  EXPECT_EQ(run_tree_script(*script, 1),
            "> start\nok\ntop up #1\na up #1\nb up #1\n"
            "> crash b\nb up #2\n"
            "> delete_child top a\nerror running\n"
            "> crash a\ntop gone shutdown #1\na gone #1\nb gone #2\n");
}

TEST(TreeScript, prints_the_same_whatever_the_seed) {
  const auto script = parse_tree_script(
      "supervisor top under - strategy=one_for_all intensity=3 period=3600\n"
      "supervisor low under top shutdown=brutal_kill\n"
      "worker a under low slow=20\n"
      "worker b under top fails=2\n"
      "start\nexit low kill\ncrash b\nstop\n");
  ASSERT_TRUE(script) << script.error();
  const std::string first = run_tree_script(*script, 1);
  for (std::uint64_t seed = 2; seed < 50; ++seed) EXPECT_EQ(run_tree_script(*script, seed), first) << "seed " << seed;
}

}  // namespace
}  // namespace skein::sim
