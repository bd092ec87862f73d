// The limits of the Unix socket. Plain values.
#pragma once

#include <cstdint>

#include "skein/base/time.hpp"

namespace skein::inline v0::control {

inline constexpr const char* k_socket_file = "skein.sock";  // in the data folder

inline constexpr std::uint32_t k_agent_connections = 64;             // of agents, at once
inline constexpr Duration k_agent_hello = std::chrono::seconds(10);  // until an agent shows its token

struct SocketLimits {
  std::uint32_t connections = 256;            // at once
  std::uint64_t line_bytes = 1ULL << 20U;     // of one message to the node
  std::uint32_t depth = 48;                   // of arrays and objects in it
  std::uint32_t requests = 10'000;            // under way on one connection; then nothing more is read from it
  std::uint64_t output_bytes = 16ULL << 20U;  // answers that the client has not taken; then it is closed
  Duration idle = std::chrono::minutes(10);   // with nothing under way
};

}  // namespace skein::inline v0::control
