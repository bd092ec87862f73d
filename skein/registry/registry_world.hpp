// For the registry's tests: a deterministic runtime with a table, its process, and processes that keep what they get.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "skein/registry/registry.hpp"
#include "skein/runtime/runtime.hpp"

namespace skein::inline v0::registry_tests {

struct Idle {};

// Keeps the events and numbers it was sent.
struct Listener {
  struct Heard {
    std::vector<NameEvent> events;
    std::vector<int> numbers;
    std::vector<std::string> texts;
  };
  struct Ask {
    using Answer = Heard;
  };
  Heard heard;
  Heard handle_call(Self, Ask) { return heard; }
  void handle_info(Self, Message message) {
    if (const auto* event = message.get_if<NameEvent>()) heard.events.push_back(*event);
    if (const auto* number = message.get_if<int>()) heard.numbers.push_back(*number);
    if (const auto* text = message.get_if<std::string>()) heard.texts.push_back(*text);
  }
};

struct World {
  explicit World(RegistryLimits limits = {}, std::uint64_t seed = 1)
      : runtime([&] {
          RuntimeOptions options;
          options.seed = seed;
          return options;
        }()),
        shared(std::make_shared<RegistryTable>(
            runtime, RegistryOptions{limits, [] { return WallTime(std::chrono::hours(1)); }})),
        table(*shared),
        registry(runtime.spawn<Registry>(shared)) {
    runtime.run_ready();
  }

  Pid agent() {
    const Pid pid = runtime.spawn<Idle>();
    runtime.run_ready();
    return pid;
  }
  Pid listener() {
    const Pid pid = runtime.spawn<Listener>();
    runtime.run_ready();
    return pid;
  }
  Listener::Heard heard(Pid listener_pid) {
    return runtime.call<Listener>(listener_pid, Listener::Ask{}).value_or(Listener::Heard{});
  }
  void kill(Pid pid) {
    runtime.exit(pid, ExitReason::kill());
    runtime.run_ready();
  }
  // Starts the process again after its death.
  void restart_registry() {
    registry = runtime.spawn<Registry>(shared);
    runtime.run_ready();
  }

  Runtime runtime;
  std::shared_ptr<RegistryTable> shared;
  RegistryTable& table;
  Pid registry;
};

// The failure of a result, or nothing when it is one that holds a value.
template <class T>
std::optional<RegistryFailure> failure_of(const RegistryResult<T>& result) {
  if (result) return std::nullopt;
  return result.error().failure;
}

}  // namespace skein::inline v0::registry_tests
