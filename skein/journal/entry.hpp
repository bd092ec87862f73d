// The words every part of the journal shares: positions, terms, command ids and entries. Plain values.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace skein::inline v0::journal {

using Position = std::uint64_t;  // of an entry in the log; the first is 1, 0 means none
inline constexpr Position k_no_trim_limit = ~Position{0};
using Term = std::uint64_t;  // of the leader that appended it; one node alone stays in term 1

// Names a command for good, so that appending it again applies it once. Zero means none and is never remembered.
struct CommandId {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  [[nodiscard]] bool none() const { return high == 0 && low == 0; }
  friend auto operator<=>(const CommandId&, const CommandId&) = default;
};

// The numbers are on disk.
enum class EntryKind : std::uint8_t { command = 1, no_op = 2, membership = 3, skip = 4, config = 5 };

[[nodiscard]] constexpr std::string_view name_of(EntryKind kind) {
  switch (kind) {
    case EntryKind::command:
      return "command";
    case EntryKind::no_op:
      return "no-op";
    case EntryKind::membership:
      return "membership";
    case EntryKind::skip:
      return "skip";
    case EntryKind::config:
      return "config";
  }
  return "unknown";
}

// An entry whose bytes belong to someone else: a read buffer, or the caller of append.
struct EntryView {
  Position position = 0;
  Term term = 0;
  EntryKind kind = EntryKind::command;
  CommandId id;
  std::string_view bytes;
};

struct Command {
  CommandId id;
  std::string bytes;
};
using Batch = std::vector<Command>;

// How much is remembered of applied commands. Part of what a folder is: replaying its log with other limits could apply
// a command twice, so they are recorded when it is created and the recorded ones are used ever after.
struct IdLimits {
  std::uint64_t ids_kept = 262'144;      // the last so many command ids
  std::uint64_t id_result_bytes = 4096;  // a longer result is not kept; its id is

  friend bool operator==(const IdLimits&, const IdLimits&) = default;
};

}  // namespace skein::inline v0::journal
