#include "sim/raft_transcript.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skein::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> compared(std::string_view command, const std::vector<std::string>& output) {
  const auto commands = parse_transcript(std::string(command) + "\n----\n");
  return comparable_part(commands->front(), output);
}

TranscriptResult run(std::string_view text) {
  const auto commands = parse_transcript(text);
  EXPECT_TRUE(commands) << commands.error();
  auto result = run_raft_transcript(*commands);
  EXPECT_TRUE(result) << result.error();
  return std::move(*result);
}

constexpr std::string_view k_election =
    "log-level none\n----\nok\n\n"
    "add-nodes 3 voters=(1,2,3) index=2\n----\nok\n\n"
    "campaign 1\n----\nok\n\n"
    "stabilize\n----\nok\n\n"
    "log-level info\n----\nok\n\n";

TEST(RaftTranscript, compares_messages_whatever_their_order_and_layout) {
  const std::vector<std::string> one = {"> 1 handling Ready",
                                        "  Ready MustSync=true:",
                                        "  INFO 1 became leader at term 1",
                                        "  Messages:",
                                        "  1->2 MsgApp Term:1 Log:1/3 Commit:4 Entries:[",
                                        "    1/4 EntryNormal \"a]b\"",
                                        "    1/5 EntryNormal \"\"",
                                        "  ]",
                                        "  1->1 MsgAppResp Term:1 Log:0/5",
                                        "> 2 receiving messages",
                                        "  1->2 MsgHeartbeat Term:1 Log:0/0"};
  EXPECT_THAT(compared("stabilize", one),
              ElementsAre("received 1->2 MsgHeartbeat Term:1 Log:0/0",
                          "sent 1->2 MsgApp Term:1 Log:1/3 Commit:4 Entries:[1/4 EntryNormal \"a]b\" 1/5 EntryNormal "
                          "\"\"]"));
}

TEST(RaftTranscript, compares_what_a_node_stores_and_applies) {
  EXPECT_THAT(compared("process-ready 3", {"Ready MustSync=true:", "HardState Term:1 Vote:1 Commit:2", "Entries:",
                                           "1/3 EntryNormal \"\"", "CommittedEntries:", "1/2 EntryNormal \"\""}),
              ElementsAre("3 applies 1/2 EntryNormal \"\"", "3 stores 1/3 EntryNormal \"\"",
                          "3 stores HardState Term:1 Vote:1 Commit:2"));
}

TEST(RaftTranscript, leaves_out_what_threads_are_told_and_answer) {
  EXPECT_THAT(
      compared(
          "process-append-thread 1",
          {"Processing:", "1->AppendThread MsgStorageAppend Term:2 Log:0/0 Entries:[2/12 EntryNormal \"\"]",
           "Responses:", "1->3 MsgAppResp Term:2 Log:0/12", "AppendThread->1 MsgStorageAppendResp Term:2 Log:2/12"}),
      ElementsAre("done 1->AppendThread Entries:[2/12 EntryNormal \"\"]", "sent 1->3 MsgAppResp Term:2 Log:0/12"));
}

TEST(RaftTranscript, tells_dropped_from_received) {
  EXPECT_THAT(
      compared("deliver-msgs 1 drop=2", {"3->1 MsgVote Term:2 Log:1/11", "dropped: 3->2 MsgVote Term:2 Log:1/11"}),
      ElementsAre("dropped 3->2 MsgVote Term:2 Log:1/11", "received 3->1 MsgVote Term:2 Log:1/11"));
}

TEST(RaftTranscript, takes_a_refusal_for_no_consent) {
  EXPECT_THAT(compared("propose 1 a", {"INFO 1 no leader at term 1; dropping proposal", "raft proposal dropped"}),
              ElementsAre("raft proposal dropped"));
  EXPECT_THAT(compared("propose 1 a", {"ok"}), IsEmpty());
}

TEST(RaftTranscript, finds_nothing_where_the_core_does_what_is_written) {
  const auto result = run(std::string(k_election) +
                          "raft-state\n----\n1: StateLeader (Voter) Term:1 Lead:1\n"
                          "2: StateFollower (Voter) Term:1 Lead:1\n3: StateFollower (Voter) Term:1 Lead:1\n");
  EXPECT_THAT(result.differences, IsEmpty());
  EXPECT_EQ(result.compared, 3U);
}

TEST(RaftTranscript, names_the_command_that_differs_and_both_sides) {
  const auto result = run(std::string(k_election) + "raft-log 2\n----\n1/3 EntryNormal \"a\"\n");
  ASSERT_EQ(result.differences.size(), 1U);
  EXPECT_EQ(result.differences[0].command, "raft-log 2");
  EXPECT_EQ(result.differences[0].line, 21U);
  EXPECT_THAT(result.differences[0].missing, ElementsAre("1/3 EntryNormal \"a\""));
  EXPECT_THAT(result.differences[0].added, ElementsAre("1/3 EntryNormal \"\""));
}

TEST(RaftTranscript, refuses_commands_that_it_does_not_know) {
  for (const std::string_view text : {"fly 1\n----\n", "campaign 1\n----\n", "add-nodes x\n----\n",
                                      "add-nodes 1 wings=2\n----\n", "tick-election\n----\n"}) {
    const auto commands = parse_transcript(text);
    ASSERT_TRUE(commands) << commands.error();
    EXPECT_FALSE(run_raft_transcript(*commands)) << text;
  }
}

TEST(RaftTranscript, writes_our_outputs_in_the_place_of_those_in_the_file) {
  const std::string_view text = "# said before\nlog-level info\n----\nno\nmore\n\n# between\nlog-level info\n----\n";
  const auto commands = parse_transcript(text);
  ASSERT_TRUE(commands) << commands.error();
  EXPECT_EQ(with_outputs(text, *commands, {{"ok"}, {"a", "b"}}),
            "# said before\nlog-level info\n----\nok\n\n# between\nlog-level info\n----\na\nb\n");
}

}  // namespace
}  // namespace skein::sim
