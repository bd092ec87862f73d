// A supervisor's policy, and the whole of what one is started with. Plain values.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "skein/supervision/child_spec.hpp"
#include "skein/supervision/strategy.hpp"

namespace skein::inline v0 {

struct SupervisionEvent;

enum class AutoShutdown : std::uint8_t {
  never,
  any_significant,  // when a significant child ends by itself
  all_significant,  // when the last of them does
};

// Told of every event, in the supervisor's process: must be quick, must not throw, must not wait for a process.
using EventSink = std::function<void(const SupervisionEvent&)>;

struct SupervisorFlags {
  Strategy strategy = Strategy::one_for_one;
  std::uint32_t intensity = 1;
  Duration period = std::chrono::seconds(5);
  AutoShutdown auto_shutdown = AutoShutdown::never;
  friend bool operator==(const SupervisorFlags&, const SupervisorFlags&) = default;
};

struct SupervisorSpec {
  std::string name;  // shown in the tree and in reports; not registered
  SupervisorFlags flags;
  std::vector<ChildSpec> children;
  std::shared_ptr<const EventSink> sink;  // none: the parent supervisor's
  std::uint64_t seed = 0;                 // of backoff's jitter; 0: made from the Pid
};

// What a supervisor's init function says: the spec to run, or that there is nothing to do.
struct IgnoreStart {};
using SupervisorInit = std::function<std::variant<SupervisorSpec, IgnoreStart>()>;

// What is wrong with the flags, or nothing.
[[nodiscard]] std::optional<SpecError> check_flags(const SupervisorFlags& flags);
// What is wrong with a child's spec under these flags, or nothing; includes check_spec().
[[nodiscard]] std::optional<SpecError> check_spec_under(const SupervisorFlags& flags, const ChildSpec& spec);
// Flags, every child, and the children together: no id twice, exactly one in a pool.
[[nodiscard]] std::optional<SpecError> check_specs(const SupervisorFlags& flags, std::span<const ChildSpec> children);

[[nodiscard]] std::string_view auto_shutdown_name(AutoShutdown value);

}  // namespace skein::inline v0
