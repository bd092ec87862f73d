#include "skein/journal/journal_core.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace skein::inline v0::journal {

std::string_view name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::applied:
      return "applied";
    case Outcome::not_leader:
      return "not_leader";
    case Outcome::overloaded:
      return "overloaded";
    case Outcome::unknown:
      return "unknown";
    case Outcome::refused:
      return "refused";
    case Outcome::stopped:
      return "stopped";
  }
  return "unknown";
}

JournalCore::JournalCore(MachineRef machine, const JournalLimits& limits)
    : limits_(limits), admission_(limits), replica_(machine, limits.ids), trim_limit_(limits.trim_limit) {}

void JournalCore::append(Batch batch, AnswerFn done, Urgency urgency) {
  if (auto refusal = admission_.admit(batch, urgency)) {
    done(std::move(*refusal));
    return;
  }
  submit(std::move(batch), std::move(done));
}

void JournalCore::submit(Batch batch, AnswerFn done) {
  Pending pending;
  pending.charged = Admission::charge(batch);
  pending.batch = std::move(batch);
  pending.done = std::move(done);
  if (stopped_) {
    answer(pending, Outcome::stopped, *stopped_);
    return;
  }
  if (!leads()) {
    answer(pending, Outcome::not_leader, k_not_leader);
    return;
  }
  queued_.push_back(std::move(pending));
}

void JournalCore::read(Read what, ReadFn fn) {
  reads_.push_back({what, std::move(fn)});
  if (stopped_ || !leads() || what.position <= replica_.position()) serve_reads();
}

void JournalCore::request_snapshot(SnapshotFn done) {
  if (stopped_) {
    done(std::unexpected(StoreError{StoreError::Kind::stopped, {}, 0, *stopped_}));
    return;
  }
  snapshot_waiters_.push_back({replica_.position(), std::move(done)});
  start_snapshot();
}

void JournalCore::request_trim(Position up_to) { trim_wanted_ = std::max(trim_wanted_.value_or(0), up_to); }

void JournalCore::set_trim_limit(Position limit) {
  const bool higher = limit > trim_limit_;
  trim_limit_ = limit;
  if (higher) request_trim();
}

void JournalCore::set_leader(std::optional<std::string> leader) {
  if (stopped_ || leader == leader_) return;
  const bool led = leads();
  const bool known = leader_.has_value();
  leader_ = std::move(leader);
  if (led) {
    emit(JournalEvent::Kind::leader_lost, replica_.position(), leader_.value_or(""));
    for (auto& pending : std::exchange(queued_, {})) answer(pending, Outcome::not_leader, k_not_leader);
    serve_reads();
  }
  if (known != leader_.has_value()) {
    emit(known ? JournalEvent::Kind::quorum_lost : JournalEvent::Kind::quorum_restored, replica_.position(), {});
  }
  if (leader_) emit(JournalEvent::Kind::leader_elected, replica_.position(), *leader_);
}

std::vector<JournalEvent> JournalCore::present() const {
  const Position at = replica_.position();
  if (stopped_) return {{JournalEvent::Kind::stopped, at, *stopped_}};
  std::vector<JournalEvent> events;
  events.push_back(leader_ ? JournalEvent{JournalEvent::Kind::leader_elected, at, *leader_}
                           : JournalEvent{JournalEvent::Kind::leader_lost, at, {}});
  if (admission_.disk_low() || admission_.segment_refused()) events.push_back({JournalEvent::Kind::disk_low, at, {}});
  return events;
}

void JournalCore::take_batch(std::vector<EntryView>& entries) {
  std::uint64_t bytes = 0;
  Position next = log_last() + 1;
  while (!queued_.empty()) {
    auto& pending = queued_.front();
    if (bytes > 0 && bytes + pending.charged > limits_.batch_bytes) break;
    bytes += pending.charged;
    pending.first = next;
    for (const auto& command : pending.batch) {
      entries.push_back({next++, term_, EntryKind::command, command.id, command.bytes});
    }
    written_.push_back(std::move(pending));
    queued_.pop_front();
  }
}

bool JournalCore::write() {
  if (stopped_ || queued_.empty()) return false;
  entries_.clear();
  const std::size_t before = written_.size();
  take_batch(entries_);
  const auto ok = log_write(entries_);
  if (ok) return true;
  if (!ok.error().is_harmless()) {
    stop(ok.error().describe());
    return false;
  }
  // Nothing reached the log, so these are refused and the journal lives on.
  while (written_.size() > before) {
    answer(written_.back(), Outcome::overloaded, ok.error().describe());
    written_.pop_back();
  }
  return false;
}

void JournalCore::sync() {
  if (stopped_) return;
  if (auto ok = log_sync(); !ok) stop(ok.error().describe());
}

void JournalCore::apply() {
  if (stopped_) return;
  const Position limit = log_durable();
  for (auto& pending : written_) {
    if (pending.first > limit) break;
    if (pending.results.empty() && !apply_one(pending)) return;
  }
  while (!written_.empty() && !written_.front().results.empty() && written_.front().first <= limit) {
    Pending pending = std::move(written_.front());
    written_.pop_front();
    answer(pending, Outcome::applied, {});
  }
  serve_reads();
}

bool JournalCore::apply_one(Pending& pending) {
  pending.results.reserve(pending.batch.size());
  Position position = pending.first;
  for (const auto& command : pending.batch) {
    auto applied = replica_.apply({position++, term_, EntryKind::command, command.id, command.bytes});
    if (!applied) {
      stop(applied.error().describe());
      return false;
    }
    pending.results.push_back(std::move(*applied));
  }
  return true;
}

void JournalCore::run_queued() {
  // A batch that was turned away for want of room does not keep the next from being looked at.
  while (!stopped_ && !queued_.empty()) {
    if (!write()) continue;
    sync();
    apply();
  }
  // Something may have been written before, and not synced.
  sync();
  apply();
}

void JournalCore::close() {
  run_queued();
  if (!stopped_) stop("the journal is closed");
}

void JournalCore::answer(Pending& pending, Outcome outcome, const std::string& why) {
  AppendAnswer a;
  a.outcome = outcome;
  a.why = why;
  if (outcome == Outcome::applied) a.results = std::move(pending.results);
  if (outcome == Outcome::not_leader) a.leader = leader_.value_or("");
  admission_.release(pending.charged);
  pending.done(std::move(a));
}

void JournalCore::serve_reads() {
  if (reads_.empty()) return;
  std::vector<WaitingRead> ready;
  const Position reached = replica_.position();
  const auto still = std::partition(reads_.begin(), reads_.end(), [&](const WaitingRead& r) {
    const bool is_turned_away = r.what.kind == Read::Kind::linear && !leads();
    return !stopped_ && !is_turned_away && r.what.position > reached;
  });
  ready.assign(std::make_move_iterator(still), std::make_move_iterator(reads_.end()));
  reads_.erase(still, reads_.end());
  for (auto& waiting : ready) {
    admission_.release_read();
    if (stopped_) {
      waiting.fn({Outcome::stopped, reached, {}, *stopped_});
    } else if (waiting.what.kind == Read::Kind::linear && !leads()) {
      waiting.fn({Outcome::not_leader, reached, leader_.value_or(""), k_not_leader});
    } else {
      waiting.fn({Outcome::applied, reached, {}, {}});
    }
  }
}

void JournalCore::stop(const std::string& why) {
  if (stopped_) return;
  stopped_ = why;
  // What was handed to the log may be in it; what was not, is not.
  auto written = std::exchange(written_, {});
  auto queued = std::exchange(queued_, {});
  for (auto& pending : written) answer(pending, Outcome::unknown, why);
  for (auto& pending : queued) answer(pending, Outcome::stopped, why);
  serve_reads();
  answer_snapshots(std::unexpected(StoreError{StoreError::Kind::stopped, {}, 0, why}), replica_.position());
  emit(JournalEvent::Kind::leader_lost, replica_.position(), why);
  emit(JournalEvent::Kind::stopped, replica_.position(), why);
}

void JournalCore::emit(JournalEvent::Kind kind, Position position, std::string detail) {
  if (event_) event_({kind, position, std::move(detail)});
}

void JournalCore::answer_snapshots(const StoreResult<SnapshotInfo>& result, Position covered) {
  std::vector<SnapshotFn> ready;
  for (auto& waiter : snapshot_waiters_) {
    if (waiter.asked_at <= covered) ready.push_back(std::move(waiter.done));
  }
  std::erase_if(snapshot_waiters_, [&](const WaitingSnapshot& waiter) { return waiter.asked_at <= covered; });
  for (auto& done : ready) done(result);
}

}  // namespace skein::inline v0::journal
