// OS processes that belong together because they carry the same mark, "NAME=value", in the environment they were
// started with: found in /proc, and ended one by one. A node hands names that begin with SKEIN_MARK_ on to its guard,
// launchers and keepers. Any thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace skein::cli {

struct MarkedProcess {
  pid_t pid = 0;
  std::string name;   // as /proc/N/comm has it
  std::string agent;  // SKEIN_AGENT_ID of its environment, if it is one
};

// Living ones only: what is dead and not yet reaped counts no more.
[[nodiscard]] std::vector<MarkedProcess> marked_processes(const std::string& mark);
// Looks at the mark again once it holds the process itself and not just its number. False: it is another, or gone.
[[nodiscard]] bool signal_marked(pid_t pid, const std::string& mark, int number);
// A mark that nobody else has.
[[nodiscard]] std::string new_mark(const std::string& name);

}  // namespace skein::cli
