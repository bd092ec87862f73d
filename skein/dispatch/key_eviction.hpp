// When idempotency keys are forgotten. A key that is forgotten too early lets the same work be accepted twice. A value;
// one thread at a time.
//
// 1. Keys are evicted only while the wall clock has agreed with the steady one for as long as keys are kept: a clock
//    that is wrong for a while, or at a start, evicts nothing.
// 2. Every 60 ticks, and at most keys_at_once: often enough for what is kept for a day.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include "skein/dispatch/dispatcher_options.hpp"
#include "skein/dispatch/moment.hpp"
#include "skein/dispatch/wall_agreement.hpp"
#include "skein/ledger/command.hpp"

namespace skein::inline v0::dispatch {

class KeyEviction {
 public:
  // The options outlive it.
  explicit KeyEviction(const DispatcherOptions& options) : options_(options) {}

  void set_keys(std::uint64_t keys) { keys_ = keys; }
  void added() { ++keys_; }
  void evicted(std::uint64_t count) { keys_ -= std::min(keys_, count); }

  // Once per tick; nothing when there is nothing to evict.
  [[nodiscard]] std::optional<ledger::EvictKeys> take_due(const Moment& moment) {
    const Duration agreed = agreement_.look(moment.now, moment.wall);
    if (agreed < options_.keys_kept) return std::nullopt;
    const auto kept =
        static_cast<ledger::WallMs>(std::chrono::ceil<std::chrono::milliseconds>(options_.keys_kept).count());
    if (keys_ == 0 || moment.wall <= kept || (looks_++ % k_looks_between) != 0) return std::nullopt;
    return ledger::EvictKeys{moment.wall - kept, options_.keys_at_once};
  }

 private:
  static constexpr std::uint64_t k_looks_between = 60;  // ticks

  const DispatcherOptions& options_;
  WallAgreement agreement_;
  std::uint64_t keys_ = 0;
  std::uint64_t looks_ = 0;
};

}  // namespace skein::inline v0::dispatch
