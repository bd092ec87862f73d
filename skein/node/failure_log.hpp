// A line in the node's log for every task that failed for good. When many fail at once, a second has at most
// k_failures_logged lines, and the next line says how many were left out. Pure; one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skein/base/time.hpp"
#include "skein/operations/event_stream.hpp"

namespace skein::inline v0::node {

inline constexpr std::uint32_t k_failures_logged = 20;  // in a second

class FailureLog {
 public:
  // The lines for these events, those of other kinds passed over.
  [[nodiscard]] std::vector<std::string> lines(const std::vector<operations::Event>& events, Instant now);

 private:
  std::uint32_t written_ = 0;  // in the second that began at since_
  std::uint64_t left_out_ = 0;
  Instant since_ = Instant::min();
};

}  // namespace skein::inline v0::node
