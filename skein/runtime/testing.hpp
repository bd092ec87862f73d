// What the runtime's tests share; for *_test.cpp files only, here and in layers above.
//
// seeded() and threaded() make options; a Puppet is a process that does what it is sent and writes down what it gets;
// eventually() and best_of() keep tests on real threads from failing on a loaded machine. A Notebook may be used from
// any thread; the rest follows the rules of what it wraps.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "skein/runtime/core.hpp"
#include "skein/runtime/futex.hpp"
#include "skein/runtime/runtime.hpp"

namespace skein::inline v0::tests {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool k_sanitized = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
inline constexpr bool k_sanitized = true;
#else
inline constexpr bool k_sanitized = false;
#endif
#else
inline constexpr bool k_sanitized = false;
#endif

// How much longer things may take under a sanitizer, and while lines are counted (make coverage).
#ifdef SKEIN_COVERAGE
inline constexpr int k_patience = 10;
#else
inline constexpr int k_patience = k_sanitized ? 10 : 1;
#endif

[[nodiscard]] inline RuntimeOptions seeded(std::uint64_t seed) {
  RuntimeOptions options;
  options.seed = seed;
  return options;
}

[[nodiscard]] inline RuntimeOptions threaded(unsigned workers = 2) {
  RuntimeOptions options;
  options.workers = workers;
  return options;
}

[[nodiscard]] inline Duration real_time() { return Duration(std::chrono::steady_clock::now().time_since_epoch()); }

// Waits in real time until `condition` holds; false when it did not within `limit`.
template <class Condition>
[[nodiscard]] bool eventually(Condition condition, Duration limit = std::chrono::seconds(20)) {
  const Duration until = real_time() + limit;
  while (!condition()) {
    if (real_time() > until) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

[[nodiscard]] inline bool on_virtual_time(const Runtime& runtime) { return runtime.core().deterministic != nullptr; }

// The same on either scheduler: on virtual time, whether it holds when nothing more can run at this moment.
template <class Condition>
[[nodiscard]] bool comes_true(Runtime& runtime, Condition condition) {
  if (!on_virtual_time(runtime)) return eventually(condition);
  runtime.run_ready();
  return condition();
}

// The shortest of up to `tries` measurements; stops at the first that is within `good`. A machine busy with other
// things makes some measurements long, hardly all.
template <class Measure>
[[nodiscard]] Duration best_of(int tries, Duration good, Measure measure) {
  Duration best = k_forever;
  for (int i = 0; i < tries && best > good; ++i) best = std::min(best, Duration(measure()));
  return best;
}

// Keeps the processor busy without sleeping.
inline void spin_for(Duration time) {
  const Duration until = real_time() + time;
  while (real_time() < until) detail::pause_briefly();
}

// Lines written down in the order in which they happened.
class Notebook {
 public:
  void add(std::string line) {
    const std::scoped_lock lock(mutex_);
    lines_.push_back(std::move(line));
  }
  [[nodiscard]] std::vector<std::string> lines() const {
    const std::scoped_lock lock(mutex_);
    return lines_;
  }
  [[nodiscard]] std::size_t size() const {
    const std::scoped_lock lock(mutex_);
    return lines_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

// A message for a Puppet.
struct Do {
  std::function<void(Self)> what;
};

// Does what it is sent and writes down everything else: numbers, text, "down REASON" and "exit REASON".
class Puppet {
 public:
  explicit Puppet(Notebook* notebook = nullptr) : notebook_(notebook) {}
  Puppet(Self self, Notebook* notebook, bool trap) : notebook_(notebook) { self.trap_exit(trap); }

  void handle_info(Self self, Message message) {
    if (auto* order = message.get_if<Do>()) {
      order->what(self);
    } else if (const auto* number = message.get_if<int>()) {
      note(std::to_string(*number));
    } else if (const auto* text = message.get_if<std::string>()) {
      note(*text);
    } else if (const auto* down = message.get_if<Down>()) {
      note("down " + down->reason.text());
    } else if (const auto* exit = message.get_if<Exit>()) {
      note("exit " + exit->reason.text());
    } else {
      note("? " + std::string(message.type_name()));
    }
  }

 private:
  void note(std::string line) {
    if (notebook_ != nullptr) notebook_->add(std::move(line));
  }
  Notebook* notebook_;
};

// A process that writes a line when its state is destroyed; a member of other processes, too.
class Epitaph {
 public:
  Epitaph(Notebook* notebook, std::string line) : notebook_(notebook), line_(std::move(line)) {}
  Epitaph(Epitaph&& other) noexcept
      : notebook_(std::exchange(other.notebook_, nullptr)), line_(std::move(other.line_)) {}
  Epitaph& operator=(Epitaph&&) = delete;
  Epitaph(const Epitaph&) = delete;
  Epitaph& operator=(const Epitaph&) = delete;
  ~Epitaph() {
    if (notebook_ != nullptr) notebook_->add(std::move(line_));
  }

 private:
  Notebook* notebook_;
  std::string line_;
};

}  // namespace skein::inline v0::tests
