// Which commands were applied, and what they were answered: the last ids_kept of them, oldest forgotten first. Part of
// the replicated state, so it is bounded by recorded limits (entry.hpp) and written to snapshots in a fixed order.
//
// One thread. freeze() shares full chunks with the snapshot's thread and copies the one still being filled when it is
// next written to, so it stalls nobody for long.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skein/journal/entry.hpp"
#include "skein/journal/machine.hpp"

namespace skein::inline v0::journal {

struct Remembered {
  CommandId id;
  Position position = 0;
  bool result_kept = true;  // false: the result was longer than id_result_bytes
  std::string result;
};

class IdTable {
 public:
  explicit IdTable(IdLimits limits);

  // Nothing when the id was not seen, or too long ago. Valid until the next change.
  [[nodiscard]] const Remembered* find(CommandId id) const;
  // The id must be new.
  void remember(CommandId id, Position position, std::string_view result);

  [[nodiscard]] std::shared_ptr<const Frozen> freeze();
  // False when the bytes are no table; it is then empty.
  [[nodiscard]] bool restore(std::string_view bytes);

  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(next_ - first_); }
  [[nodiscard]] IdLimits limits() const { return limits_; }

 private:
  static constexpr std::uint64_t k_chunk_ids = 1024;
  static constexpr std::uint64_t k_ids_reserved_max = 1U << 20U;
  using Chunk = std::vector<Remembered>;
  struct Hash {
    std::size_t operator()(const CommandId& id) const { return id.high * 0x9E3779B97F4A7C15ULL ^ id.low; }
  };
  class FrozenTable;

  void clear();
  void add(Remembered remembered);
  [[nodiscard]] const Remembered& at(std::uint64_t sequence) const;

  IdLimits limits_;
  std::deque<std::shared_ptr<Chunk>> chunks_;  // the front one holds sequence first_ - first_ % k_chunk_ids on
  std::uint64_t first_ = 0;                    // sequence of the oldest
  std::uint64_t next_ = 0;                     // sequence of the next
  bool tail_shared_ = false;
  boost::unordered_flat_map<CommandId, std::uint64_t, Hash> index_;
};

}  // namespace skein::inline v0::journal
