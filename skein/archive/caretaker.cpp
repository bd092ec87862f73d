#include "skein/archive/caretaker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace skein::inline v0::archive {

using namespace std::chrono_literals;
using NewsKind = ArchiverNews::Kind;

Caretaker::Caretaker(Store& store, JobQueue& jobs, const ArchiverLimits& limits, NewsFn on_news)
    : store_(store), jobs_(jobs), limits_(limits), on_news_(std::move(on_news)) {}

void Caretaker::start() {
  post(retain, limits_.retain_every);
  if (limits_.verify_rate > 0) post(verify, verify_pause());
  done_[verify] = limits_.verify_rate == 0;
  post(upgrade, limits_.upgrade_every);
}

void Caretaker::nudge() {
  if (!posted_[retain]) post(retain, limits_.retain_every);
  if (!posted_[verify] && !done_[verify]) post(verify, verify_pause());
  if (!posted_[upgrade] && !done_[upgrade]) post(upgrade, limits_.upgrade_every);
}

ArchiverStatus Caretaker::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

void Caretaker::post(Chore chore, Duration delay) {
  if (stopped_ || posted_[chore].exchange(true)) return;
  const bool posted = jobs_.post_after(delay, [self = shared_from_this(), chore] {
    self->posted_[chore] = false;
    if (self->stopped_) return;
    if (const auto again = self->run(chore)) return self->post(chore, *again);
    self->done_[chore] = true;
  });
  if (!posted) posted_[chore] = false;
}

std::optional<Duration> Caretaker::run(Chore chore) {
  switch (chore) {
    case retain:
      return do_retain();
    case verify:
      return do_verify();
    case upgrade:
      break;
  }
  return do_upgrade();
}

std::optional<ledger::WallMs> Caretaker::believed_time() {
  if (!clock_) {
    const auto noted = store_.note(k_note_clock);
    clock_ = AgreedClock::read(noted.value_or(std::string()));
  }
  const std::uint64_t jumps = clock_->jumps();
  const auto believed = clock_->look(jobs_.wall_now(), jobs_.boot_now());
  if (const auto ok = store_.keep_note(k_note_clock, clock_->text()); !ok) failed(ok.error().describe());
  if (clock_->jumps() != jumps) {
    tell(NewsKind::clock_jumped,
         "the wall clock jumped: the archive removes nothing by age until it has gone right for a day");
  }
  const std::lock_guard lock(mutex_);
  status_.is_clock_agreed = believed.has_value();
  status_.clock_jumps = clock_->jumps();
  return believed;
}

std::optional<Duration> Caretaker::do_retain() {
  const auto now = limits_.retention.age.count() != 0 ? believed_time() : std::nullopt;
  const auto removed = store_.retain(limits_.retention, now.value_or(0), limits_.retain_tasks);
  if (!removed) {
    failed(removed.error().describe());
    return limits_.retain_every;
  }
  {
    const std::lock_guard lock(mutex_);
    status_.removed += *removed;
    status_.failing.clear();
  }
  removed_at_once_ += *removed;
  if (*removed == limits_.retain_tasks) {
    if (removed_at_once_ % (k_rounds_per_seal * limits_.retain_tasks) == 0) seal();
    return Duration::zero();
  }
  if (removed_at_once_ > 0) {
    tell(NewsKind::removed,
         fmt::format("the archive removed {} finished tasks that need not be kept ([archive] keep and tasks)",
                     removed_at_once_),
         removed_at_once_);
  }
  // Its log must not grow for ever when nothing is archived.
  if (removed_at_once_ > 0 || ++looks_ % k_looks_per_seal == 0) seal();
  removed_at_once_ = 0;
  return limits_.retain_every;
}

Duration Caretaker::verify_pause() const {
  const std::uint64_t rows = std::min<std::uint64_t>(limits_.verify_rate, k_slice);
  return std::chrono::milliseconds(
      std::max<std::uint64_t>(1, rows * 1000 / std::max<std::uint64_t>(1, limits_.verify_rate)));
}

std::optional<Duration> Caretaker::do_verify() {
  const Instant now = jobs_.now();
  if (now < verify_again_) return std::max<Duration>(verify_again_ - now, 1ms);
  if (verified_up_to_ == 0) {
    const std::lock_guard lock(mutex_);
    status_.checked = status_.damaged = 0;
  }
  const auto slice = static_cast<std::size_t>(std::min<std::uint64_t>(limits_.verify_rate, k_slice));
  const auto checked = store_.verify(verified_up_to_, slice);
  if (!checked) {
    if (checked.error().kind == ArchiveError::Kind::corrupt) {
      found_damage(checked.error().describe());
    } else {
      failed(checked.error().describe());
    }
    verified_up_to_ = 0;
    verify_again_ = later(now, limits_.verify_every);
    return std::max<Duration>(limits_.verify_every, 1ms);
  }
  for (const auto& [number, what] : checked->damaged) found_damage(damaged_record("", number, what).what);
  verified_up_to_ = checked->up_to;
  {
    const std::lock_guard lock(mutex_);
    status_.checked += checked->rows;
  }
  if (!checked->is_end) return verify_pause();
  end_verification();
  verified_up_to_ = 0;
  verify_again_ = later(now, limits_.verify_every);
  return std::max<Duration>(limits_.verify_every, 1ms);
}

void Caretaker::end_verification() {
  const auto marks = store_.marks();
  ArchiverStatus done = status();
  // What came meanwhile is behind it, and what was removed meanwhile it has seen.
  if (marks && done.checked < marks->rows) {
    found_damage(fmt::format("it has {} records and must have {}", done.checked, marks->rows));
  }
  {
    const std::lock_guard lock(mutex_);
    status_.verified = status_.checked;
    status_.verified_at = jobs_.wall_now();
    done = status_;
  }
  if (done.verified == 0 && done.damaged == 0) return;
  tell(NewsKind::verified, fmt::format("the archive was verified: {} records, {} damaged", done.verified, done.damaged),
       done.verified);
}

void Caretaker::found_damage(const std::string& what) {
  std::uint64_t count = 0;
  {
    const std::lock_guard lock(mutex_);
    count = ++status_.damaged;
  }
  if (count > k_damage_told) return;
  tell(
      NewsKind::damaged,
      fmt::format("the archive is damaged: {}; it is not handed out; stop the node and run 'skein archive rebuild', or "
                  "go back to a backup",
                  what),
      count);
}

std::optional<Duration> Caretaker::do_upgrade() {
  const auto more = store_.upgrade(limits_.upgrade_tasks);
  if (!more) {
    failed(more.error().describe());
    return limits_.retry_max;
  }
  bool was_upgrading = false;
  {
    const std::lock_guard lock(mutex_);
    was_upgrading = std::exchange(status_.is_upgrading, *more);
    if (*more || was_upgrading) status_.upgraded += limits_.upgrade_tasks;
  }
  if (*more ? ++upgrades_ % k_rounds_per_seal == 0 : was_upgrading) seal();
  if (*more) return limits_.upgrade_every;
  if (was_upgrading) tell(NewsKind::upgraded, "every record of the archive has a checksum now");
  return std::nullopt;
}

// The archive's log must not grow as large as the archive. One that waits for a reader is sealed the next time.
void Caretaker::seal() {
  const auto sealed = store_.seal();
  if (!sealed && sealed.error().kind != ArchiveError::Kind::busy) failed(sealed.error().describe());
}

void Caretaker::failed(const std::string& why) {
  bool is_new = false;
  {
    const std::lock_guard lock(mutex_);
    ++status_.failures;
    is_new = std::exchange(status_.failing, why) != why;
  }
  if (is_new) tell(NewsKind::failing, "the archive fails: " + why);
}

void Caretaker::tell(NewsKind kind, std::string text, std::uint64_t number) const {
  if (on_news_) on_news_({kind, std::move(text), number});
}

}  // namespace skein::inline v0::archive
