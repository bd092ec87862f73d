// Maps secrets to principals: the tokens of the ledger and the first one, by the SHA-256 of their secrets, and tokens
// of attempts. Made with the node, filled by the operations (operations_tokens.cpp), asked by every transport. Any
// thread.
//
// A secret is looked up by its digest, so how long that takes says nothing of any secret.
//
// The token of an attempt is derived, not kept: "skein_task_ID_FENCE_TAG", where the tag is an HMAC over id and fence
// with a key of the data folder. So an attempt costs no journal entry, and nothing has to be removed when it ends: the
// token is void as soon as the ledger gives the task another fence or ends it, which check_scope() asks of the ledger
// for every request. A restarted node knows the tokens that it gave before. A client that shows one and keeps its
// connection open has a Standing that ends with the attempt: the operations say when (end_attempts(), end_attempt()).
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skein/ledger/token.hpp"
#include "skein/operations/principal.hpp"

namespace skein::inline v0::operations {

// The token in the file of the data folder: of the rank administer, and always there where a transport wants one.
inline constexpr std::string_view k_first_token = "first";
// What secrets begin with, so that people and scanners know one when they see it.
inline constexpr std::string_view k_token_prefix = "skein_";
inline constexpr std::string_view k_task_token_prefix = "skein_task_";

class Access {
 public:
  // `task_key`: of the tokens of attempts. `wall`: milliseconds since 1970.
  Access(std::string task_key, std::function<ledger::WallMs()> wall)
      : task_key_(std::move(task_key)), wall_(std::move(wall)) {}

  // The secret of the first token; empty: there is none.
  void set_first(std::string_view secret);
  [[nodiscard]] Digest first_digest() const;  // all zero: there is none
  // The tokens of the ledger, all of them, or the one that changed or was revoked.
  void set_tokens(const std::vector<ledger::Token>& all);
  void put(const ledger::Token& token);
  void remove(const std::string& name);

  // The principal with this secret; null: there is none, or its token is no longer valid.
  [[nodiscard]] PrincipalPtr identify(std::string_view secret) const;
  // The token of an attempt.
  [[nodiscard]] std::string task_token(ledger::TaskId task, ledger::Fence fence) const;
  // The task has no attempt any more, or another one than those whose tokens were shown before.
  void end_attempts(ledger::TaskId task);
  // This attempt has ended, as the ledger says.
  void end_attempt(ledger::TaskId task, ledger::Fence fence);
  [[nodiscard]] ledger::WallMs wall_now() const { return wall_(); }

 private:
  struct Entry {
    std::shared_ptr<Standing> standing;
    PrincipalPtr who;
  };
  using Entries = std::map<Digest, Entry>;

  using Attempt = std::pair<ledger::TaskId, ledger::Fence>;

  [[nodiscard]] PrincipalPtr identify_task(std::string_view token) const;
  // Shared by all who show the token of this attempt now.
  [[nodiscard]] std::shared_ptr<const Standing> standing_of(const Attempt& attempt) const;
  // Rebuilds by_secret_; clients that have shown a remaining secret keep their standing. With the mutex held.
  void rebuild();
  void add(Entries& entries, const Digest& secret, Principal who, ledger::WallMs until) const;

  const std::string task_key_;
  const std::function<ledger::WallMs()> wall_;
  mutable std::mutex mutex_;
  Digest first_{};
  std::map<std::string, ledger::Token> tokens_;
  Entries by_secret_;
  // Of attempts whose token somebody holds; those that nobody holds any more are removed when the map has doubled.
  mutable std::map<Attempt, std::weak_ptr<Standing>> attempts_;
  mutable std::size_t attempts_kept_ = 0;           // when it was last tidied
  mutable std::atomic<bool> has_attempts_ = false;  // so that the end of a task costs nothing where there are none
};

}  // namespace skein::inline v0::operations
