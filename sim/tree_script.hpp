// Tree scripts: a text that declares a supervision tree and says what is done to it, one line each.
//
//   supervisor NAME under PARENT [strategy=..] [intensity=..] [period=..] [auto_shutdown=..] CHILD-OPTIONS
//   worker NAME under PARENT CHILD-OPTIONS [fails=2,3] [ignores=2] [traps] [slow=MS] [unlinks]
//   pool NAME under PARENT [intensity=..] [period=..] [child_restart=..] [child_shutdown=..] CHILD-OPTIONS
//   start | stop | wait MS | crash NAME | exit NAME normal|shutdown|kill | count SUP | terminate_child SUP NAME | ...
//
// CHILD-OPTIONS: restart=permanent|transient|temporary, shutdown=MS|brutal_kill|infinity, significant. The first
// declaration is the root, under '-'; commands begin with 'start'. The same script runs on Erlang's own supervisor
// (tests/otp_differential), which is how we know that ours does what it should. Plain values; any thread.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "skein/supervision/supervisor_flags.hpp"

namespace skein::sim {

enum class TreeKind : std::uint8_t { supervisor, worker, pool, pooled };

struct TreeNode {
  TreeKind kind = TreeKind::worker;
  std::string name;
  std::string parent;  // "-" for the root
  SupervisorFlags flags;
  Restart restart = Restart::permanent;
  Shutdown shutdown = Shutdown::after(k_worker_shutdown);
  Restart child_restart = Restart::temporary;
  Shutdown child_shutdown = Shutdown::after(k_worker_shutdown);
  std::vector<std::uint64_t> fails;    // which of its starts fail, counted from 1
  std::vector<std::uint64_t> ignores;  // likewise, say ignore
  Duration slow{};
  bool significant = false;
  bool traps = false;
  bool unlinks = false;
};

struct TreeCommand {
  std::string text;                // as printed
  std::vector<std::string> words;  // the first says which
  TreeNode worker;                 // of start_worker
};

struct TreeScript {
  std::vector<TreeNode> nodes;
  std::vector<TreeCommand> commands;
};

// An error begins with the line's number and says what is wrong with it.
[[nodiscard]] std::expected<TreeScript, std::string> parse_tree_script(std::string_view text);

}  // namespace skein::sim
