#include "skein/consensus/apply_feed.hpp"

#include <algorithm>
#include <utility>

#include "skein/base/must_hold.hpp"

namespace skein::inline v0::consensus {

bool ApplyFeed::can_take(Position up_to) const { return handed_out_ < up_to && !is_fetching_ && bytes_ < bytes_max_; }

std::vector<Entry> ApplyFeed::take(const LogWindow& log, Position up_to, std::vector<Fetch>& fetches) {
  if (!can_take(up_to)) return {};
  std::vector<Entry> entries = std::exchange(fetched_, {});
  // What was not decided when it was read may have been replaced since.
  while (!entries.empty() && log.term_at(entries.back().position) != std::optional(entries.back().term)) {
    entries.pop_back();
  }
  if (entries.empty()) {
    if (!log.has_in_memory(handed_out_ + 1)) {
      is_fetching_ = true;
      fetches.push_back({0, handed_out_ + 1, bytes_max_ - bytes_});
      return {};
    }
    entries = log.read(handed_out_ + 1, bytes_max_ - bytes_);
  }
  while (!entries.empty() && entries.back().position > up_to) entries.pop_back();
  if (entries.empty()) return entries;
  must_hold(entries.front().position == handed_out_ + 1, "consensus.hpp 7: what is applied has no gap");
  Part part;
  part.last = entries.back().position;
  for (const auto& entry : entries) part.bytes += weight_of(entry);
  bytes_ += part.bytes;
  handed_out_ = part.last;
  under_way_.push_back(part);
  return entries;
}

void ApplyFeed::fetched(Position from, std::vector<Entry> entries, const LogWindow& log) {
  is_fetching_ = false;
  if (from != handed_out_ + 1) return;
  // Decided entries never change, but the log may have been replaced by a snapshot meanwhile.
  const bool still_there =
      !entries.empty() && entries.front().position == from && log.term_at(from) == std::optional(entries.front().term);
  if (still_there) fetched_ = std::move(entries);
}

void ApplyFeed::applied(Position position) {
  while (!under_way_.empty() && under_way_.front().last <= position) {
    bytes_ -= under_way_.front().bytes;
    under_way_.pop_front();
  }
}

void ApplyFeed::restart_after(Position position) {
  handed_out_ = std::max(handed_out_, position);
  fetched_.clear();
}

}  // namespace skein::inline v0::consensus
