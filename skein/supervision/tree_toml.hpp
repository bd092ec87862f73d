// A supervision tree from TOML. Worker types are looked up among those the caller offers; nothing else can be started.
//
//   [supervisor]
//   name = "node"
//   strategy = "one_for_one"      # or another of strategy.hpp
//   intensity = 5
//   period = "60s"                # a number with ms, s, min or h
//   auto_shutdown = "never"
//
//   [[supervisor.child]]
//   id = "config"
//   worker = "config"             # or a table: supervisor = { ... }
//   params = { path = "/etc/x" }  # strings, numbers, booleans: handed to the worker type
//   restart = "permanent"
//   shutdown = "5s"               # or "brutal_kill", "infinity"
//   significant = false
//   isolated = false
//   label = "service"
//   backoff = { kind = "exponential", initial = "100ms", max = "30s", jitter = 0.1 }
//   budget = { intensity = 5, period = "60s", park = "10s" }
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "skein/supervision/supervisor_flags.hpp"

namespace skein::inline v0 {

// Numbers and booleans are given as TOML writes them.
using WorkerParams = std::map<std::string, std::string>;
// Makes the start function of one child; throws std::invalid_argument with what is wrong with the params.
using WorkerType = std::function<StartFunction(const WorkerParams& params)>;
using WorkerTypes = std::map<std::string, WorkerType>;

inline constexpr std::size_t k_toml_bytes = 1 << 20;  // longer ones are refused
inline constexpr int k_toml_depth = 32;               // of supervisors in supervisors

// The error is complete, for people: "tree.toml:12: unknown key 'intensty' (did you mean 'intensity'?)".
[[nodiscard]] std::expected<SupervisorSpec, std::string> tree_from_toml(std::string_view text, std::string_view file,
                                                                        const WorkerTypes& types);

struct TreeFault {
  std::uint32_t line = 0;
  std::string message;
};
// All trees under `[[key]]` of a document that has other things too; every tree needs a name of its own. The error has
// the first fault of each tree.
[[nodiscard]] std::expected<std::vector<SupervisorSpec>, std::vector<TreeFault>> trees_from_toml(
    std::string_view text, std::string_view key, const WorkerTypes& types);

}  // namespace skein::inline v0
