// Shutting a tree down within a deadline, from an ordinary thread. Always returns, and says who did not end.
#pragma once

#include <string>
#include <vector>

#include "skein/runtime/runtime.hpp"

namespace skein::inline v0 {

struct LateProcess {
  std::string path;  // "root/core/db"
  Pid pid;
  std::string doing;  // its state, and the message it is handling
};

struct StopReport {
  bool clean = false;              // it ended by itself, in time
  std::vector<LateProcess> late;   // had not ended after three quarters of the deadline, and were killed
  std::vector<LateProcess> stuck;  // still there at the deadline: a handler does not return
  [[nodiscard]] std::string text() const;
};

// Tells the supervisor to shut down; after three quarters of the deadline kills what is left of its tree.
StopReport stop_tree(Runtime& runtime, Pid root, Duration deadline);

}  // namespace skein::inline v0
