// The table of a supervisor's children: pure, knows no process. One thread at a time (see SupervisorView).
//
// Children stand in start order. Finding one by id or by Pid, adding, removing and changing one cost O(1) on average,
// with any number of siblings, and no child is ever moved in memory. An Index stays valid until its child is removed; a
// key is never used again.
#pragma once

#include <any>
#include <bit>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skein/runtime/self.hpp"
#include "skein/supervision/restart_window.hpp"
#include "skein/supervision/supervisor_calls.hpp"

namespace skein::inline v0 {

inline constexpr std::size_t k_failure_history = 16;

struct Failure {
  Instant at;
  ExitReason reason;
  bool at_start = false;  // it did not get as far as running
};

// Data that only a child that failed has.
struct Troubles {
  std::vector<Failure> history;  // a ring of k_failure_history; `oldest` is where it begins once full
  std::size_t oldest = 0;
  std::optional<RestartWindow> budget;  // its own
  std::uint32_t attempt = 0;            // consecutive waits, for backoff
  Duration park{};                      // the last time it was parked
  TimerRef timer;                       // of the next attempt
  std::uint32_t token = 0;              // of the retry that counts; 0: none is under way
  bool counted = false;                 // the restart that is waited for is in the window already
  bool waits_for_leftovers = false;
};

struct Child {
  std::shared_ptr<const ChildSpec> spec;
  std::any extra;  // of a pool's child that may be restarted
  Pid pid;         // running: its process; restarting and parked: the one that was
  std::uint64_t key = 0;
  Instant since{};
  std::uint32_t restarts = 0;
  std::uint32_t before = UINT32_MAX;  // neighbours in start order
  std::uint32_t after = UINT32_MAX;
  ChildState state = ChildState::down;
  std::unique_ptr<Troubles> troubles;
};

class Children {
 public:
  using Index = std::uint32_t;
  static constexpr Index k_none = UINT32_MAX;

  // Pools find children by Pid only.
  explicit Children(bool pool = false) : pool_(pool) {}

  // Appends one that is down.
  Index add(std::shared_ptr<const ChildSpec> spec, std::any extra = {});
  // Appends one that runs.
  Index add_running(std::shared_ptr<const ChildSpec> spec, std::any extra, Pid pid, Instant since);
  void remove(Index index);
  void set_running(Index index, Pid pid, Instant since);
  // The old Pid is kept, if there was one.
  void set_waiting(Index index, ChildState restarting_or_parked);
  void set_down(Index index);
  // The id must stay the same.
  void replace_spec(Index index, std::shared_ptr<const ChildSpec> spec);
  // Puts `index` at the end of the start order.
  void move_to_end(Index index);

  [[nodiscard]] std::optional<Index> find(std::string_view id) const;
  // Running, or in a pool also waiting.
  [[nodiscard]] std::optional<Index> find(Pid pid) const;
  // Nothing if the child with this key is gone.
  [[nodiscard]] bool holds(Index index, std::uint64_t key) const;
  [[nodiscard]] const Child& at(Index index) const { return slot(index); }
  [[nodiscard]] Child& at(Index index) { return slot(index); }
  [[nodiscard]] Troubles& troubles(Index index);
  void note_failure(Index index, Failure failure);

  [[nodiscard]] Index first() const { return first_; }
  [[nodiscard]] Index last() const { return last_; }
  [[nodiscard]] Index after(Index index) const { return slot(index).after; }
  [[nodiscard]] Index before(Index index) const { return slot(index).before; }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t active() const { return active_; }
  [[nodiscard]] std::size_t supervisors() const { return supervisors_; }
  // Significant ones that run or will run again by themselves.
  [[nodiscard]] std::size_t significant_alive() const { return significant_alive_; }
  void release_memory();

 private:
  void count(const Child& child, bool add);
  void unlink(Index index);
  void append(Index index);
  Index place(std::shared_ptr<const ChildSpec> spec, std::any extra);
  // Blocks double in size: few children take little memory, many take few blocks.
  [[nodiscard]] Child& slot(Index index) const {
    const std::uint32_t place = index + k_first_block;
    const int block = static_cast<int>(std::bit_width(place)) - k_first_width;
    return blocks_[static_cast<std::size_t>(block)][place - (k_first_block << block)];
  }

  static constexpr std::uint32_t k_first_block = 4;
  static constexpr int k_first_width = static_cast<int>(std::bit_width(k_first_block));

  bool pool_;
  std::vector<std::unique_ptr<Child[]>> blocks_;
  Index used_ = 0;  // of the blocks, so far
  std::vector<Index> free_;
  Index first_ = k_none;
  Index last_ = k_none;
  boost::unordered_flat_map<std::string_view, Index> by_id_;  // views of the specs' ids
  boost::unordered_flat_map<Pid, Index, std::hash<Pid>> by_pid_;
  std::uint64_t next_key_ = 0;
  std::size_t size_ = 0;
  std::size_t active_ = 0;
  std::size_t supervisors_ = 0;
  std::size_t significant_alive_ = 0;
};

}  // namespace skein::inline v0
