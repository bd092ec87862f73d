// The breakers of types of tasks, one per swarm and type over which an agent has crashed lately; see crash_breaker.hpp.
// A type without crashes has none. One thread at a time.
//
// Invariant: there are at most as many as the limit given to crashed_over(); a crash beyond it is not counted.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "skein/dispatch/crash_breaker.hpp"
#include "skein/ledger/task.hpp"

namespace skein::inline v0::dispatch {

struct TypeBreaker {
  std::string swarm;
  std::string type;
  CrashBreaker breaker;
};

class TypeBreakers {
 public:
  [[nodiscard]] bool empty() const { return breakers_.empty(); }
  // Nothing when no agent has crashed over tasks of this type lately.
  [[nodiscard]] TypeBreaker* find(std::string_view swarm, std::string_view type) {
    if (breakers_.empty()) return nullptr;
    const auto at = breakers_.find(key_of(swarm, type));
    return at == breakers_.end() ? nullptr : &at->second;
  }
  [[nodiscard]] CrashBreaker* of(const ledger::Shape& shape) {
    TypeBreaker* its = find(shape.swarm, shape.type);
    return its == nullptr ? nullptr : &its->breaker;
  }
  // Its tasks are not given out, or one by one.
  [[nodiscard]] bool hold_back(const ledger::Shape& shape) {
    const CrashBreaker* breaker = of(shape);
    return breaker != nullptr && breaker->state() != CrashBreaker::State::closed;
  }
  void probe_ended(const ledger::Shape& shape) {
    if (CrashBreaker* breaker = of(shape)) breaker->probe_ended();
  }
  // The one to count a crash with, made if there is none; nothing when there are `most` of them already.
  [[nodiscard]] TypeBreaker* crashed_over(std::string_view swarm, std::string_view type, std::size_t most) {
    if (TypeBreaker* known = find(swarm, type)) return known;
    if (breakers_.size() >= most) {
      std::erase_if(breakers_, [](const auto& each) { return each.second.breaker.is_new(); });
    }
    if (breakers_.size() >= most) return nullptr;
    return &breakers_.emplace(key_of(swarm, type), TypeBreaker{std::string(swarm), std::string(type), {}})
                .first->second;
  }
  void forget(const TypeBreaker& its) { breakers_.erase(key_of(its.swarm, its.type)); }
  void forget_swarm(std::string_view swarm) {
    std::erase_if(breakers_, [&](const auto& each) { return each.second.swarm == swarm; });
  }
  // The runs that were given out as probes are no longer known.
  void forget_probes() {
    for (auto& [key, its] : breakers_) its.breaker.forget_probes();
  }
  [[nodiscard]] bool any_open() const {
    return std::ranges::any_of(
        breakers_, [](const auto& each) { return each.second.breaker.state() == CrashBreaker::State::open; });
  }

  [[nodiscard]] auto begin() { return breakers_.begin(); }
  [[nodiscard]] auto end() { return breakers_.end(); }
  [[nodiscard]] auto begin() const { return breakers_.begin(); }
  [[nodiscard]] auto end() const { return breakers_.end(); }

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  // No name of a swarm contains a line feed.
  [[nodiscard]] static std::string key_of(std::string_view swarm, std::string_view type) {
    std::string key;
    key.reserve(swarm.size() + 1 + type.size());
    key.append(swarm).append(1, '\n').append(type);
    return key;
  }

  std::unordered_map<std::string, TypeBreaker, TextHash, std::equal_to<>> breakers_;
};

}  // namespace skein::inline v0::dispatch
