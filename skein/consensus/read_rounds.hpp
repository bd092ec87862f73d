// Linear reads of a leader without a write (ReadIndex; Raft thesis, section 6.4). A read waits for one exchange of
// heartbeats that began after it was asked for: a majority that answers it has no newer leader. Reads that come while
// an exchange is under way share the next one. A plain value.
//
// 1. A read is confirmed only by answers to a round that began no earlier than the read.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "skein/consensus/entry.hpp"

namespace skein::inline v0::consensus {

class ReadRounds {
 public:
  struct Waiting {
    std::uint64_t ticket = 0;
    Position position = 0;
    std::uint64_t round = 0;  // that must be answered
  };

  explicit ReadRounds(std::size_t reads_max) : reads_max_(reads_max) {}

  // False when as many wait as may.
  [[nodiscard]] bool add(std::uint64_t ticket, Position position);
  // The number of a heartbeat that is sent now.
  [[nodiscard]] std::uint64_t begin_round() { return ++round_; }
  // Whether a round should begin at once: reads wait, and none is under way that could answer them or others.
  [[nodiscard]] bool wants_round() const { return !waiting_.empty() && answered_ >= round_; }
  // A majority has answered `round`: what is confirmed by it.
  [[nodiscard]] std::vector<Waiting> answered(std::uint64_t round);
  // Everything that waits, on losing leadership.
  [[nodiscard]] std::vector<Waiting> take_all();
  [[nodiscard]] std::uint64_t round() const { return round_; }
  [[nodiscard]] bool empty() const { return waiting_.empty(); }

 private:
  std::size_t reads_max_;
  std::uint64_t round_ = 0;     // the newest that was begun
  std::uint64_t answered_ = 0;  // the newest that a majority answered
  std::deque<Waiting> waiting_;
};

}  // namespace skein::inline v0::consensus
