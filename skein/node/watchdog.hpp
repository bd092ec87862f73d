// Feeds the service manager's watchdog from a process on the runtime: a scheduler that runs nothing starves it, and the
// service manager starts the node again. It stands beside the tree, so that no failure in the tree ends the feeding; a
// tree that gives up ends the program by itself.
#pragma once

#include <cstdint>
#include <string>

#include "skein/base/time.hpp"
#include "skein/runtime/runtime.hpp"

namespace skein::inline v0::node {

class Watchdog {
 public:
  Watchdog(Self self, Duration every);
  void handle_info(Self self, Message message);
  [[nodiscard]] std::string describe() const;

 private:
  struct Beat {};
  std::uint64_t beats_ = 0;
};

// Starts it when the service manager asked for one; no Pid otherwise. Three beats fit into the time it allows.
Pid start_watchdog(Runtime& runtime);

}  // namespace skein::inline v0::node
