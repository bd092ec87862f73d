#include "skein/journal/admission.hpp"

#include <fmt/format.h>

#include <utility>

namespace skein::inline v0::journal {
namespace {

constexpr std::uint64_t k_command_overhead_bytes = 64;

AppendAnswer answer(Outcome outcome, std::string why) {
  AppendAnswer a;
  a.outcome = outcome;
  a.why = std::move(why);
  return a;
}

}  // namespace

std::uint64_t Admission::charge(const Batch& batch) {
  std::uint64_t bytes = 0;
  for (const auto& command : batch) bytes += command.bytes.size() + k_command_overhead_bytes;
  return bytes;
}

std::optional<AppendAnswer> Admission::admit(const Batch& batch, Urgency urgency) {
  if (batch.empty()) return answer(Outcome::refused, "the batch is empty");
  for (const auto& command : batch) {
    if (command.id.none()) return answer(Outcome::refused, "a command has no id: give each one of its own");
    if (command.bytes.size() > limits_.entry_bytes) {
      return answer(Outcome::refused, fmt::format("a command of {} bytes is larger than entry_bytes ({})",
                                                  command.bytes.size(), limits_.entry_bytes));
    }
  }
  const std::uint64_t bytes = charge(batch);
  if (bytes > limits_.batch_bytes) {
    return answer(Outcome::refused, fmt::format("a batch of {} bytes is larger than batch_bytes ({}): cut it up", bytes,
                                                limits_.batch_bytes));
  }
  const bool completes = urgency == Urgency::completion;
  const std::uint64_t limit = limits_.in_flight_bytes + (completes ? limits_.in_flight_reserve_bytes : 0);
  if (bytes > limit) {
    return answer(Outcome::refused,
                  fmt::format("a batch of {} bytes is larger than in_flight_bytes ({}): cut it up", bytes, limit));
  }
  if (disk_low() && !completes) {
    return answer(Outcome::overloaded, fmt::format("the disk has less than disk_low_water_bytes ({}) left: make room",
                                                   limits_.disk_low_water_bytes));
  }
  const std::uint64_t before = in_flight_.fetch_add(bytes, std::memory_order_relaxed);
  if (before + bytes > limit) {
    release(bytes);
    return answer(Outcome::overloaded, fmt::format("in_flight_bytes ({}) is used up: wait for answers", limit));
  }
  return std::nullopt;
}

bool Admission::admit_read() {
  if (reads_.fetch_add(1, std::memory_order_relaxed) < limits_.reads_waiting) return true;
  release_read();
  return false;
}

}  // namespace skein::inline v0::journal
