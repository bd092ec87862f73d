// Virtual time and links for the simulation of consensus: a queue of events, and what becomes of a message between two
// members. From a seed, one thread.
//
// 1. Events of one time happen in the order in which they were queued, so a seed tells one story.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "skein/base/random.hpp"
#include "skein/base/time.hpp"
#include "skein/consensus/membership.hpp"

namespace skein::sim::raft {

enum class EventKind : std::uint8_t {
  message,
  tick,
  drain,
  disk,
  apply,
  fetch,
  chunk_read,
  chunk_write,
  snapshot,
  start,
  request,
  reply,
  client,
  harm,
  heal_links,
};

struct QueuedEvent {
  Instant at;
  std::uint64_t order = 0;
  EventKind kind = EventKind::tick;
  std::uint32_t who = 0;   // a host, or a client
  std::uint32_t life = 0;  // of the host; an event of an earlier life is void
  std::uint64_t what = 0;  // depends on the kind
};

class EventQueue {
 public:
  void push(Instant at, EventKind kind, std::uint32_t who, std::uint32_t life, std::uint64_t what) {
    events_.push({at, ++order_, kind, who, life, what});
  }
  [[nodiscard]] QueuedEvent pop() {
    const QueuedEvent next = events_.top();
    events_.pop();
    return next;
  }
  [[nodiscard]] bool empty() const { return events_.empty(); }
  [[nodiscard]] Instant next_at() const { return events_.top().at; }

 private:
  struct Later {
    bool operator()(const QueuedEvent& one, const QueuedEvent& other) const {
      return one.at != other.at ? one.at > other.at : one.order > other.order;
    }
  };
  std::priority_queue<QueuedEvent, std::vector<QueuedEvent>, Later> events_;
  std::uint64_t order_ = 0;
};

// Values that events refer to by number.
template <class T>
class Parcels {
 public:
  std::uint64_t put(T value) {
    if (free_.empty()) {
      values_.push_back(std::move(value));
      return values_.size() - 1;
    }
    const std::uint64_t at = free_.back();
    free_.pop_back();
    values_[at] = std::move(value);
    return at;
  }
  T take(std::uint64_t at) {
    free_.push_back(at);
    return std::exchange(values_[at], T{});
  }

 private:
  std::vector<T> values_;
  std::vector<std::uint64_t> free_;
};

// How late a message can come that is very late.
inline constexpr Duration k_very_late = std::chrono::milliseconds(1'500);

// How links are, all of them.
struct Weather {
  double loss = 0;
  double twice = 0;      // a second copy comes later
  double reordered = 0;  // does not wait for what was sent before
  double very_late = 0;  // comes up to some seconds later
  Duration delay_min = std::chrono::microseconds(200);
  Duration delay_max = std::chrono::milliseconds(2);
};

class RaftNet {
 public:
  explicit RaftNet(std::uint64_t seed) : luck_(seed) {}

  Weather weather;

  // Nothing passes from one to the other; the way back is another matter.
  void cut(consensus::MemberId from, consensus::MemberId to) { cuts_.emplace(std::pair(from, to), true); }
  void heal() { cuts_.clear(); }
  [[nodiscard]] bool is_cut(consensus::MemberId from, consensus::MemberId to) const {
    return cuts_.contains({from, to});
  }
  [[nodiscard]] bool has_cuts() const { return !cuts_.empty(); }

  struct Fate {
    std::optional<Instant> arrives;  // nothing: it is lost
    std::optional<Instant> again;    // a copy
  };
  [[nodiscard]] Fate fate_of(consensus::MemberId from, consensus::MemberId to, Instant now);

 private:
  [[nodiscard]] Duration delay();

  Random luck_;
  std::map<std::pair<consensus::MemberId, consensus::MemberId>, bool> cuts_;
  std::map<std::pair<consensus::MemberId, consensus::MemberId>, Instant> newest_;
};

}  // namespace skein::sim::raft
