// The words that consensus and journal share: positions, terms, command ids and entries. Plain values.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string_view>

namespace skein::inline v0::consensus {

using Position = std::uint64_t;  // of an entry in the log; the first is 1, 0 means none
using Term = std::uint64_t;      // of the leader that appended an entry; 0 means none

// Names a command for good, so that appending it again applies it once. Zero means none and is never remembered.
struct CommandId {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  [[nodiscard]] bool none() const { return high == 0 && low == 0; }
  friend auto operator<=>(const CommandId&, const CommandId&) = default;
};

// The numbers are on disk and on the wire.
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
  bool ends_batch = true;  // false: the next entry was proposed with this one, and both are decided or neither
};

// An entry that keeps its bytes alive. The entries of one batch share an owner.
struct Entry : EntryView {
  std::shared_ptr<const void> owner;
};

// What an entry counts in limits of bytes: its own, and what storing it or sending it adds.
inline constexpr std::uint64_t k_entry_overhead_bytes = 64;
[[nodiscard]] inline std::uint64_t weight_of(const EntryView& entry) {
  return entry.bytes.size() + k_entry_overhead_bytes;
}

}  // namespace skein::inline v0::consensus
