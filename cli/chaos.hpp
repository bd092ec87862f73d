// The verbs below `skein chaos` that bring a node of their own.
#pragma once

#include <cstdint>

namespace skein::cli {

struct ChaosRunOptions {
  std::uint64_t seconds = 30;
  std::uint64_t kills = 0;   // 0: as many as the time allows
  std::uint64_t agents = 8;  // in each of three swarms
  std::uint64_t seed = 0;    // 0: a new one
  std::uint64_t timeout_ms = 3'600'000;
  bool json = false;
};

// The program's exit code.
[[nodiscard]] int chaos_collapse(std::uint64_t timeout_ms, bool is_json);
[[nodiscard]] int chaos_run(const ChaosRunOptions& options);

}  // namespace skein::cli
