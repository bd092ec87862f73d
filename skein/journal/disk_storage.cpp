#include "skein/journal/disk_storage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "skein/journal/aside_job.hpp"

namespace skein::inline v0::journal {
namespace {

StoreOptions options_from(const JournalLimits& limits, IdLimits ids) {
  StoreOptions options;
  options.segment_bytes = limits.segment_bytes;
  options.first_segment_bytes = limits.first_segment_bytes;
  options.spares_kept = limits.spares_kept;
  options.ids = ids;
  options.batch_align = limits.sector_bytes;
  options.trim_limit = limits.trim_limit;
  options.version = k_log_version;
  return options;
}

// Snapshots that came in and were not installed: their senders send them again.
void remove_incoming(Disk& disk, const std::string& dir) {
  const auto names = disk.list(dir);
  if (!names) return;
  for (const auto& name : *names) {
    if (name.starts_with(k_incoming_prefix)) try_remove(disk, path_in(dir, name));
  }
}

}  // namespace

StoreResult<std::unique_ptr<DiskStorage>> DiskStorage::open(Disk& disk, const std::string& dir,
                                                            const JournalLimits& limits, consensus::MemberId new_self,
                                                            const RestoreFn& restore) {
  if (auto ok = disk.make_dir(dir); !ok) return disk_failed(ok.error(), dir);
  auto lock = disk.lock(dir);
  if (!lock) return disk_failed(lock.error(), dir);
  std::unique_ptr<DiskStorage> storage(new DiskStorage(disk, dir));
  storage->lock_ = std::move(*lock);
  if (auto ok = storage->recover(limits, new_self, restore); !ok) return std::unexpected(ok.error());
  return storage;
}

StoreResult<void> DiskStorage::recover(const JournalLimits& limits, consensus::MemberId new_self,
                                       const RestoreFn& restore) {
  const auto found = load_member_state(disk_, dir_);
  if (!found) return std::unexpected(found.error());
  MemberState state = found->value_or(MemberState{});
  if (state.installing) {
    if (auto ok = finish_install(state, limits.ids, limits); !ok) return ok;
  }
  auto snapshot = newest_snapshot(disk_, dir_);
  if (!snapshot) return std::unexpected(snapshot.error());
  IdLimits ids = limits.ids;
  if (*snapshot) {
    start_.snapshot = (*snapshot)->meta;
    start_.snapshot_bytes = (*snapshot)->file.size();
    ids = start_.snapshot.ids;
    if (auto ok = restore(**snapshot); !ok) return ok;
    snapshot->reset();
  }
  auto image = scan_log(disk_, dir_, start_.snapshot.position);
  if (!image) return std::unexpected(image.error());
  // Before anything is changed, so that the rest of a damaged log is kept.
  const auto hard = *found ? std::optional(state.hard) : std::nullopt;
  if (auto ok = check_decided(dir_, hard, *image); !ok) return ok;
  if (auto ok = take_in(*image); !ok) return ok;
  auto store = LogStore::open(disk_, dir_, options_from(limits, ids), std::move(*image));
  if (!store) return std::unexpected(store.error());
  store_ = std::move(*store);
  start_.ids = start_.snapshot.position > 0 ? ids : store_->ids();
  if (auto ok = identify(state, !*found, new_self); !ok) return ok;
  start_.state = state;
  remove_old_snapshots(disk_, dir_, start_.snapshot.position);
  remove_incoming(disk_, dir_);
  return {};
}

// A hard state of version 1, or a repaired one, has no member id. The only member of a group keeps its id. One of
// several may have forgotten its vote, so it gets a new id.
StoreResult<void> DiskStorage::identify(MemberState& state, bool is_new, consensus::MemberId new_self) {
  if (!is_new && state.self != 0) return {};
  auto membership = consensus::Membership::decode(start_.snapshot.membership);
  if (!start_.memberships.empty()) membership = start_.memberships.back().second;
  const bool was_alone = membership && membership->size() == 1 && !membership->voters().empty();
  state.self = was_alone ? membership->voters().front() : new_self;
  state.hard.term = std::max(state.hard.term, store_->last_term());
  return save_member_state(disk_, dir_, state);
}

StoreResult<void> DiskStorage::take_in(LogImage& image) {
  const Position base = start_.snapshot.position;
  consensus::TermMap terms(base, start_.snapshot.term);
  for (std::size_t i = 0; i < image.terms.size(); ++i) {
    const Position end = i + 1 < image.terms.size() ? image.terms[i + 1].first - 1 : image.last;
    if (end > terms.last()) terms.append_run(end, image.terms[i].term);
  }
  start_.terms = std::move(terms);
  for (const auto& each : image.memberships) {
    if (each.at <= base) continue;
    auto membership = consensus::Membership::decode(each.bytes);
    if (!membership) {
      return std::unexpected(
          corrupt(dir_, StoreError::k_nowhere, fmt::format("the membership at position {} can't be read", each.at)));
    }
    start_.memberships.emplace_back(each.at, std::move(*membership));
  }
  start_.skips = image.skips;
  start_.has_config = image.config_at != 0 || start_.snapshot.cluster != 0;
  return {};
}

// A program ended between the record and its end. Without the file nothing was changed yet.
StoreResult<void> DiskStorage::finish_install(MemberState& state, IdLimits ids, const JournalLimits& limits) {
  const Installing what = *state.installing;
  const std::string path = path_in(dir_, snapshot_name(what.position));
  const std::string incoming = path_in(dir_, incoming_name(what.position));
  const auto came_in = journal::load_snapshot(disk_, incoming);
  const auto installed = journal::load_snapshot(disk_, path);
  if (!installed && came_in && came_in->meta.position == what.position) {
    if (auto ok = disk_.rename(incoming, path); !ok) return disk_failed(ok.error(), path);
    if (auto ok = sync_folder(disk_, dir_); !ok) return ok;
  }
  const auto snapshot = journal::load_snapshot(disk_, path);
  if (snapshot) {
    ids = snapshot->meta.ids;
    const auto names = disk_.list(dir_);
    if (!names) return disk_failed(names.error(), dir_);
    std::uint64_t highest = 0;
    bool goes_on = false;
    for (const auto& name : *names) {
      const auto id = parse_segment_name(name);
      if (!id) continue;
      highest = std::max(highest, *id);
      std::string head;
      if (auto ok = read_file(disk_, path_in(dir_, name), head); !ok) return ok;
      const auto header = decode_header(std::string_view(head).substr(0, k_header_bytes));
      goes_on = header && header->first_position == what.position + 1 && *id == highest;
    }
    if (!goes_on) {
      SegmentHeader header{highest + 1,         what.position + 1, limits.first_segment_bytes, what.term, ids,
                           limits.sector_bytes, k_log_version};
      const auto none = []() -> StoreResult<std::span<const EntryView>> { return std::span<const EntryView>(); };
      if (auto built = build_segment(disk_, dir_, header, none); !built) return std::unexpected(built.error());
      if (auto ok = sync_folder(disk_, dir_); !ok) return ok;
    }
    state.hard.commit = what.position;
  }
  state.installing.reset();
  return save_member_state(disk_, dir_, state);
}

StoreResult<void> DiskStorage::save(const MemberState& state) { return save_member_state(disk_, dir_, state); }

StoreResult<void> DiskStorage::append(std::span<const EntryView> entries) {
  if (auto ok = store_->append(entries); !ok) return ok;
  appended_bytes_ += batch_bytes(entries, store_->batch_align());
  return {};
}

// Nothing is answered once a sync of the folder has failed, also before its result comes.
StoreResult<void> DiskStorage::sync() {
  if (auto ok = store_->sync(); !ok || !disk_.failed()) return ok;
  auto error = from_disk(*disk_.failure(), dir_);
  error.kind = StoreError::Kind::io;
  return std::unexpected(std::move(error));
}

StoreResult<std::vector<consensus::Entry>> DiskStorage::read_batches(Position from, std::uint64_t max_bytes) {
  return store_->read_batches(from, max_bytes);
}

StoreResult<void> DiskStorage::install(const consensus::SnapshotOffer& offer, const MemberState& state) {
  if (auto ok = store_->sync(); !ok) return ok;
  MemberState begun = state;
  begun.hard.commit = std::min(state.hard.commit, store_->last_position());
  begun.installing = Installing{offer.position, offer.term};
  if (auto ok = save_member_state(disk_, dir_, begun); !ok) return ok;
  const std::string path = path_in(dir_, snapshot_name(offer.position));
  const std::string incoming = path_in(dir_, incoming_name(offer.position));
  auto ok = disk_.rename(incoming, path);
  if (!ok && ok.error().code != DiskError::Code::not_found) return disk_failed(ok.error(), path);
  if (auto synced = sync_folder(disk_, dir_); !synced) return synced;
  if (auto restarted = store_->restart_after(offer.position, offer.term); !restarted) return restarted;
  if (auto saved = save_member_state(disk_, dir_, state); !saved) return saved;
  installed_ = SnapshotInfo{offer.position, offer.total_bytes, path};
  return {};
}

Position DiskStorage::trim(Position up_to) {
  auto job = store_->trim(up_to);
  if (job && discard_) {
    discard_->segments.insert(discard_->segments.end(), job->segments.begin(), job->segments.end());
  } else if (job) {
    discard_ = std::move(job);
  }
  return store_->first_position() - 1;
}

StoreResult<void> DiskStorage::mark_idle() { return store_->mark_idle(); }

}  // namespace skein::inline v0::journal
