#include "skein/journal/apply_part.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "skein/base/must_hold.hpp"
#include "skein/journal/log_format.hpp"

namespace skein::inline v0::journal {

ApplyPart::ApplyPart(MachineRef machine, const JournalLimits& limits, Admission& admission)
    : admission_(admission), replica_(machine, limits.ids) {}

void ApplyPart::take(ApplyStep step) {
  std::visit([this](auto& each) { on(std::move(each)); }, step);
}

void ApplyPart::on(Proposal&& proposal) {
  if (stopped_) return answer(std::move(proposal), Outcome::unknown, *stopped_);
  if (stuck_) return answer(std::move(proposal), Outcome::unknown, *stuck_);
  proposals_.add(std::move(proposal));
}

void ApplyPart::on(AnsweredAppend&& step) {
  admission_.release(step.charged);
  step.done(std::move(step.answer));
}

void ApplyPart::on(AnsweredRead&& step) { answer(step.fn, std::move(step.answer)); }

void ApplyPart::on(Decided&& step) {
  for (const auto& entry : step.entries) {
    if (stuck_ || stopped_) return;
    // A newer snapshot is there already.
    if (entry.position <= replica_.position()) continue;
    if (!apply(entry)) return;
  }
  serve_reads();
}

bool ApplyPart::apply(const consensus::Entry& entry) {
  if (entry.kind == EntryKind::skip) {
    const auto skipped = decode_skip(entry.bytes);
    // It was applied here before it was decided that nobody should: this state is another than the others'.
    if (skipped && *skipped <= replica_.position() && !skips_.contains(*skipped)) {
      cannot_apply(
          fmt::format("position {} was applied here, and is to be passed over: start the node again", *skipped));
      return false;
    }
  }
  Proposal* const own = proposals_.next(entry.position, entry.term, [this](Proposal&& lost) {
    answer(std::move(lost), Outcome::not_leader, k_not_leader);
  });
  auto applied = replica_.apply(entry);
  if (!applied) {
    cannot_apply(applied.error().describe());
    return false;
  }
  if (own == nullptr) return true;
  own->results.push_back(std::move(*applied));
  must_hold(own->results.size() == entry.position - own->first + 1, "apply_part.hpp 2: a batch is applied whole");
  if (entry.position == own->last) answer(proposals_.take_done(), Outcome::applied, {});
  return true;
}

void ApplyPart::cannot_apply(const std::string& why) {
  stuck_ = why;
  if (end_) end_(why);
  proposals_.all([this](Proposal&& each) { answer(std::move(each), Outcome::unknown, *stuck_); });
  serve_reads();
  emit(JournalEvent::Kind::stopped, replica_.position(), why);
}

void ApplyPart::restored() {
  const auto tell = [this](Proposal&& each) {
    answer(std::move(each), Outcome::unknown, "a snapshot took the place of the log: append the same ids again");
  };
  proposals_.restored(replica_.position(), tell);
  serve_reads();
}

void ApplyPart::on(ReadAt&& step) {
  reads_.push_back(std::move(step));
  if (stopped_ || stuck_ || reads_.back().position <= replica_.position()) serve_reads();
}

void ApplyPart::on(GivenUp&& step) {
  proposals_.given_up(step.from, [&](Proposal&& each) { answer(std::move(each), Outcome::overloaded, step.why); });
}

void ApplyPart::on(SkipDecided&& step) {
  skips_.insert(step.skipped);
  replica_.set_skips(skips_);
  if (!stuck_ || !replica_.failure() || replica_.failure()->position != step.skipped) return;
  // The machine may have done a part of what is passed over: it begins again from what is on the disk.
  stop(fmt::format("position {} is passed over from now on: start the node again", step.skipped));
}

void ApplyPart::on(Leads&& step) {
  if (stopped_ || step.leader == leader_) return;
  const bool led = leader_ == k_self;
  const bool known = leader_.has_value();
  leader_ = std::move(step.leader);
  const Position at = replica_.position();
  if (led) emit(JournalEvent::Kind::leader_lost, at, leader_.value_or(""));
  if (known != leader_.has_value()) {
    emit(known ? JournalEvent::Kind::quorum_lost : JournalEvent::Kind::quorum_restored, at, {});
  }
  if (leader_) emit(JournalEvent::Kind::leader_elected, at, *leader_);
}

void ApplyPart::request_snapshot(SnapshotFn done) {
  if (stopped_) {
    done(std::unexpected(StoreError{StoreError::Kind::stopped, {}, 0, *stopped_}));
    return;
  }
  snapshot_waiters_.push_back({replica_.position(), std::move(done)});
}

void ApplyPart::answer_snapshots(const StoreResult<SnapshotInfo>& result, Position covered) {
  std::vector<SnapshotFn> ready;
  for (auto& waiter : snapshot_waiters_) {
    if (waiter.asked_at <= covered) ready.push_back(std::move(waiter.done));
  }
  std::erase_if(snapshot_waiters_, [&](const WaitingSnapshot& waiter) { return waiter.asked_at <= covered; });
  for (auto& done : ready) done(result);
}

std::vector<JournalEvent> ApplyPart::present() const {
  const Position at = replica_.position();
  if (stopped_ || stuck_) return {{JournalEvent::Kind::stopped, at, stopped_ ? *stopped_ : *stuck_}};
  std::vector<JournalEvent> events;
  events.push_back(leader_ ? JournalEvent{JournalEvent::Kind::leader_elected, at, *leader_}
                           : JournalEvent{JournalEvent::Kind::leader_lost, at, {}});
  if (admission_.disk_low() || admission_.segment_refused()) events.push_back({JournalEvent::Kind::disk_low, at, {}});
  return events;
}

void ApplyPart::answer(Proposal&& proposal, Outcome outcome, const std::string& why) {
  AppendAnswer a;
  a.outcome = outcome;
  a.why = why;
  if (outcome == Outcome::applied) a.results = std::move(proposal.results);
  if (outcome == Outcome::not_leader) a.leader = leader_.value_or("");
  admission_.release(proposal.charged);
  proposal.done(std::move(a));
}

void ApplyPart::answer(ReadFn& fn, ReadAnswer answer) {
  admission_.release_read();
  fn(std::move(answer));
}

void ApplyPart::serve_reads() {
  const Position reached = replica_.position();
  applied_.store(reached, std::memory_order_release);
  if (reads_.empty()) return;
  std::vector<ReadAt> ready;
  for (auto& each : std::exchange(reads_, {})) {
    const bool waits = !stopped_ && !stuck_ && each.position > reached;
    (waits ? reads_ : ready).push_back(std::move(each));
  }
  for (auto& each : ready) {
    if (stopped_ || stuck_) {
      answer(each.fn, {Outcome::stopped, reached, {}, stopped_ ? *stopped_ : *stuck_});
    } else {
      answer(each.fn, {Outcome::applied, reached, {}, {}});
    }
  }
}

void ApplyPart::stop(const std::string& why) {
  if (stopped_) return;
  stopped_ = why;
  if (end_) end_(why);
  const bool was_told = stuck_.has_value();
  leader_.reset();
  proposals_.all([&](Proposal&& each) { answer(std::move(each), Outcome::unknown, why); });
  serve_reads();
  answer_snapshots(std::unexpected(StoreError{StoreError::Kind::stopped, {}, 0, why}), replica_.position());
  emit(JournalEvent::Kind::leader_lost, replica_.position(), why);
  if (!was_told) emit(JournalEvent::Kind::stopped, replica_.position(), why);
}

void ApplyPart::emit(JournalEvent::Kind kind, Position position, std::string detail) {
  if (event_) event_({kind, position, std::move(detail)});
}

}  // namespace skein::inline v0::journal
