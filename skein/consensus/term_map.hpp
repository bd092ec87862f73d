// The term of every position of a log, in memory: one pair per term, however long the log is. A plain value.
//
// 1. Terms do not fall from one position to the next.
#pragma once

#include <deque>
#include <optional>

#include "skein/consensus/entry.hpp"

namespace skein::inline v0::consensus {

class TermMap {
 public:
  // A log that begins after `base`, the last position of a snapshot, whose term is known too.
  TermMap(Position base, Term base_term);

  // The position after last().
  void append(Term term);
  // A run of positions after last(), up to `to`, that have the same term.
  void append_run(Position to, Term term);
  // Forgets the positions from `from` on. Not the base or what is before it.
  void truncate_from(Position from);
  // Forgets the positions before `base`, which becomes the base. Nothing when it is no later than the present base.
  void forget_before(Position base);

  // Nothing before the base, and after last().
  [[nodiscard]] std::optional<Term> at(Position position) const;
  // The highest position up to `position` whose term is no higher than `term`; the base when there is none.
  [[nodiscard]] Position last_with_term_up_to(Position position, Term term) const;

  [[nodiscard]] Position base() const { return base_; }
  [[nodiscard]] Position last() const { return last_; }
  [[nodiscard]] Term last_term() const { return runs_.back().term; }

 private:
  struct Run {
    Position first = 0;
    Term term = 0;
  };
  // The run that `position` is in, which must be in the map.
  [[nodiscard]] std::deque<Run>::const_iterator run_of(Position position) const;

  Position base_;
  Position last_;
  std::deque<Run> runs_;  // ascending by both; the first begins at the base
};

}  // namespace skein::inline v0::consensus
