#include "skein/consensus/term_map.hpp"

#include <algorithm>
#include <iterator>

#include "skein/base/must_hold.hpp"

namespace skein::inline v0::consensus {

TermMap::TermMap(Position base, Term base_term) : base_(base), last_(base) { runs_.push_back({base, base_term}); }

void TermMap::append(Term term) { append_run(last_ + 1, term); }

void TermMap::append_run(Position to, Term term) {
  if (to <= last_) return;
  must_hold(term >= last_term(), "term_map.hpp 1: terms do not fall from one position to the next");
  if (term != last_term()) runs_.push_back({last_ + 1, term});
  last_ = to;
}

void TermMap::truncate_from(Position from) {
  if (from > last_) return;
  last_ = std::max(from, base_ + 1) - 1;
  while (runs_.size() > 1 && runs_.back().first > last_) runs_.pop_back();
}

void TermMap::forget_before(Position base) {
  if (base <= base_ || base > last_) return;
  while (runs_.size() > 1 && runs_[1].first <= base) runs_.pop_front();
  runs_.front().first = base;
  base_ = base;
}

std::deque<TermMap::Run>::const_iterator TermMap::run_of(Position position) const {
  // Mostly asked for the newest.
  if (runs_.back().first <= position) return std::prev(runs_.end());
  const auto after = std::ranges::upper_bound(runs_, position, {}, &Run::first);
  return std::prev(after);
}

std::optional<Term> TermMap::at(Position position) const {
  if (position < base_ || position > last_) return std::nullopt;
  return run_of(position)->term;
}

Position TermMap::last_with_term_up_to(Position position, Term term) const {
  position = std::min(position, last_);
  if (position <= base_) return base_;
  auto run = run_of(position);
  while (run->term > term) {
    if (run == runs_.begin()) return base_;
    position = run->first - 1;
    --run;
  }
  return position;
}

}  // namespace skein::inline v0::consensus
