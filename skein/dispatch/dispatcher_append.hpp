// How the core appends an operation on a task; for its own sources only.
#pragma once

#include <utility>

#include "skein/dispatch/dispatcher_core.hpp"

namespace skein::inline v0::dispatch {

// Further ahead is as good as never: about 31 years. Keeps sums of times from overflowing.
inline constexpr ledger::WallMs k_wall_ms_max = 1'000'000'000'000;

template <class T>
void DispatcherCore::append_for(SlotNumber slot, OpKind kind, T&& op, bool is_completion) {
  TaskRecord& record = tasks_[slot];
  std::size_t bytes = 64;
  if constexpr (requires { op.result; }) bytes += ledger::view_of(op.result).size();
  if constexpr (requires { op.message; }) bytes += op.message.size();
  if constexpr (requires { op.mark; }) bytes += ledger::view_of(op.mark).size();
  const std::uint64_t batch =
      outgoing_.add({slot, kind, record.number}, ledger::Op(std::forward<T>(op)), is_completion, bytes);
  if (kind != OpKind::other && kind != OpKind::progress) record.batch = batch;
}

}  // namespace skein::inline v0::dispatch
