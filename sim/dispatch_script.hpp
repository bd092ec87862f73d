// Dispatch scripts: a text that says what happens around a dispatcher, one line each; what the dispatcher decides
// stands below each line, indented. So a script and its expected decisions are one file, which is read from top to
// bottom.
//
//   option KEY=VALUE...                                  of DispatcherOptions, before anything else
//   swarm NAME [state=paused] [fallback=..] [strategy=..] [weight=..] [executor=..] ...   the config's names
//   agent NAME can=TYPE,.. [capacity=2] [starts=reported] [words=told] [swarm=..] [executor=..] [timeout=5s]
//   submit TASK type=.. [swarm=..] [priority=..] [attempts=..] [timeout=..] [deadline=..] [delay=..] [after=TASK,..]
//          [agent=..] [fallback=any|none] [agent_wait=..]
//   cancel TASK | pause AGENT | resume AGENT
//   AGENT starts|returns|forgets TASK | AGENT completes TASK [fence=N] | AGENT marks TASK "TEXT"
//   AGENT fails TASK CLASS "TEXT" [retry_after=5s] | AGENT says TASK "LAST WORDS"
//   AGENT crashes|leaves|beats|announces | AGENT falls silent
//   wait TIME                                            virtual; what is due happens, living agents beat every second
//   hold appends | apply | release appends               appends wait; the oldest is applied; all are, from now on
//   dispatcher restarts | dispatcher stalls TIME | node restarts | node stands still TIME | another node takes over
//   wake | tasks                                         when the dispatcher wants its next turn; how the tasks stand
//
// '#' begins a comment. Lines of a wait begin with the time since it began. '(nothing)' stands for no decision. The
// same script gives the same text on every machine: seeds are fixed, and retries have no jitter. Pure; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace skein::sim {

inline constexpr std::size_t k_script_bytes_max = 1U << 20U;

struct DispatchTranscript {
  std::string text;     // the script with its comments, and below each command what was decided, whatever stood there
  std::string problem;  // "LINE: what is wrong with it", and the text ends before that line; empty: nothing is
};

// Throws std::logic_error when the dispatcher or the ledger contradicts itself.
[[nodiscard]] DispatchTranscript run_dispatch_script(std::string_view text);

}  // namespace skein::sim
