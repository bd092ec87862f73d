#include "sim/dispatch_script.hpp"

#include <gtest/gtest.h>

#include <string>

namespace skein::sim {
namespace {

std::string problem_of(std::string_view text) { return run_dispatch_script(text).problem; }

TEST(DispatchScript, names_the_line_that_is_wrong_and_what_is_wrong_with_it) {
  EXPECT_EQ(problem_of("# fine\nagent ada\n"), "2: what can it do? can=TYPE,...");
  EXPECT_EQ(problem_of("agent ada can=words colour=red\n"), "1: unknown option 'colour'");
  EXPECT_EQ(problem_of("agent ada can=words can=code\n"), "1: 'can' is given twice");
  EXPECT_EQ(problem_of("submit t1 type=words priority=urgent\n"), "1: 'urgent' is none of low, normal, high, critical");
  EXPECT_EQ(problem_of("submit t1 type=words\nsubmit t1 type=words\n"), "2: a task is called 't1' already");
  EXPECT_EQ(problem_of("wait soon\n"), "1: 'soon' is not a time up to 24h, such as 500ms, 5s, 2min");
  EXPECT_EQ(problem_of("wait 1s 2s\n"), "1: '2s' is one word too many");
  EXPECT_EQ(problem_of("ada crashes\n"), "1: no agent is called 'ada'");
  EXPECT_EQ(problem_of("agent ada can=words\nada crashes\nada beats\n"), "3: ada is gone");
  EXPECT_EQ(problem_of("agent ada can=words\nsubmit t1 type=code\nada starts t1\n"), "3: ada was never told to run t1");
  EXPECT_EQ(problem_of("ada flies\n"), "1: unknown command 'ada flies'; sim/dispatch_script.hpp has them all");
  EXPECT_EQ(problem_of("apply\n"), "1: no append is held");
  EXPECT_EQ(problem_of("wake\noption lease=5s\n"), "2: options stand before everything else");
  EXPECT_EQ(problem_of("swarm red weight=lots\n").substr(0, 3), "1: ");
  EXPECT_EQ(problem_of("ada says t1 \"never ends\n"), "1: a quote is not closed");
}

TEST(DispatchScript, replaces_what_stood_below_a_command_by_what_is_decided) {
  const std::string script = "# one task\nagent ada can=words\n  nonsense\n\nsubmit t1 type=words timeout=5s\n";
  const std::string transcript =
      "# one task\n"
      "agent ada can=words\n"
      "  event agent_joined ada\n"
      "\n"
      "submit t1 type=words timeout=5s\n"
      "  append assign t1 -> ada\n"
      "  order ada: run t1 (fence 1, attempt 1, timeout 5s)\n";
  EXPECT_EQ(run_dispatch_script(script).text, transcript);
  EXPECT_EQ(run_dispatch_script(transcript).text, transcript);
}

TEST(DispatchScript, a_refused_submit_gives_its_name_back) {
  const auto said = run_dispatch_script("submit t1 type=words swarm=nowhere\nsubmit t1 type=words\ntasks\n");
  EXPECT_EQ(said.problem, "");
  EXPECT_NE(said.text.find("  refused: no_such_swarm\n"), std::string::npos) << said.text;
  EXPECT_NE(said.text.find("  t1 queued in default (normal), 0 of 4 attempts failed\n"), std::string::npos);
}

}  // namespace
}  // namespace skein::sim
