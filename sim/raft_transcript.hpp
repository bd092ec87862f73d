// Compares what our core does with what a transcript says, command by command.
//
// The transcripts of etcd/raft's test data are an oracle that we did not write. Compared are
//   raft-state, raft-log, status, compact     line by line
//   stabilize, deliver-msgs, process-ready,
//   process-append-thread, -apply-thread      which messages were sent, received and dropped, and how often each; what
//                                             the threads stored and applied
//   simple, committed, vote                   what the functions of membership.hpp and quorum.hpp answer
//   all others                                whether the command was refused
// Not compared, as it is theirs: log lines, the layout of a Ready and MustSync, the parts of a Ready that are no
// messages, messages that a node or its threads send to itself, what is printed under 'log-level none'.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "sim/transcript_script.hpp"

namespace skein::sim {

struct TranscriptDifference {
  std::size_t line = 0;  // of the command
  std::string command;
  std::vector<std::string> missing;  // what only the transcript has
  std::vector<std::string> added;    // what only ours has
};

struct TranscriptResult {
  std::vector<TranscriptDifference> differences;
  std::vector<std::vector<std::string>> outputs;  // of each command, as ours prints it
  std::size_t compared = 0;                       // lines of the transcript; where it is 0, nothing is shown
};

// The error begins with a line's number and says why the transcript can't be run.
[[nodiscard]] std::expected<TranscriptResult, std::string> run_raft_transcript(
    const std::vector<TranscriptCommand>& commands);

// What of a command's output is compared, in an order that does not depend on the output's.
[[nodiscard]] std::vector<std::string> comparable_part(const TranscriptCommand& command,
                                                       const std::vector<std::string>& output);

// The transcript's text with the outputs in place of those that it has.
[[nodiscard]] std::string with_outputs(std::string_view text, const std::vector<TranscriptCommand>& commands,
                                       const std::vector<std::vector<std::string>>& outputs);

}  // namespace skein::sim
