// Commands: what may be asked of the ledger, and their bytes in the journal.
//
// One journal entry holds one command: a version and a list of operations, applied in order, each answered by itself.
// So a dispatcher puts thousands of assignments into one entry, and one refusal among them harms no other.
//
//   command  version u8, count, then per operation: opcode u8, length, body. It is written with the lowest version that
//            knows all its operations, so that every program that can apply it can read it; any other is malformed.
//   answer   version u8, count, then per operation: verdict with flags u8 and what the flags announce
//
// Counts, lengths and numbers are varints (LEB128, shortest form only). Pure functions and plain values.
//
// 1. An operation whose body makes no sense is answered `malformed`; those around it are applied.
// 2. A command whose frame makes no sense is answered by one `malformed` and does nothing.
// 3. A version or opcode this program does not know throws UnknownEntry before anything is applied: the journal stops
//    there, since the writer's program was newer, and skipping it would part this replica from the others.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "skein/ledger/limits.hpp"
#include "skein/ledger/task.hpp"
#include "skein/ledger/token.hpp"

namespace skein::inline v0::ledger {

// Of the bytes of commands: the first, the one that brought fall_back, the one that brought submit_placed and unpin,
// and the one that brought tokens and submit_child. Answers have kept their first form.
inline constexpr std::uint8_t k_first_command_version = 1;
inline constexpr std::uint8_t k_fallback_command_version = 2;
inline constexpr std::uint8_t k_placed_command_version = 3;
inline constexpr std::uint8_t k_command_version = 4;
inline constexpr std::uint8_t k_answer_version = 1;
// Of the behaviour of apply and the bytes of snapshots. Every ledger begins with the first; a LedgerVersion operation
// raises it, appended once all members are known to understand it.
inline constexpr std::uint64_t k_first_ledger_version = 1;
inline constexpr std::uint64_t k_fallback_version = 2;
inline constexpr std::uint64_t k_crash_words_version = 3;
inline constexpr std::uint64_t k_sound_version = 4;
inline constexpr std::uint64_t k_removed_version = 5;  // the state `removed` of a swarm
inline constexpr std::uint64_t k_tokens_version = 5;
inline constexpr std::uint64_t k_ledger_version = 5;

using Fields = std::map<std::string, std::string, std::less<>>;

// A child's parent, and its limits. Refused when the parent is not open (no_such_task, already_finished), its
// attempt is another by now (stale_fence), it has as many children as it may (too_many_children) or is as deep as it
// may be (too_deep). The limits are those here and k_children_max, k_child_depth_max, whichever is lower.
struct ChildOf {
  TaskId task;
  Fence fence = 0;  // of the attempt that submits; 0: any attempt
  std::uint32_t depth_max = k_child_depth_max;
  std::uint32_t children_max = k_children_max;
};
// One with a placement is known from k_sound_version on, one of a task from k_tokens_version on.
struct Submit {
  TaskId id;
  WallMs at = 0;
  TaskSpec spec;
  std::shared_ptr<const ChildOf> child_of{};  // null: no task submits it
};
// Answered with the fence. A pinned task is given to its agent only.
struct Assign {
  Epoch epoch = 0;
  TaskId task;
  std::string agent;
  WallMs at = 0;
};
struct Start {
  TaskId task;
  Fence fence = 0;
  WallMs at = 0;
};
struct Progress {
  TaskId task;
  Fence fence = 0;
  WallMs at = 0;
  Body mark;
};
struct Complete {
  TaskId task;
  Fence fence = 0;
  WallMs at = 0;
  Body result;
};
// Costs an attempt. With attempts left, and unless permanent, the task is queued again, not before `retry_at`. From
// k_crash_words_version on a crash of which something is known is told so, too; it is queued as a Requeue would do it,
// before all others if `retry_at` is zero.
struct Fail {
  TaskId task;
  Fence fence = 0;
  WallMs at = 0;
  ErrorClass error = ErrorClass::transient;
  WallMs retry_at = 0;
  std::string message;
};
enum class RequeueReason : std::uint8_t {
  agent_crash = 1,    // costs an attempt
  lease_expired = 2,  // costs an attempt
  returned = 3,
  preempted = 4,
  node_crash = 5,  // costs an attempt only past Limits::deliveries
};
[[nodiscard]] std::string_view name_of(RequeueReason reason);
struct Requeue {
  Epoch epoch = 0;
  TaskId task;
  Fence fence = 0;
  WallMs at = 0;
  RequeueReason reason = RequeueReason::returned;
  WallMs not_before = 0;
  bool front = false;  // before all others of its effective priority
};
enum class FallbackCause : std::uint8_t {
  reported = 1,  // `error` and `message` say what happened
  agent_crash = 2,
  lease_expired = 3,
  node_crash = 4,  // costs an attempt only past Limits::deliveries
};
[[nodiscard]] std::string_view name_of(FallbackCause cause);
// An attempt failed, and should it have been the task's last one in its swarm, swarm `to` takes the task over, with all
// its attempts reset. Where that cannot be (k_fallbacks_max, no such swarm, it takes no tasks, its queue is full), the
// task fails, and its message says why. With attempts left it is a Fail, or a Requeue. Answered with how often the task
// fell back, when it did. Known from k_fallback_version on.
struct FallBack {
  Epoch epoch = 0;
  TaskId task;
  Fence fence = 0;
  WallMs at = 0;
  FallbackCause cause = FallbackCause::reported;
  ErrorClass error = ErrorClass::transient;
  WallMs retry_at = 0;  // with attempts left
  std::string message;
  std::string to;
};
struct Cancel {
  TaskId task;
  WallMs at = 0;
  std::string reason;
};
// A queued task did not get to its agent in time: any agent may have it from now on; it keeps its place in the queue.
// Refused (not_due) when it is not pinned, or was submitted for that agent alone. Known from k_sound_version on.
struct Unpin {
  Epoch epoch = 0;
  TaskId task;
  WallMs at = 0;
};
// Makes a new task with the spec of a failed or cancelled one; retry_key() is its key, no dependencies, no deadline. It
// is pinned as the old one was when that was submitted.
struct Retry {
  TaskId old_task;
  TaskId new_task;
  WallMs at = 0;
};
// The deadline has passed. Refused (not_due) when `at` is before it.
struct Expire {
  Epoch epoch = 0;
  TaskId task;
  WallMs at = 0;
};
// Answered with how many were changed; those not queued are passed over.
struct Age {
  Epoch epoch = 0;
  std::vector<std::pair<TaskId, std::uint16_t>> priorities;
};
// Answered with the epoch: the position of the entry.
struct TakeDispatch {
  std::string node;
  WallMs at = 0;
};

enum class Origin : std::uint8_t { api = 1, config = 2 };
// Fields the ledger itself reads; whole decimal numbers. All others belong to the layers above.
inline constexpr std::string_view k_field_open_tasks = "open_tasks";
inline constexpr std::string_view k_field_open_bytes = "open_bytes";
// Creates the swarm, or replaces its definition and keeps its overrides and state; a removed one is active again.
struct SwarmPut {
  std::string name;
  Origin origin = Origin::api;
  Fields definition;
};
// Adds to the overrides; an empty value takes one away.
struct SwarmOverride {
  std::string name;
  Fields fields;
};
// Of all swarms when the name is empty.
struct SwarmDropOverrides {
  std::string name;
};
enum class SwarmState : std::uint8_t {
  active = 1,
  paused = 2,    // takes tasks, gives none out
  draining = 3,  // takes none, gives out what it has
  stopped = 4,   // neither
  removed = 5,  // like draining, and gone once it is empty: no config declares it any longer. From k_removed_version on
};
[[nodiscard]] std::string_view name_of(SwarmState state);
// A removed swarm keeps its state until a SwarmPut declares it again (swarm_closed); "default" is never removed
// (swarm_busy).
struct SwarmSetState {
  std::string name;
  SwarmState state = SwarmState::active;
};
enum class Breaker : std::uint8_t { closed = 1, open = 2, half_open = 3 };  // open: gives none out
[[nodiscard]] std::string_view name_of(Breaker breaker);
struct SwarmSetBreaker {
  std::string name;
  Breaker breaker = Breaker::closed;
  WallMs until = 0;  // advice for the dispatcher, when open
};
// Refused while it has open tasks, and for "default".
struct SwarmRemove {
  std::string name;
};
// An agent named in the config.
struct AgentPut {
  std::string name;
  Fields fields;
};
struct AgentRemove {
  std::string name;
};
// Makes a token, or replaces the one of this name: `was` is the digest of the secret that it has, all zero for a name
// that nobody has. Any other is refused (name_taken, no_such_token), so that of two who rotate it at once one is told.
// Known from k_tokens_version on.
struct TokenPut {
  Token token;
  Digest was{};
};
// Likewise.
struct TokenRevoke {
  std::string name;
};
// Forgets idempotency keys, oldest first, that were given before a time. Answered with how many.
struct EvictKeys {
  WallMs before = 0;
  std::uint64_t at_most = 0;
};
// Finished tasks up to this number are safe elsewhere: drops them. Answered with how many. From k_sound_version on, a
// number beyond the last that was given makes the next one larger than it: an archive that knows more than the journal
// keeps its numbers.
struct Archived {
  FinishNumber up_to = 0;
};
struct SetLimits {
  Limits limits;
};
// From here on apply behaves as this version says. Throws UnknownEntry beyond k_ledger_version; refused below the
// present.
struct LedgerVersion {
  std::uint64_t version = k_ledger_version;
};

using Op =
    std::variant<Submit, Assign, Start, Progress, Complete, Fail, Requeue, Cancel, Retry, Expire, Age, TakeDispatch,
                 SwarmPut, SwarmOverride, SwarmDropOverrides, SwarmSetState, SwarmSetBreaker, SwarmRemove, AgentPut,
                 AgentRemove, EvictKeys, Archived, SetLimits, LedgerVersion, FallBack, Unpin, TokenPut, TokenRevoke>;

// The numbers are on disk. Kept free: 13 for approve.
enum class Opcode : std::uint8_t {
  submit = 1,
  assign = 2,
  start = 3,
  progress = 4,
  complete = 5,
  fail = 6,
  requeue = 7,
  cancel = 8,
  retry = 9,
  expire = 10,
  age = 11,
  fall_back = 12,      // from command version 2 on
  unpin = 14,          // from command version 3 on
  submit_placed = 15,  // likewise: a submit with a placement
  take_dispatch = 16,
  swarm_put = 17,
  swarm_override = 18,
  swarm_drop_overrides = 19,
  swarm_set_state = 20,
  swarm_set_breaker = 21,
  swarm_remove = 22,
  agent_put = 23,
  agent_remove = 24,
  evict_keys = 25,
  archived = 26,
  set_limits = 27,
  ledger_version = 28,
  token_put = 29,     // from command version 4 on
  token_revoke = 30,  // likewise
  submit_child = 31,  // likewise: a submit of a task, perhaps with a placement
};

// The numbers are on disk, five bits wide. All from `malformed` on are refusals: nothing was changed.
enum class Verdict : std::uint8_t {
  ok = 1,
  accepted_before = 2,  // the same outcome with the same fence had been taken; nothing was changed
  existing = 3,         // the key, or the retried task, has a task already: `task` and `state` say which
  malformed = 4,
  too_large = 5,     // something in it is longer or more than the limits allow; `number`: the limit
  no_such_task = 6,  // never accepted, or finished and archived
  no_such_swarm = 7,
  no_such_agent = 8,
  no_such_dependency = 9,  // `task`: which; it must be open, or finished and not yet archived
  duplicate_id = 10,       // the id belongs to another task; `state`: that one's
  queue_full = 11,         // the swarm's limit; `number`: the limit
  ledger_full = 12,        // the limit of all swarms, swarms or agents; `number`: the limit
  archive_behind = 13,     // too many finished tasks wait for the archive; try later
  swarm_closed = 14,       // draining, stopped, removed: takes no tasks; or paused, stopped, broken: gives none out
  swarm_busy = 15,         // has open tasks, or is "default"
  already_finished = 16,   // `state`: how
  wrong_state = 17,        // `state`: the present one
  stale_fence = 18,
  stale_epoch = 19,  // `number`: the present epoch
  not_due = 20,
  old_version = 21,  // the ledger's version does not go down, or does not know the operation yet; `number`: it
  pinned = 22,       // the task is for another agent
  name_taken = 23,   // a token has this name, or was changed meanwhile
  no_such_token = 24,
  too_many_children = 25,  // `number`: the limit
  too_deep = 26,           // `number`: the limit
};
[[nodiscard]] std::string_view name_of(Verdict verdict);
[[nodiscard]] constexpr bool is_refusal(Verdict v) { return v >= Verdict::malformed; }

struct OpResult {
  Verdict verdict = Verdict::ok;
  std::optional<State> state;  // of the task, after the operation
  std::uint64_t number = 0;    // a fence, an epoch, a count or a limit
  TaskId task;                 // the task made or found, where the caller cannot know it

  [[nodiscard]] bool refused() const { return is_refusal(verdict); }
  friend bool operator==(const OpResult&, const OpResult&) = default;
};

struct UnknownEntry : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Puts a command together. Not shared between threads; may be used again after take().
class CommandBuilder {
 public:
  // False when the command is full (k_ops_max); it is then unchanged.
  bool add(const Op& op);
  [[nodiscard]] std::size_t count() const { return count_; }
  // Size of the command if taken now, to be kept under the journal's entry_bytes.
  [[nodiscard]] std::size_t bytes() const { return body_.size() + 6; }
  [[nodiscard]] std::string take();

 private:
  std::string body_;
  std::size_t count_ = 0;
  std::uint8_t version_ = k_first_command_version;
};

// One operation as it stands within a command. A command is begin_command() and so many of them.
void append_op(std::string& out, const Op& op);
void begin_command(std::string& out, std::size_t count, std::uint8_t version = k_first_command_version);
// The lowest version of a command that knows it.
[[nodiscard]] std::uint8_t version_of(const Op& op);
[[nodiscard]] std::string encode_command(std::span<const Op> ops);
[[nodiscard]] std::string encode_command(const Op& op);

// The operations of a command; nothing in the place of a malformed one, nothing at all when the frame is malformed.
// Throws UnknownEntry.
[[nodiscard]] std::optional<std::vector<std::optional<Op>>> decode_command(std::string_view bytes);

// Calls fn(std::optional<Op>) for each operation in turn. The whole frame is looked at before the first call. False,
// and no call, when it is malformed. Throws UnknownEntry before the first call.
template <class Fn>
bool for_each_op(std::string_view bytes, Fn&& fn);

// What the ledger answers to a command: the count first, then each result.
void begin_results(std::string& out, std::size_t count);
void append_result(std::string& out, const OpResult& result);
// Nothing for bytes that no ledger answered. A single `malformed` may also mean the whole command was.
[[nodiscard]] std::optional<std::vector<OpResult>> decode_results(std::string_view bytes);

// What a command is made of: the opcode and the bytes of its operations.
struct OpFrame {
  Opcode opcode{};
  std::string_view body;
};
class CommandFrames {
 public:
  // Looks at the whole frame. Throws UnknownEntry. ok() is false when the frame is malformed.
  explicit CommandFrames(std::string_view bytes);
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::size_t count() const { return count_; }
  // The next one; call it count() times.
  [[nodiscard]] OpFrame next();

 private:
  std::string_view rest_;
  std::size_t count_ = 0;
  bool ok_ = false;
};
[[nodiscard]] std::optional<Op> decode_op(const OpFrame& frame);

template <class Fn>
bool for_each_op(std::string_view bytes, Fn&& fn) {
  CommandFrames frames(bytes);
  if (!frames.ok()) return false;
  for (std::size_t i = 0; i < frames.count(); ++i) fn(decode_op(frames.next()));
  return true;
}

}  // namespace skein::inline v0::ledger
