// What a supervisor can be asked, and its answers. Plain values; supervisor_api.hpp wraps them in functions.
#pragma once

#include <any>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "skein/supervision/supervisor_flags.hpp"

namespace skein::inline v0 {

enum class ChildFailure : std::uint8_t {
  already_started,  // `pid` is that child, or the holder of its name
  already_present,  // a spec with this id is there, without a process
  running,
  restarting,
  not_found,
  start_failed,        // `reason` says why
  simple_one_for_one,  // a pool does not do that
  invalid,             // a bad spec or bad flags; `message` says which field
  noproc,              // no such supervisor, or it died meanwhile (`reason`)
  timeout,
};

struct ChildError {
  ChildFailure failure = ChildFailure::noproc;
  std::string message = {};  // of invalid
  ExitReason reason = {};    // of start_failed and noproc
  Pid pid = {};              // of already_started
  std::string child = {};    // of start_failed outside a pool: the id of the spec that failed
  [[nodiscard]] std::string text() const;
};
[[nodiscard]] std::string_view failure_name(ChildFailure failure);

// A started child; nobody when its start said ignore.
struct ChildStarted {
  Pid pid;
  std::any info;
  [[nodiscard]] bool ignored() const { return !pid; }
};
using StartChildResult = std::expected<ChildStarted, ChildError>;
using ChildResult = std::expected<void, ChildError>;
using ChildSpecResult = std::expected<ChildSpec, ChildError>;

// A child is named by its id, or in a pool by its Pid.
using ChildRef = std::variant<std::string, Pid>;

enum class ChildState : std::uint8_t {
  running,
  restarting,  // between attempts
  down,        // its spec is kept, no process
  parked,      // isolated, budget spent: tried again later
};
[[nodiscard]] std::string_view child_state_name(ChildState state);

struct ChildInfo {
  std::string id;  // empty in a pool
  Pid pid;         // nobody unless running
  ChildState state = ChildState::down;
  ChildType type = ChildType::worker;
};

struct ChildCount {
  std::uint64_t specs = 0;
  std::uint64_t active = 0;
  std::uint64_t supervisors = 0;
  std::uint64_t workers = 0;
  friend bool operator==(const ChildCount&, const ChildCount&) = default;
};

struct StartChild {
  ChildSpec spec;
};
// What a StartChildResult says, in few enough bytes to travel within a message.
struct PoolChildAnswer {
  ChildStarted started;
  std::unique_ptr<ChildError> error;  // none: it was started
};
struct StartPoolChild {
  using Answer = PoolChildAnswer;
  std::any extra;
};
struct TerminateChild {
  ChildRef child;
};
struct RestartChild {
  ChildRef child;
};
struct DeleteChild {
  ChildRef child;
};
struct GetChildSpec {
  ChildRef child;
};
struct WhichChildren {};
struct CountChildren {};
// Flags and specs take effect for what happens next: running children go on, specs that are gone stay, new ones are not
// started. In a pool the template is replaced.
struct Reconfigure {
  SupervisorSpec spec;
};
// Ends the supervisor; the answer comes when it and its children are dead.
struct StopSupervisor {
  ExitReason reason;
};
struct SupervisorName {};

}  // namespace skein::inline v0
