// Packets between the node, the guard, its launchers and their keepers: a kind, a few numbers, and descriptors.
//
// They travel over SOCK_SEQPACKET socket pairs within one program and its forks, so there are no versions and no
// unfriendly bytes; a packet that does not read is a bug and ends the connection. Stateless; any thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skein/base/fd.hpp"
#include "skein/launcher/os_process.hpp"

namespace skein::inline v0::launcher {

enum class Kind : std::uint8_t {
  ask_launcher,  // node to guard; answered by new_launcher (socket, pidfd) or failed
  ask_keeper,    // node to launcher, with a KeeperWish; answered by new_keeper (socket) or failed, each with its kind
  ask_start,     // node to keeper; answered by started (stdin, stdout, stderr, pidfd) or failed
  ask_signal,    // node to keeper: to the whole group
  ask_end,       // node to keeper, with milliseconds: SIGTERM to every descendant, then SIGKILL; answered by ending
  ask_kill,      // node to keeper: SIGKILL to the group and every descendant
  ask_continue,  // node to launcher, with a keeper's process: SIGCONT to it
  ask_replace,   // node to launcher, likewise: SIGKILL to it
  new_launcher,
  new_keeper,
  failed,
  started,
  ending,
  exited,
  clean,  // after exited with leftovers: they are gone, the keeper can be used again
};

// argv, environment and directory together; the kernel takes 128 KiB for one string.
inline constexpr std::size_t k_spec_bytes_max = std::size_t{128} << 10U;
inline constexpr std::size_t k_packet_bytes_max = k_spec_bytes_max + 4096;
inline constexpr std::size_t k_packet_fds_max = 4;

struct Packet {
  Kind kind{};
  std::string_view body;  // valid until the next receive of this thread
  std::vector<Fd> fds;
  bool fds_lost = false;  // the receiver had no descriptors left
};

enum class Got : std::uint8_t { packet, nothing, closed };

// Never on the numbers of stdin, stdout and stderr, where helpers put /dev/null. The error is an errno.
[[nodiscard]] std::expected<std::pair<Fd, Fd>, int> packet_pair();
// False when it could not be sent: the peer is gone or, without waiting, its queue is full.
bool send_packet(int socket, Kind kind, std::string_view body, std::span<const int> fds = {}, bool wait = true);
// `nothing` only when not waiting.
[[nodiscard]] Got receive_packet(int socket, Packet& packet, bool wait = true);

struct ExitNote {
  int status = 0;  // as wait gives it
  bool clean = false;
  std::uint64_t user_us = 0;
  std::uint64_t system_us = 0;
  std::uint64_t max_rss_bytes = 0;
};

// What kind of keeper the node asks its launcher for.
struct KeeperWish {
  bool is_private = false;          // in a view of its own (private_view.hpp), for programs that are to have one
  std::vector<std::string> hidden;  // the folders that are hidden in it
};
// The launcher's answer: the keeper's process, or why there is none.
struct KeeperAnswer {
  bool is_private = false;
  pid_t pid = 0;
  std::string why;
};

[[nodiscard]] std::string encode_wish(const KeeperWish& wish);
[[nodiscard]] bool decode_wish(std::string_view body, KeeperWish& wish);
[[nodiscard]] std::string encode_answer(const KeeperAnswer& answer);
[[nodiscard]] KeeperAnswer decode_answer(std::string_view body);
[[nodiscard]] std::string encode_number(std::uint32_t number);
[[nodiscard]] std::uint32_t decode_number(std::string_view body);
[[nodiscard]] std::string encode_failure(std::string_view why);
[[nodiscard]] std::string encode_exit(const ExitNote& note);
[[nodiscard]] ExitNote decode_exit(std::string_view body);
// What the keeper needs of a spec; the other fields are the node's own.
[[nodiscard]] std::string encode_spec(const OsSpec& spec);
[[nodiscard]] bool decode_spec(std::string_view body, OsSpec& spec);

}  // namespace skein::inline v0::launcher
