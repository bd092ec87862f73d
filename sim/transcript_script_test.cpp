#include "sim/transcript_script.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skein::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string error_of(std::string_view text) {
  const auto commands = parse_transcript(text);
  return commands ? "none" : commands.error();
}

TEST(TranscriptScript, reads_words_settings_input_and_output) {
  const auto commands = parse_transcript(
      "# what it shows\n"
      "add-nodes 3 voters=(1, 2,3) index=2\n"
      "----\n"
      "ok\n"
      "\n"
      "propose-conf-change 1\n"
      "v2\n"
      "l3\n"
      "----\n"
      "\n");
  ASSERT_TRUE(commands) << commands.error();
  ASSERT_EQ(commands->size(), 2U);
  const TranscriptCommand& add = commands->front();
  EXPECT_EQ(add.line, 2U);
  EXPECT_EQ(add.name, "add-nodes");
  EXPECT_THAT(add.words, ElementsAre("3"));
  EXPECT_THAT(add.settings.at("voters"), ElementsAre("1", "2", "3"));
  EXPECT_THAT(add.settings.at("index"), ElementsAre("2"));
  EXPECT_THAT(add.expected, ElementsAre("ok"));
  const TranscriptCommand& propose = commands->back();
  EXPECT_THAT(propose.input, ElementsAre("v2", "l3"));
  EXPECT_THAT(propose.expected, IsEmpty());
}

TEST(TranscriptScript, reads_an_output_with_empty_lines_between_two_rules) {
  const auto commands = parse_transcript("status 1\n----\n----\na\n\nb\n----\n----\n\nstatus 2\n----\nc");
  ASSERT_TRUE(commands) << commands.error();
  ASSERT_EQ(commands->size(), 2U);
  EXPECT_THAT(commands->front().expected, ElementsAre("a", "", "b"));
  EXPECT_THAT(commands->back().expected, ElementsAre("c"));
}

TEST(TranscriptScript, names_the_line_that_is_wrong_and_what_is_wrong_with_it) {
  EXPECT_EQ(error_of("# nothing\nstabilize\n\nstatus 1\n----\n"), "3: 'stabilize' has no '----' after it");
  EXPECT_EQ(error_of("stabilize\n"), "1: 'stabilize' has no '----' after it");
  EXPECT_EQ(error_of("----\nok\n"), "1: a command is missing before '----'");
  EXPECT_EQ(error_of("add-nodes 1 voters=(1\n----\n"), "1: a '(' has no ')'");
  EXPECT_EQ(error_of("status 1\n----\n----\na\n"), "4: an output that begins with two '----' must end with two");
  EXPECT_EQ(error_of(""), "none");
}

TEST(TranscriptScript, reads_any_text_without_harm) {
  for (const std::string_view text :
       {"a=(\n----", "=\n----", "a b=\n----\n", "(\n", ")\n----\n", "\n\n----", "a=)\n----"}) {
    (void)parse_transcript(text);
  }
}

}  // namespace
}  // namespace skein::sim
