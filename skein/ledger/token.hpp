// Tokens: who may use a node over the network, as entries of the ledger. Plain values.
//
// The ledger holds the SHA-256 of a secret and never the secret. A token that is rotated keeps the digest of the secret
// before for a while, so that clients can change over. Whether a token has expired is decided by the reader, with its
// own clock: apply reads none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "skein/base/sha256.hpp"
#include "skein/ledger/task.hpp"

namespace skein::inline v0::ledger {

// What its holder may do; each includes those before. The numbers are on disk.
enum class Rank : std::uint8_t {
  read = 1,        // look
  operate = 2,     // and submit, cancel, steer swarms and agents
  administer = 3,  // and stop, reload, back up, look into processes, make tokens
};
[[nodiscard]] std::string_view name_of(Rank rank);
[[nodiscard]] std::optional<Rank> rank_named(std::string_view name);

// What narrows a token further.
struct TokenBounds {
  TaskId task;                 // it acts for this task: on it and its children only; none: for nobody
  std::string swarm;           // only in this swarm; empty: in all
  std::uint32_t depth = 0;     // of the children of `task`, below it; 0: k_child_depth_max
  std::uint32_t children = 0;  // of `task`; 0: k_children_max

  friend bool operator==(const TokenBounds&, const TokenBounds&) = default;
};

struct Token {
  std::string name;
  Digest secret{};  // SHA-256 of the secret
  Rank rank = Rank::read;
  WallMs made_at = 0;
  WallMs expires_at = 0;      // 0: never
  Digest previous{};          // of the secret before the last rotation
  WallMs previous_until = 0;  // that one works until then; 0: no longer
  TokenBounds bounds;

  friend bool operator==(const Token&, const Token&) = default;
};

}  // namespace skein::inline v0::ledger
