// The last run of a node in a data folder, and its config: a small file in the folder. `skein up` writes it; `skein
// mcp` reads it before it starts a node there itself, so that it does not take the folder of a node that an operator
// runs. Any thread; the decision is pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace skein::inline v0::node {

inline constexpr const char* k_last_run_file = "last_run.json";
// A node that was stopped may be on its way back: a restart by a service manager, or by hand.
inline constexpr std::chrono::seconds k_operator_back{30};

struct LastRun {
  bool is_operator = true;      // false: `skein mcp` started it for its clients
  std::string config{};         // its file, absolute; empty: none
  std::string command{};        // that runs it again
  bool has_stopped = false;     // it was told to; false: it runs, or it died
  std::int64_t stopped_at = 0;  // milliseconds since 1970
};

// Nothing when there is no such file, or one that cannot be read.
[[nodiscard]] std::optional<LastRun> read_last_run(const std::string& data);
// Answers with an error, or empty. Only an operator's run replaces the record of an operator's run: a bridge's node in
// between does not make the folder the bridge's.
[[nodiscard]] std::string write_last_run(const std::string& data, const LastRun& run);

// Whether a bridge may start a node of its own here.
struct StartRight {
  bool may_start = false;
  std::string why{};  // not, and what to do instead
};
// `config`: what the bridge would start it with, absolute; empty: none. An operator's folder is taken only after the
// operator has stopped the node, has not brought it back for k_operator_back, and ran it with the same config. Of a
// folder that `is_unnamed` (see below) the config is not known: there the bridge must be given one.
[[nodiscard]] StartRight right_to_start(const std::optional<LastRun>& last, const std::string& config,
                                        std::int64_t now_ms, bool is_unnamed = false);

// Whether the folder has data of a release that did not write down who runs the node, and no trace of a bridge: a node
// that a bridge starts writes its log there. So an operator ran it, with a config that is not known.
[[nodiscard]] bool is_unnamed_folder(const std::string& data);
inline constexpr const char* k_bridge_log_file = "node.log";

}  // namespace skein::inline v0::node
