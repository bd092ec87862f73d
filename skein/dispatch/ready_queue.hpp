// The tasks that may be given out, in the order in which they should be.
//
// A lane holds the tasks of one swarm and type that need the same capabilities and are for the same agent, if for one;
// a need is such a set of capabilities and that agent, and what the lanes of several swarms share. A task nobody can
// run stays in its lane and holds up no other. A round takes the first task of all lanes that are open and whose need
// is not known to be unmet:
//
//   queue.begin_round();
//   while (auto task = queue.next()) { ... queue.taken() or queue.unmet(); }
//
// Lanes in a group are of swarms that share something: an executor, or agents that belong to no swarm. They send one of
// them into the round: one with a critical task if there is any, else one of the swarm whose turn it is
// (fair_share.hpp), and of that swarm the one with the first task. So priorities and age count within a swarm, and what
// is shared is shared by weight.
//
// Tasks are named by the caller's slots. Taking one out, or changing its priority, leaves its old entry behind; a live
// function of the caller's tells which entries still count, and a lane is swept when most do not. Costs O(log n) per
// task, O(lanes) per round and O(swarms) per task of a group. A value; one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "skein/base/time.hpp"
#include "skein/dispatch/fair_share.hpp"
#include "skein/ledger/task.hpp"

namespace skein::inline v0::dispatch {

struct ReadyEntry {
  std::int64_t order = 0;
  std::uint32_t slot = 0;
  std::uint16_t priority = 0;

  // Whether it comes before the other one.
  [[nodiscard]] bool before(const ReadyEntry& other) const {
    if (priority != other.priority) return priority > other.priority;
    if (order != other.order) return order < other.order;
    return slot < other.slot;
  }
};

class ReadyQueue {
 public:
  // Whether an entry of this lane still counts. A task that goes to another lane may keep its order.
  using Live = std::function<bool(const ReadyEntry& entry, std::uint32_t lane)>;
  static constexpr std::size_t k_idle_lanes_max = 4'096;  // without a task; beyond it they are forgotten

  struct Need {
    std::vector<std::string> capabilities;  // sorted
    std::vector<std::string_view> views;    // of them
    std::string pinned_to;                  // the agent that alone may have its tasks; empty: any
    std::size_t ready = 0;                  // tasks in its lanes
    bool is_unmet = false;                  // nobody was free; asked again when that may have changed
    std::optional<Instant> unmet_since;
    bool was_told = false;  // that nobody was there for the routing timeout
    std::uint32_t lanes = 0;
    bool in_use = false;
  };
  struct Lane {
    std::uint32_t need = 0;
    std::uint32_t swarm = 0;
    std::vector<ReadyEntry> heap;
    std::size_t ready = 0;  // entries that count
    std::uint32_t tasks = 0;
    std::uint32_t group = 0;  // of those that share something; 0: none
    std::uint64_t mark = 0;   // the caller's; 0 when the lane is new
    bool in_use = false;
  };

  explicit ReadyQueue(Live live) : live_(std::move(live)) {}

  using SharedShape = std::shared_ptr<const ledger::Shape>;
  // The lane of a shape, and the queue's own copy of the shape: the ledger's is counted by other threads, and every
  // task would fight with them over that count. Both stay while a task holds on to the lane.
  struct Place {
    std::uint32_t lane = 0;
    const SharedShape* shape = nullptr;
  };
  // `swarm` is the caller's number of the shape's swarm, `besides` a capability needed on top of the shape's own, or
  // empty, `group` the number of what the swarm shares with others, or 0, `pinned_to` the agent that the task is for,
  // or empty. A task holds on to its lane until it lets go.
  Place hold(const SharedShape& shape, std::uint32_t swarm, std::string_view besides = {}, std::uint32_t group = 0,
             std::string_view pinned_to = {});
  void let_go(std::uint32_t lane);

  void push(std::uint32_t lane, ReadyEntry entry);
  // An entry of the lane no longer counts.
  void dropped(std::uint32_t lane);

  // `is_open(swarm)` says whether a swarm's lanes take part.
  template <class IsOpen>
  void begin_round(IsOpen&& is_open) {
    round_.clear();
    clear_groups();
    for (std::uint32_t i = 0; i < lanes_.size(); ++i) {
      Lane& lane = lanes_[i];
      if (lane.ready == 0 || needs_[lane.need].is_unmet || !is_open(lane.swarm)) continue;
      if (!clean_top(lane)) continue;
      if (lane.group == 0) {
        round_.push_back(i);
      } else {
        join_group(i);
      }
    }
    arrange_round();
  }
  struct Next {
    ReadyEntry entry;
    std::uint32_t lane = 0;
  };
  // The first task, or nothing when the round is over. After each, one of the three that follow.
  [[nodiscard]] std::optional<Next> next();
  // It is out of the queue. `cost`: what it is expected to take of what its group shares, divided by its swarm's
  // weight.
  void taken(double cost = 0);
  void unmet(Instant now);
  void close();  // its swarm gives nothing out any more in this round

  // A run of a swarm in a group took more than it was charged, or less.
  void corrected(std::uint32_t group, std::uint32_t swarm, double cost) {
    if (group < groups_.size()) groups_[group].share.corrected(swarm, cost);
  }

  // Somebody may be free: asks for all needs again.
  void ask_again();

  [[nodiscard]] const std::vector<Lane>& lanes() const { return lanes_; }
  [[nodiscard]] const Lane& lane(std::uint32_t index) const { return lanes_[index]; }
  [[nodiscard]] std::uint64_t& mark(std::uint32_t lane) { return lanes_[lane].mark; }
  [[nodiscard]] const Need& need(std::uint32_t index) const { return needs_[index]; }
  [[nodiscard]] std::vector<Need>& needs() { return needs_; }
  [[nodiscard]] std::size_t ready() const { return ready_; }
  // Of one swarm; costs as much as there are lanes.
  [[nodiscard]] std::size_t ready_of(std::uint32_t swarm) const;
  [[nodiscard]] std::size_t tasks_of(std::uint32_t swarm) const;
  // Forgets the lanes nobody holds.
  void forget_idle();
  void clear();

 private:
  struct ShapeEntry {
    SharedShape shape;  // keeps the address from being used again
    SharedShape own;
    std::uint32_t lane = 0;
  };
  using ByShape = std::unordered_map<const ledger::Shape*, ShapeEntry>;

  // The lanes of one swarm that wait to be sent into the round at hand, in a heap by their first task.
  struct Turn {
    std::uint32_t swarm = 0;
    bool is_waiting = false;  // listed in waiting
    std::vector<std::uint32_t> lanes;
  };
  struct Group {
    FairShare share;
    std::vector<std::uint32_t> waiting;  // places in turns of those that have lanes, or had when they were listed
    std::vector<Turn> turns;             // one per swarm that ever was in it
    std::vector<std::uint32_t> places;   // by swarm: one more than its place in turns; 0: none
  };

  void clear_groups();
  void join_group(std::uint32_t lane);
  // Sends the next lane of the group into the round, if there is any.
  void elect(std::uint32_t group);
  [[nodiscard]] bool goes_before(const Group& group, std::uint32_t one, std::uint32_t other) const;
  // Takes the first lane out of the round; returns its number.
  std::uint32_t pop_round();
  // The lane has left the round: the next one of its group comes in.
  void send_next(std::uint32_t lane);
  [[nodiscard]] bool is_live(const Lane& lane, const ReadyEntry& entry) const {
    return live_(entry, static_cast<std::uint32_t>(&lane - lanes_.data()));
  }
  bool clean_top(Lane& lane);
  void pop_top(Lane& lane);
  void sweep(Lane& lane);
  void arrange_round();
  [[nodiscard]] bool lane_after(std::uint32_t one, std::uint32_t other) const;
  [[nodiscard]] ByShape& shapes_for(std::string_view pinned_to);
  std::uint32_t need_for(std::vector<std::string> capabilities, std::string_view pinned_to);
  std::uint32_t make_lane(const ledger::Shape& shape, std::uint32_t swarm, std::string_view besides,
                          std::uint32_t group, std::string_view pinned_to);

  Live live_;
  std::vector<Need> needs_;
  std::vector<Lane> lanes_;
  std::vector<std::uint32_t> free_needs_;
  std::vector<std::uint32_t> free_lanes_;
  ByShape by_shape_;                                             // of tasks that any agent may have
  std::map<std::string, ByShape, std::less<>> pinned_shapes_;    // of the others, by agent
  std::unordered_map<std::string, std::uint32_t> by_text_;       // swarm, type and capabilities → lane
  std::unordered_map<std::string, std::uint32_t> need_by_text_;  // capabilities → need
  std::vector<std::uint32_t> round_;                             // a heap of lanes by their first task
  std::vector<Group> groups_;                                    // by number; 0 is none
  std::size_t ready_ = 0;
  std::size_t idle_ = 0;   // lanes without a task
  std::size_t unmet_ = 0;  // needs
};

}  // namespace skein::inline v0::dispatch
