// What an OS process is started with, and the messages its owner gets about it. Plain values.
//
// An owner sees, in this order: OsStarted or OsStartFailed (then nothing more); OsOutput as it comes; OsOutputEnd once
// stdout ended; OsExited, last and exactly once.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace skein::inline v0::launcher {

using OsId = std::uint64_t;

// Limits of one OS process; a process that it starts gets the same for itself. Zero means none. Never above the node's.
// In a control group with the controllers for it, memory_bytes and processes hold for all of a program together.
struct OsLimits {
  std::uint64_t memory_bytes = 0;  // RLIMIT_DATA: private writable memory
  std::uint64_t cpu_seconds = 0;   // SIGXCPU when used up, SIGKILL a second of processor time later
  std::uint64_t open_files = 0;
  std::uint64_t file_bytes = 0;  // the largest file it may write
  std::uint64_t processes = 0;   // it and those below it; only in such a control group
};

// Whom a program runs as, in numbers. Only a node that root runs can start one as somebody else.
struct OsUser {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups{};  // supplementary; these and no others
};

struct OsSpec {
  std::vector<std::string> argv{};         // a name without a slash is looked for in the PATH of `environment`
  std::vector<std::string> environment{};  // "K=V", complete: nothing is inherited
  std::string directory{};                 // empty: the node's own
  OsLimits limits{};
  std::optional<OsUser> user{};  // none: the node's
  mode_t umask = 077;
  bool no_new_privs = true;                             // setuid and setgid programs give it no more rights
  bool is_private = false;                              // in a view of its own: private_view.hpp
  std::size_t stdin_bytes_max = std::size_t{4} << 20U;  // queued, not yet taken by the pipe
  std::size_t stdout_window = std::size_t{1} << 20U;    // sent to the owner and not consumed()
  std::size_t stderr_ring = std::size_t{64} << 10U;     // the last bytes kept
};

struct OsStarted {
  OsId id = 0;
  pid_t pid = 0;
};

struct OsStartFailed {
  OsId id = 0;
  std::string why;
};

struct OsOutput {
  OsId id = 0;
  std::string bytes;
};

struct OsOutputEnd {
  OsId id = 0;
};

struct OsExited {
  OsId id = 0;
  bool signalled = false;
  int code = 0;  // the exit code, or the signal
  std::string stderr_tail;
  std::uint64_t stderr_total = 0;  // bytes it ever wrote there; the tail is the last of them
  std::uint64_t user_us = 0;       // of it and of those it waited for; zero when launcher_died
  std::uint64_t system_us = 0;
  std::uint64_t max_rss_bytes = 0;
  bool launcher_died = false;  // nobody was left to say how it ended; it was killed
};

}  // namespace skein::inline v0::launcher
