// Why the ledger refused a task, by the member that is to blame. Pure.
//
// The ledger answers a verdict and a limit; the sizes of what was sent and the limits of the moment tell which member
// went beyond it. A task that was refused does not exist, so its id is in no message.
#pragma once

#include <cstdint>
#include <string>

#include "skein/ledger/command.hpp"
#include "skein/ledger/limits.hpp"
#include "skein/operations/error.hpp"

namespace skein::inline v0::operations {

// Of a spec that was sent, kept until its answer has come.
struct SubmitSizes {
  std::string swarm{};
  std::uint64_t params_bytes = 0;
  std::uint64_t type_bytes = 0;
  std::uint64_t capability_bytes = 0;  // of the longest
  std::uint64_t capabilities = 0;
  std::uint64_t dependencies = 0;
  std::uint64_t key_bytes = 0;
  std::uint64_t trace_bytes = 0;
  std::uint64_t agent_bytes = 0;
  std::uint64_t route_key_bytes = 0;
  std::uint64_t attempts = 0;
};
[[nodiscard]] SubmitSizes sizes_of(const ledger::TaskSpec& spec);

// `limits` are those the ledger judged by.
[[nodiscard]] Error submit_refusal(const ledger::OpResult& result, const SubmitSizes& sent,
                                   const ledger::Limits& limits);

}  // namespace skein::inline v0::operations
