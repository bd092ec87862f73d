// The ledger against a model: a second, plain account of what each operation on tasks must do, written from the rules
// and not from the code. Steps of four bytes choose operations over few tasks, keys and fences, so that they meet
// often; beside it a twin restored from snapshots must go on exactly as the ledger does. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace skein::sim {

struct LedgerStep {
  std::uint8_t what = 0;
  std::uint8_t which = 0;
  std::uint8_t how = 0;
  std::uint8_t more = 0;
};

[[nodiscard]] std::vector<LedgerStep> ledger_steps(std::uint64_t seed, std::size_t count);

// What was violated, and at which step; nothing when the ledger did as the model says.
[[nodiscard]] std::optional<std::string> run_ledger_steps(std::span<const LedgerStep> steps);

// Tasks are submitted and assigned as `bytes` say, then all agents answer, in an order that `order` picks, some with
// the fence before, some twice, with cancels and requeues in between. The history is replayed on a ledger of its own
// that is restored from a snapshot at the `moment`, and on one that is not. What differs; nothing when nothing does.
[[nodiscard]] std::optional<std::string> replay_from_snapshot(std::span<const std::uint8_t> bytes, std::uint64_t order,
                                                              std::uint64_t moment);

// So many commands with operations of every kind, on a ledger, on one restored from snapshots on the way, and once more
// from the beginning: all must answer and stand alike, and the invariants hold after each command. What is wrong;
// nothing when nothing is. `answers` collects which operation got which verdict.
[[nodiscard]] std::optional<std::string> run_any_operations(std::uint64_t seed, std::size_t commands,
                                                            std::set<std::string>* answers = nullptr);

}  // namespace skein::sim
