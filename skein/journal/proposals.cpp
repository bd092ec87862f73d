#include "skein/journal/proposals.hpp"

#include <utility>

namespace skein::inline v0::journal {

Proposal* Proposals::next(Position position, Term term, const AnswerEach& lost) {
  while (!waiting_.empty() && waiting_.front().term < term) {
    Proposal gone = std::move(waiting_.front());
    waiting_.pop_front();
    lost(std::move(gone));
  }
  if (waiting_.empty()) return nullptr;
  Proposal& front = waiting_.front();
  return front.term == term && front.first <= position && position <= front.last ? &front : nullptr;
}

Proposal Proposals::take_done() {
  Proposal done = std::move(waiting_.front());
  waiting_.pop_front();
  return done;
}

void Proposals::restored(Position position, const AnswerEach& unknown) {
  // Those of a later term may stand before those of an earlier one.
  for (auto& each : std::exchange(waiting_, {})) {
    if (each.first > position) {
      waiting_.push_back(std::move(each));
    } else {
      unknown(std::move(each));
    }
  }
}

void Proposals::given_up(Position from, const AnswerEach& refused) {
  std::deque<Proposal> gone;
  while (!waiting_.empty() && waiting_.back().first >= from) {
    gone.push_front(std::move(waiting_.back()));
    waiting_.pop_back();
  }
  for (auto& each : gone) refused(std::move(each));
}

void Proposals::all(const AnswerEach& each) {
  for (auto& proposal : std::exchange(waiting_, {})) each(std::move(proposal));
}

}  // namespace skein::inline v0::journal
