#include "skein/consensus/log_window.hpp"

#include <algorithm>
#include <utility>

#include "skein/base/must_hold.hpp"

namespace skein::inline v0::consensus {

LogWindow::LogWindow(TermMap terms, std::uint64_t cache_bytes)
    : terms_(std::move(terms)), cache_bytes_(cache_bytes), stored_(terms_.last()), sent_(terms_.last()) {}

void LogWindow::append(Entry entry) {
  terms_.append(entry.term);
  const std::uint64_t bytes = weight_of(entry);
  held_bytes_ += bytes;
  unstored_bytes_ += bytes;
  held_.push_back(std::move(entry));
}

void LogWindow::truncate_from(Position from) {
  while (!held_.empty() && last() >= from) drop_newest();
  terms_.truncate_from(from);
  stored_ = std::min(stored_, last());
  sent_ = std::min(sent_, last());
  for (auto& each : hand_outs_) each.end = std::min(each.end, last());
}

void LogWindow::drop_newest() {
  const std::uint64_t bytes = weight_of(held_.back());
  held_bytes_ -= bytes;
  if (last() > stored_) unstored_bytes_ -= bytes;
  held_.pop_back();
  terms_.truncate_from(last());
}

void LogWindow::restart_after(Position position, Term term) {
  terms_ = TermMap(position, term);
  held_.clear();
  held_bytes_ = unstored_bytes_ = 0;
  stored_ = sent_ = position;
  // What was handed out of the log before says nothing about this one.
  for (auto& each : hand_outs_) each.end = 0;
}

void LogWindow::forget_up_to(Position position) {
  position = std::min(position, stored_);
  terms_.forget_before(position);
  free_up_to(position);
}

void LogWindow::free_up_to(Position position) {
  position = std::min(position, stored_);
  while (!held_.empty() && first_held() <= position) {
    held_bytes_ -= weight_of(held_.front());
    held_.pop_front();
  }
}

std::vector<Entry> LogWindow::take_unsent() {
  std::vector<Entry> entries;
  entries.reserve(last() - sent_);
  for (auto at = held_.end() - static_cast<std::ptrdiff_t>(last() - sent_); at != held_.end(); ++at) {
    entries.push_back(*at);
  }
  sent_ = last();
  return entries;
}

void LogWindow::hand_out(std::uint64_t number) { hand_outs_.push_back({number, sent_}); }

void LogWindow::acknowledge(std::uint64_t number) {
  Position durable = stored_;
  while (!hand_outs_.empty() && hand_outs_.front().number <= number) {
    durable = std::max(durable, hand_outs_.front().end);
    hand_outs_.pop_front();
  }
  must_hold(durable <= last(), "log_window.hpp 2: an acknowledgement covers nothing that was truncated");
  for (Position position = stored_ + 1; position <= durable; ++position) {
    unstored_bytes_ -= weight_of(held_[position - first_held()]);
  }
  stored_ = durable;
  drop_oldest_beyond_cache();
}

void LogWindow::drop_oldest_beyond_cache() {
  while (held_bytes_ > cache_bytes_ && !held_.empty() && first_held() <= stored_) {
    held_bytes_ -= weight_of(held_.front());
    held_.pop_front();
  }
}

std::vector<Entry> LogWindow::read(Position from, std::uint64_t max_bytes) const {
  std::vector<Entry> entries;
  if (!has_in_memory(from)) return entries;
  std::uint64_t bytes = 0;
  std::size_t whole = 0;  // entries up to the end of the last batch that fits
  for (auto at = held_.begin() + static_cast<std::ptrdiff_t>(from - first_held()); at != held_.end(); ++at) {
    bytes += weight_of(*at);
    if (bytes > max_bytes && whole > 0) break;
    entries.push_back(*at);
    if (at->ends_batch) whole = entries.size();
  }
  entries.resize(whole > 0 ? whole : entries.size());
  return entries;
}

}  // namespace skein::inline v0::consensus
