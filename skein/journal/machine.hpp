// What the journal applies entries to. A Machine is deterministic: what apply() does and answers depends on the
// machine's state and the command and on nothing else: no clock, no randomness, no hash order, no file, no
// configuration.
//
// All of a machine's functions are called from one thread. freeze() must be quick (the log waits for it); the Frozen it
// gives is then written on another thread while apply() goes on, so it must not share what apply() changes.
//
// 1. apply() is total: a bad command is answered, not thrown. A throw stops the journal at that position.
// 2. Two machines that applied the same commands write the same snapshot bytes, and have the same digest.
// 3. restore() of those bytes gives a machine no one can tell from the one that wrote them.
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <string_view>

#include "skein/base/sha256.hpp"
#include "skein/journal/entry.hpp"

namespace skein::inline v0::journal {

class SnapshotSink {
 public:
  SnapshotSink() = default;
  SnapshotSink(const SnapshotSink&) = delete;
  SnapshotSink& operator=(const SnapshotSink&) = delete;
  virtual ~SnapshotSink() = default;
  virtual void write(std::string_view bytes) = 0;
};

// A state that no longer changes, to be written on another thread.
class Frozen {
 public:
  Frozen() = default;
  Frozen(const Frozen&) = delete;
  Frozen& operator=(const Frozen&) = delete;
  virtual ~Frozen() = default;
  virtual void write(SnapshotSink& sink) const = 0;
};

template <class M>
concept Machine = requires(M& m, Position position, std::string_view bytes) {
  { m.apply(position, bytes) } -> std::same_as<std::string>;
  { m.freeze() } -> std::convertible_to<std::shared_ptr<const Frozen>>;
  // False when the bytes are no snapshot of this machine; it may then be in any state.
  { m.restore(bytes) } -> std::same_as<bool>;
  { m.digest() } -> std::same_as<Digest>;
};

// Refers to any machine without owning it; the machine must outlive it.
class MachineRef {
 public:
  template <Machine M>
    requires(!std::same_as<M, MachineRef>)
  MachineRef(M& machine) : machine_(&machine), calls_(&k_calls<M>) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] std::string apply(Position position, std::string_view bytes) const {
    return calls_->apply(machine_, position, bytes);
  }
  [[nodiscard]] std::shared_ptr<const Frozen> freeze() const { return calls_->freeze(machine_); }
  [[nodiscard]] bool restore(std::string_view bytes) const { return calls_->restore(machine_, bytes); }
  [[nodiscard]] Digest digest() const { return calls_->digest(machine_); }

 private:
  struct Calls {
    std::string (*apply)(void*, Position, std::string_view);
    std::shared_ptr<const Frozen> (*freeze)(void*);
    bool (*restore)(void*, std::string_view);
    Digest (*digest)(void*);
  };
  template <class M>
  static constexpr Calls k_calls{
      [](void* m, Position position, std::string_view bytes) { return static_cast<M*>(m)->apply(position, bytes); },
      [](void* m) -> std::shared_ptr<const Frozen> { return static_cast<M*>(m)->freeze(); },
      [](void* m, std::string_view bytes) { return static_cast<M*>(m)->restore(bytes); },
      [](void* m) { return static_cast<M*>(m)->digest(); }};

  void* machine_;
  const Calls* calls_;
};

// What is said of a machine that throws what has no words of its own.
inline constexpr const char* k_no_exception = "the machine threw something that is no std::exception";

// A sink that keeps the bytes, and one that hashes them.
class StringSink final : public SnapshotSink {
 public:
  void write(std::string_view bytes) override { text.append(bytes); }
  std::string text;
};

class HashSink final : public SnapshotSink {
 public:
  void write(std::string_view bytes) override { hash.update(bytes); }
  Sha256 hash;
};

}  // namespace skein::inline v0::journal
