// Transcripts: scripts of commands, each with the output that it must have.
//
//   # a comment
//   COMMAND WORD KEY=VALUE KEY=(VALUE,VALUE)
//   further lines of input
//   ----
//   expected output, up to an empty line; or, after a second '----', up to two such lines
//
// It is the form of etcd/raft's test data, whose scripts run on our core as they are: see raft_transcript.hpp. Plain
// values; any thread.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace skein::sim {

struct TranscriptCommand {
  std::size_t line = 0;
  std::string text;                                          // the whole line
  std::string name;                                          // its first word
  std::vector<std::string> words;                            // those without a key
  std::map<std::string, std::vector<std::string>> settings;  // KEY=VALUE and KEY=(VALUE,VALUE)
  std::vector<std::string> input;                            // lines
  std::vector<std::string> expected;                         // lines
  std::size_t lines_before = 0;  // of the file, up to and with '----': kept when the output is written again
  std::size_t lines_after = 0;   // of the file, up to the end of the output
};

// An error begins with the line's number and says what is wrong with it.
[[nodiscard]] std::expected<std::vector<TranscriptCommand>, std::string> parse_transcript(std::string_view text);

// The number that a word is; nothing when it is none.
[[nodiscard]] std::expected<std::uint64_t, std::string> transcript_number(std::string_view word);

}  // namespace skein::sim
