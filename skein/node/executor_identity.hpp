// Whom the programs of an executor run as, and what they can reach of the node then. For the config's executors; pure
// but for the system's user database.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "skein/launcher/os_process.hpp"
#include "skein/node/config.hpp"

namespace skein::inline v0::node {

// How the programs of an executor are kept apart from the node.
struct ExecutorIdentity {
  std::optional<launcher::OsUser> user{};  // none: the node's
  bool is_private = false;
};

// The user and group of an executor, names or numbers, as numbers; nothing when neither is given. `own` is who runs the
// node: only root can start programs as somebody else. The error is complete, for people.
[[nodiscard]] std::expected<std::optional<launcher::OsUser>, std::string> user_of(const ExecutorConfig& config,
                                                                                  const std::string& name, uid_t own);
// "077" in octal; nothing for any other text.
[[nodiscard]] std::optional<mode_t> parse_umask(std::string_view text);

// Whether its programs get a private view. `problem` is why none can be had; `own` who runs the node. The error is
// complete, for people: one that must be private and cannot.
[[nodiscard]] std::expected<bool, std::string> is_private(const ExecutorConfig& config, const std::string& name,
                                                          const std::string& problem, uid_t own);

// What an agent of this executor can reach of the node, in plain words; empty: nothing that its owner would miss.
[[nodiscard]] std::string exposure_of(const std::string& name, const ExecutorIdentity& identity,
                                      const std::string& problem, uid_t own);

}  // namespace skein::inline v0::node
