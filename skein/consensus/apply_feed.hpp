// Hands decided entries out to be applied: in order, each once, no more at a time than the limit. What is no longer in
// memory is asked for. A plain value.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "skein/consensus/log_window.hpp"
#include "skein/consensus/ready.hpp"

namespace skein::inline v0::consensus {

class ApplyFeed {
 public:
  ApplyFeed(Position applied, std::uint64_t bytes_max) : handed_out_(applied), bytes_max_(bytes_max) {}

  // Whether take() would give something, or ask for something.
  [[nodiscard]] bool can_take(Position up_to) const;
  // The next entries, up to `up_to`; or asks for them.
  [[nodiscard]] std::vector<Entry> take(const LogWindow& log, Position up_to, std::vector<Fetch>& fetches);
  void fetched(Position from, std::vector<Entry> entries, const LogWindow& log);
  void applied(Position position);
  // A snapshot took the place of everything up to `position`.
  void restart_after(Position position);

  [[nodiscard]] Position handed_out() const { return handed_out_; }

 private:
  struct Part {
    Position last = 0;
    std::uint64_t bytes = 0;
  };
  Position handed_out_;
  std::uint64_t bytes_max_;
  std::uint64_t bytes_ = 0;
  std::deque<Part> under_way_;
  bool is_fetching_ = false;
  std::vector<Entry> fetched_;
};

}  // namespace skein::inline v0::consensus
