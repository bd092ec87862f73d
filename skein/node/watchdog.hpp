// Feeds the service manager's watchdog from a process on the runtime: a scheduler that runs nothing starves it, and the
// service manager starts the node again. It is the first child of the node's root: no failure below another child ends
// the feeding, and a tree that gives up ends the program by itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "skein/base/time.hpp"
#include "skein/runtime/runtime.hpp"
#include "skein/supervision/child_spec.hpp"

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

// When the service manager asked for one. Ten beats fit into the time it allows, so that also a node that was stopped
// for most of it is in time when it goes on.
[[nodiscard]] std::optional<ChildSpec> watchdog_child();

}  // namespace skein::inline v0::node
