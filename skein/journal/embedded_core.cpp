#include "skein/journal/embedded_core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

namespace skein::inline v0::journal {
namespace {

constexpr std::uint64_t k_check_disk_every_bytes = 1U << 20U;

StoreOptions options_from(const JournalLimits& limits, IdLimits ids) {
  StoreOptions options;
  options.segment_bytes = limits.segment_bytes;
  options.first_segment_bytes = limits.first_segment_bytes;
  options.spares_kept = limits.spares_kept;
  options.ids = ids;
  options.batch_align = limits.sector_bytes;
  options.trim_limit = limits.trim_limit;
  return options;
}

}  // namespace

EmbeddedCore::EmbeddedCore(Disk& disk, std::string dir, MachineRef machine, const JournalLimits& limits)
    : JournalCore(machine, limits), disk_(disk), dir_(std::move(dir)) {}

StoreResult<std::unique_ptr<EmbeddedCore>> EmbeddedCore::open(Disk& disk, const std::string& dir, MachineRef machine,
                                                              const JournalLimits& limits) {
  if (auto ok = disk.make_dir(dir); !ok) return disk_failed(ok.error(), dir);
  auto lock = disk.lock(dir);
  if (!lock) return disk_failed(lock.error(), dir);
  std::unique_ptr<EmbeddedCore> core(new EmbeddedCore(disk, dir, machine, limits));
  core->lock_ = std::move(*lock);
  if (auto ok = core->recover(); !ok) return std::unexpected(ok.error());
  return core;
}

StoreResult<void> EmbeddedCore::recover() {
  const auto hard = load_hard_state(disk_, dir_);
  if (!hard) return std::unexpected(hard.error());
  auto snapshot = newest_snapshot(disk_, dir_);
  if (!snapshot) return std::unexpected(snapshot.error());
  IdLimits ids = limits_.ids;
  if (*snapshot) {
    ids = (*snapshot)->meta.ids;
    snapshot_ = {(*snapshot)->meta.position, (*snapshot)->file.size(),
                 path_in(dir_, snapshot_name((*snapshot)->meta.position))};
    bool restored = false;
    try {
      restored = replica_.restore((*snapshot)->meta, (*snapshot)->body());
    } catch (const std::exception& error) {
      return std::unexpected(corrupt(snapshot_.path, 0, fmt::format("the machine can't restore it: {}", error.what())));
    } catch (...) {
      return std::unexpected(corrupt(snapshot_.path, 0, k_no_exception));
    }
    if (!restored) return std::unexpected(corrupt(snapshot_.path, 0, "the machine does not know this snapshot"));
    snapshot->reset();
  }
  auto image = scan_log(disk_, dir_, snapshot_.position);
  if (!image) return std::unexpected(image.error());
  // Before anything is changed, so that the rest of a damaged log is kept.
  if (auto ok = check_decided(dir_, *hard, *image); !ok) return ok;
  auto store = LogStore::open(disk_, dir_, options_from(limits_, ids), std::move(*image));
  if (!store) return std::unexpected(store.error());
  store_ = std::move(*store);
  if (snapshot_.position == 0) replica_.use_limits(store_->ids());
  hard_ = hard->value_or(HardState{.term = 1});
  term_ = std::max({hard_.term, store_->last_term(), Term{1}});
  if (!*hard) {
    if (auto ok = save_hard_state(disk_, dir_, {term_, 0, 0}); !ok) return ok;
  }
  remove_old_snapshots(disk_, dir_, snapshot_.position);
  log_bytes_ = store_->bytes_after(snapshot_.position);
  check_disk();
  return replay();
}

StoreResult<void> EmbeddedCore::replay() {
  std::set<Position> skipped;
  for (const auto& skip : store_->skips()) skipped.insert(skip.skipped);
  replica_.set_skips(std::move(skipped));
  std::optional<ApplyFailure> failure;
  const auto ok = store_->read(replica_.position() + 1, [&](const EntryView& entry) {
    if (const auto applied = replica_.apply(entry); !applied) failure = applied.error();
    return !failure;
  });
  if (failure) return std::unexpected(StoreError{StoreError::Kind::stopped, dir_, 0, failure->describe()});
  return ok;
}

StoreResult<void> EmbeddedCore::log_write(std::span<const EntryView> entries) {
  const auto ok = store_->append(entries);
  if (!ok) {
    check_disk();
    if (ok.error().kind == StoreError::Kind::no_space) segment_refused(ok.error().describe());
    return ok;
  }
  if (admission_.segment_refused() && store_->segment_id() != refused_in_) segment_refused({});
  const std::uint64_t bytes = batch_bytes(entries, store_->batch_align());
  log_bytes_ += bytes;
  unchecked_bytes_ += bytes;
  if (unchecked_bytes_ >= k_check_disk_every_bytes) check_disk();
  return ok;
}

// Nothing is answered once a sync of the folder has failed, also before its result comes.
StoreResult<void> EmbeddedCore::log_sync() {
  if (auto ok = store_->sync(); !ok || !disk_.failed()) return ok;
  auto error = from_disk(*disk_.failure(), dir_);
  error.kind = StoreError::Kind::io;
  return std::unexpected(std::move(error));
}

void EmbeddedCore::check_disk() {
  unchecked_bytes_ = 0;
  const auto room = disk_.free_bytes(dir_);
  const bool low = room && *room < limits_.disk_low_water_bytes;
  if (low == admission_.disk_low()) return;
  admission_.set_disk_low(low);
  if (!low) store_->retry_spares();
  emit(low ? JournalEvent::Kind::disk_low : JournalEvent::Kind::disk_ok, replica_.position(),
       fmt::format("{} bytes left on the disk", room.value_or(0)));
}

// With an empty cause: there is room again. A disk that is low was told of already.
void EmbeddedCore::segment_refused(const std::string& cause) {
  const bool is_refused = !cause.empty();
  if (is_refused == admission_.segment_refused() || (is_refused && admission_.disk_low())) return;
  admission_.set_segment_refused(is_refused);
  refused_in_ = store_->segment_id();
  emit(is_refused ? JournalEvent::Kind::disk_low : JournalEvent::Kind::disk_ok, replica_.position(), cause);
}

void EmbeddedCore::idle() {
  if (stopped_) return;
  if (admission_.segment_refused()) {
    // A spare shows whether there is room; where none is wanted, the next append does.
    store_->retry_spares();
    if (!store_->wants_spare()) segment_refused({});
  }
  if (auto ok = store_->mark_idle(); !ok) stop(ok.error().describe());
  check_disk();
}

void EmbeddedCore::close() {
  run_queued();
  if (!stopped_) {
    idle();
    hard_ = {term_, hard_.voted_for, replica_.position()};
    if (!stopped_) {
      // The one of before is right as well, only that it vouches for less.
      auto ok = save_hard_state(disk_, dir_, hard_);
      if (!ok && ok.error().kind != StoreError::Kind::no_descriptors) stop(ok.error().describe());
    }
  }
  JournalCore::close();
}

bool EmbeddedCore::snapshot_due() const {
  if (snapshot_wanted_) return true;
  return log_bytes_ >= std::max({limits_.snapshot_bytes, 2 * snapshot_.bytes, retry_at_bytes_});
}

std::optional<AsideJob> EmbeddedCore::take_job() {
  if (stopped_) return std::nullopt;
  if (auto job = store_->take_spare_job()) return *job;
  if (const auto wanted = std::exchange(trim_wanted_, std::nullopt)) {
    if (auto job = store_->trim(std::min({*wanted, snapshot_.position, trim_limit_}))) return *job;
  }
  if (snapshot_under_way_ || !snapshot_due()) return std::nullopt;
  snapshot_wanted_ = false;
  if (replica_.position() == snapshot_.position && snapshot_.position > 0) {
    answer_snapshots(snapshot_, snapshot_.position);
    return std::nullopt;
  }
  snapshot_at_ = replica_.position();
  try {
    SnapshotJob job{dir_, replica_.freeze()};
    snapshot_under_way_ = true;
    snapshot_from_ = log_bytes_;
    return job;
  } catch (const std::exception& error) {
    snapshot_done(std::unexpected(StoreError{StoreError::Kind::machine, {}, 0, error.what()}));
  } catch (...) {
    snapshot_done(std::unexpected(StoreError{StoreError::Kind::machine, {}, 0, k_no_exception}));
  }
  return std::nullopt;
}

void EmbeddedCore::job_done(const AsideResult& result) {
  if (const auto* spare = std::get_if<StoreResult<Spare>>(&result)) {
    store_->spare_done(*spare);
    if (*spare) segment_refused({});
  }
  if (const auto* spares = std::get_if<StoreResult<std::vector<Spare>>>(&result)) store_->discard_done(*spares);
  if (const auto* snapshot = std::get_if<SnapshotWritten>(&result)) snapshot_done(snapshot->result);
  if (const auto* const error = error_of(result)) stop_after(*error);
  check_disk();
}

// A sync that failed beside the log may have been the one that was to make the log's own names safe. Want of room or of
// descriptors and a machine that can't write its state harm nothing.
void EmbeddedCore::stop_after(const StoreError& error) {
  if (error.is_harmless() || error.kind == StoreError::Kind::machine) return;
  stop(StoreError{StoreError::Kind::io, error.file, error.offset, error.what}.describe());
}

void EmbeddedCore::snapshot_done(const StoreResult<SnapshotInfo>& result) {
  snapshot_under_way_ = false;
  if (result) {
    snapshot_ = *result;
    log_bytes_ -= snapshot_from_;
    retry_at_bytes_ = 0;
    request_trim();
    emit(JournalEvent::Kind::snapshot_taken, snapshot_.position, fmt::format("{} bytes", snapshot_.bytes));
  } else {
    retry_at_bytes_ = log_bytes_ + limits_.snapshot_bytes / 4;
    emit(JournalEvent::Kind::snapshot_failed, replica_.position(), result.error().describe());
  }
  answer_snapshots(result, snapshot_at_);
  snapshot_wanted_ = snapshots_awaited();
}

}  // namespace skein::inline v0::journal
