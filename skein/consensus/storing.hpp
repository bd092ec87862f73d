// What waits for storage: the numbers of the writes handed out, and the messages that may leave only when those writes
// are durable. A plain value.
//
// 1. A message leaves only after everything that was known when it was written is stored.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "skein/base/time.hpp"
#include "skein/consensus/message.hpp"

namespace skein::inline v0::consensus {

class Storing {
 public:
  explicit Storing(std::size_t held_max) : held_max_(held_max) {}

  // The message waits for what is handed out next. Beyond the limit it is dropped, as a link would drop it.
  void hold(PeerMessage message);
  // Something is handed out now.
  [[nodiscard]] std::uint64_t hand_out(bool must_sync, Instant now);
  // Nothing is to be handed out for them: fresh messages wait for what was handed out before. Those that wait for
  // nothing are given back.
  [[nodiscard]] std::vector<PeerMessage> settle();
  // Everything up to `number` is durable: the messages that waited for it.
  [[nodiscard]] std::vector<PeerMessage> acknowledge(std::uint64_t number);

  [[nodiscard]] bool has_fresh() const { return !fresh_.empty(); }
  [[nodiscard]] std::uint64_t last_number() const { return handed_out_; }
  // Since when the oldest thing that must be synced is under way.
  [[nodiscard]] std::optional<Instant> waiting_since() const;

 private:
  struct Held {
    std::uint64_t number = 0;
    PeerMessage message;
  };
  std::size_t held_max_;
  std::uint64_t handed_out_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::deque<std::pair<std::uint64_t, Instant>> syncing_;
  std::vector<PeerMessage> fresh_;
  std::deque<Held> held_;
};

}  // namespace skein::inline v0::consensus
