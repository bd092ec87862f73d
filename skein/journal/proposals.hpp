// What was proposed here and is not answered: where each batch would stand in the log, and who waits for it. Entries
// that are applied say what became of it. A plain value of the thread that applies.
//
// Let a batch stand at positions first to last in the log of term T, in which this member leads.
// 1. An entry of term T that is applied at `first` is the batch's own: only one member leads in a term.
// 2. Once an entry of a later term is applied anywhere at or before `first`, the batch is not in the log and never will
//    be: what was decided stays, and a leader of a later term without it can't get it back (Raft paper, 5.4.3).
// 3. Once a snapshot covers `first`, nobody here can tell.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "skein/journal/journal.hpp"

namespace skein::inline v0::journal {

struct Proposal {
  Term term = 0;
  Position first = 0;
  Position last = 0;
  std::uint64_t charged = 0;  // see Admission
  AnswerFn done;
  std::vector<Applied> results = {};
};

class Proposals {
 public:
  using AnswerEach = std::function<void(Proposal&&)>;

  // In the order in which they were proposed: terms do not fall, and positions grow within a term.
  void add(Proposal proposal) { waiting_.push_back(std::move(proposal)); }

  // An entry of this term comes next at this position: those that lost their place for good are handed to `lost`. The
  // proposal whose entry it is, or none.
  [[nodiscard]] Proposal* next(Position position, Term term, const AnswerEach& lost);
  // The proposal that next() named has all its results.
  [[nodiscard]] Proposal take_done();
  // A snapshot took the place of everything up to there.
  void restored(Position position, const AnswerEach& unknown);
  // The disk refused the batches from there on, and they were given up.
  void given_up(Position from, const AnswerEach& refused);
  void all(const AnswerEach& each);

  [[nodiscard]] bool empty() const { return waiting_.empty(); }

 private:
  std::deque<Proposal> waiting_;
};

}  // namespace skein::inline v0::journal
