// A member's knowledge of its log without touching the disk: the terms of all of it, the entries that are not stored
// yet, and the newest of those that are. A value: one thread, no disk.
//
// Storing takes time and is acknowledged later. take_unsent() hands out entries once; each hand-out has a number, and
// stored(number) says that it and everything before it is durable. An entry that was replaced meanwhile does not become
// stored by the acknowledgement of what it replaced: an acknowledgement by position alone would say so.
//
// 1. base() <= stored() <= last(). The entries after stored() are all in memory.
// 2. An acknowledgement covers no position from which the log was truncated after it was handed out.
// 3. Stored entries beyond `cache_bytes` are forgotten, oldest first. Those that are not stored are not.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "skein/consensus/entry.hpp"
#include "skein/consensus/term_map.hpp"

namespace skein::inline v0::consensus {

class LogWindow {
 public:
  // The log of a folder, as `terms` has it: durable to its end, with nothing of it in memory.
  LogWindow(TermMap terms, std::uint64_t cache_bytes);

  // An entry at last() + 1.
  void append(Entry entry);
  // Forgets everything from `from` on; what is appended next replaces it.
  void truncate_from(Position from);
  // Forgets the whole log: it goes on after `position`, from a snapshot that is not stored yet.
  void restart_after(Position position, Term term);
  // Positions up to `position` are in a snapshot and gone from the disk.
  void forget_up_to(Position position);

  // The stored entries up to `position` will not be asked for again and may be dropped from memory.
  void free_up_to(Position position);

  // The entries that were not handed out yet, in order. They count as handed out with the next number.
  [[nodiscard]] std::vector<Entry> take_unsent();
  [[nodiscard]] bool has_unsent() const { return sent_ < last(); }
  // Numbers what was taken by now (perhaps nothing).
  void hand_out(std::uint64_t number);
  void acknowledge(std::uint64_t number);

  // Up to `max_bytes` of entries from `from` on, but whole batches, and at least one; nothing when `from` is not in
  // memory.
  [[nodiscard]] std::vector<Entry> read(Position from, std::uint64_t max_bytes) const;
  [[nodiscard]] bool has_in_memory(Position position) const { return position >= first_held() && position <= last(); }

  [[nodiscard]] Position base() const { return terms_.base(); }
  [[nodiscard]] Position last() const { return terms_.last(); }
  [[nodiscard]] Term last_term() const { return terms_.last_term(); }
  [[nodiscard]] Position stored() const { return stored_; }
  [[nodiscard]] const TermMap& terms() const { return terms_; }
  [[nodiscard]] std::optional<Term> term_at(Position position) const { return terms_.at(position); }
  [[nodiscard]] std::uint64_t unstored_bytes() const { return unstored_bytes_; }

 private:
  struct HandOut {
    std::uint64_t number = 0;
    Position end = 0;  // everything up to here is durable once it is acknowledged
  };

  [[nodiscard]] Position first_held() const { return last() + 1 - held_.size(); }
  void drop_newest();
  void drop_oldest_beyond_cache();

  TermMap terms_;
  std::uint64_t cache_bytes_;
  std::deque<Entry> held_;  // the newest entries, up to last()
  std::uint64_t held_bytes_ = 0;
  std::uint64_t unstored_bytes_ = 0;
  Position stored_;
  Position sent_;  // handed out up to here
  std::deque<HandOut> hand_outs_;
};

}  // namespace skein::inline v0::consensus
