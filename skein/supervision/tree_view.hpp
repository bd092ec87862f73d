// Reading a supervision tree from outside, at any time, without sending anybody a message: as values, text, JSON or a
// Mermaid diagram. Any thread. A supervisor is held up only while its own children are copied, at most
// TreeLimits::children of them; each supervisor is read at its own moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "skein/runtime/runtime.hpp"
#include "skein/supervision/supervisor_calls.hpp"

namespace skein::inline v0 {

struct TreeLimits {
  std::size_t children = 1000;  // of one supervisor
  std::size_t depth = 64;
};

struct TreeFailure {
  Instant at{};
  std::string reason;
  bool at_start = false;
};

// Data that only supervisors have.
struct TreeSupervisor {
  Strategy strategy = Strategy::one_for_one;
  std::uint32_t used = 0;  // restarts in the window
  std::uint32_t intensity = 0;
  Duration period{};
  std::size_t children = 0;  // all of them
  std::size_t active = 0;
  std::size_t leftovers = 0;  // processes of dead child supervisors that are still dying
};

struct TreeEntry {
  std::string id;  // a pool's children have none
  std::string what;
  std::string label;
  ChildType type = ChildType::worker;
  ChildState state = ChildState::running;
  Restart restart = Restart::permanent;
  bool isolated = false;
  bool significant = false;
  Pid pid;
  std::uint32_t restarts = 0;         // in its whole life
  std::uint32_t mailbox = 0;          // messages waiting
  std::vector<TreeFailure> failures;  // the last k_failure_history, oldest first
  std::optional<TreeSupervisor> supervisor;
  std::vector<TreeEntry> children;  // in start order, up to the limit
};

// Nothing when there is no supervisor under this Pid.
[[nodiscard]] std::optional<TreeEntry> read_tree(Runtime& runtime, Pid root, const TreeLimits& limits = {});

// A line per entry, indented as a tree.
[[nodiscard]] std::string tree_text(const TreeEntry& root);
[[nodiscard]] std::string tree_json(const TreeEntry& root);
// A flowchart, left to right.
[[nodiscard]] std::string tree_mermaid(const TreeEntry& root);

}  // namespace skein::inline v0
