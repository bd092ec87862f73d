// The sender of a request to a node, and its rights. Every transport identifies its client (access.hpp) and passes
// the Principal along with each request; may() decides for all transports alike. Immutable; any thread.
//
// 1. An operation has a rank (rank_of()); a principal may ask for those of its own rank and below.
// 2. A token that is bound to a swarm works on that swarm and its tasks only.
// 3. A token that is bound to a task may submit children of it, and look at, wait for and cancel them and the task
//    itself; nothing else. Which tasks are meant by a request is checked where the ledger can be read: see Scope.
// 4. A token that is revoked, replaced or has expired stops working at once, also on a connection that it opened: each
//    request and each batch of events asks holds() again, and open streams ask every k_standing_check.
#pragma once

#include <atomic>
#include <boost/json/object.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skein/base/time.hpp"
#include "skein/ledger/token.hpp"
#include "skein/operations/error.hpp"

namespace skein::inline v0::operations {

namespace json = boost::json;
using ledger::Rank;

// How often a stream or connection that stays open looks whether its token still works: two messages a second for each
// that was opened with a token, none for the others.
inline constexpr std::chrono::milliseconds k_standing_check{500};
// The time until the next look. All look at the same moments, so that the workers wake up once for all of them and not
// once for each: docs/internals/performance.md has what that saves.
[[nodiscard]] constexpr Duration until_standing_look(Instant now) {
  const Duration every = k_standing_check;
  return every - now.time_since_epoch() % every;
}

// Until when a secret works; shared by all who have shown it. Judged by the wall clock: docs/internals/wall-time.md.
struct Standing {
  static constexpr ledger::WallMs k_for_ever = UINT64_MAX;

  std::function<ledger::WallMs()> wall;
  std::atomic<ledger::WallMs> until{k_for_ever};

  [[nodiscard]] bool holds() const {
    const ledger::WallMs end = until.load(std::memory_order_relaxed);
    return end == k_for_ever || wall() < end;
  }
};

struct Principal {
  enum class Kind : std::uint8_t {
    owner,   // the node's user, on its socket
    anyone,  // on a transport that wants no token
    first,   // any holder of the token in the data folder
    token,   // a token of the ledger
    task,    // the token of an attempt
  };
  Kind kind = Kind::owner;
  std::string name{};  // of the token; empty: it has none
  Rank rank = Rank::administer;
  ledger::TokenBounds bounds{};
  ledger::Fence fence = 0;                     // of the attempt; 0: it is not bound to one
  std::shared_ptr<const Standing> standing{};  // null: for ever
  std::string id{};                            // of a token of the ledger: tells it from others that had its name
  std::string former_id{};                     // before its last rotation; empty: it has not been rotated

  [[nodiscard]] bool holds() const { return standing == nullptr || standing->holds(); }
  [[nodiscard]] bool is_bound() const { return !bounds.task.none() || !bounds.swarm.empty(); }
  // Marks what the node gave to this one, and takes back from nobody else: sealed handles and sessions.
  [[nodiscard]] std::string label() const;
  // Whether it was given to this one, also before the last rotation of its token. A token that was revoked, and then
  // recreated under the same name, is another.
  [[nodiscard]] bool has_label(std::string_view label) const;
  // "the token 'ci'", for messages.
  [[nodiscard]] std::string words() const;
};
using PrincipalPtr = std::shared_ptr<const Principal>;

[[nodiscard]] PrincipalPtr the_owner();
[[nodiscard]] PrincipalPtr anyone();

// What an operation needs; nothing when there is none of this name.
[[nodiscard]] std::optional<Rank> rank_of(std::string_view operation);

// Nothing when it may. Of an operation that is unknown nothing is said either. Of a bound principal the arguments must
// have been read (Arguments::as_given()): a member of the wrong type would pass for one that is not there.
[[nodiscard]] std::optional<Error> may(const Principal& who, std::string_view operation, const json::object& arguments);
// Whether it may ask for it with some arguments; for lists of what can be asked.
[[nodiscard]] bool may_ever(const Principal& who, std::string_view operation);
// Why it may not with any arguments. Checked before the arguments, whose faults are told only to those who may.
[[nodiscard]] std::optional<Error> never(const Principal& who, std::string_view operation);

// The arguments of a bound principal with the swarm it is bound to, where they name none.
[[nodiscard]] json::object narrowed(const Principal& who, std::string_view operation, json::object arguments);
// The tasks that a request names, in whichever parameters its operation declares as ids of tasks. What is no id is left
// out: the operation itself refuses it.
[[nodiscard]] std::vector<ledger::TaskId> tasks_named(std::string_view operation, const json::object& arguments);

// Whose child a task is that it submits; nothing: nobody's.
[[nodiscard]] std::optional<ledger::ChildOf> child_of(const Principal& who);
// A child goes to the swarm of its parent: fills it in where the request names none, and refuses any other.
[[nodiscard]] std::optional<Error> wrong_swarm(const Principal& who, std::string_view operation,
                                               const std::string& swarm, json::object& arguments);

[[nodiscard]] Error no_longer_valid(const Principal& who);

}  // namespace skein::inline v0::operations
