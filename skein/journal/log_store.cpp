#include "skein/journal/log_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "skein/base/must_hold.hpp"
#include "skein/journal/hard_state.hpp"

namespace skein::inline v0::journal {
namespace {

constexpr std::uint64_t k_block_bytes = 4096;

std::uint64_t whole_blocks(std::uint64_t bytes) { return (bytes + k_block_bytes - 1) / k_block_bytes * k_block_bytes; }

bool is_unfinished(std::string_view name) {
  return name.ends_with(".tmp") &&
         (name.starts_with("spare-") || name.starts_with("seg-") || name.starts_with(k_hard_state_name));
}

}  // namespace

LogStore::LogStore(Disk& disk, std::string dir, const StoreOptions& options)
    : disk_(disk), dir_(std::move(dir)), options_(options), ids_(options.ids) {}

StoreResult<std::unique_ptr<LogStore>> LogStore::open(Disk& disk, const std::string& dir, const StoreOptions& options,
                                                      Position snapshot) {
  auto image = scan_log(disk, dir, snapshot);
  if (!image) return std::unexpected(image.error());
  return open(disk, dir, options, std::move(*image));
}

StoreResult<std::unique_ptr<LogStore>> LogStore::open(Disk& disk, const std::string& dir, const StoreOptions& options,
                                                      LogImage image) {
  std::unique_ptr<LogStore> store(new LogStore(disk, dir, options));
  if (auto ok = store->start(std::move(image)); !ok) return std::unexpected(ok.error());
  return store;
}

StoreResult<void> LogStore::start(LogImage image) {
  if (!is_batch_align(options_.batch_align)) {
    return std::unexpected(StoreError{StoreError::Kind::stopped, dir_, 0,
                                      fmt::format("sector_bytes is {}: give a power of two from {} to {}",
                                                  options_.batch_align, k_sector_bytes, k_header_bytes)});
  }
  // An earlier program may have died between giving a file its name and syncing the folder. What is built on now, and
  // what is removed because of it, must not outlive the name.
  if (auto ok = sync_folder(disk_, dir_); !ok) return ok;
  last_ = image.last;
  durable_ = image.durable;
  last_term_ = image.last_term;
  highest_id_ = image.highest_id;
  cut_bytes_ = image.cut_bytes;
  skips_ = std::move(image.skips);
  segments_ = std::move(image.segments);
  if (!segments_.empty()) ids_ = segments_.back().header.ids;
  const bool can_go_on = image.clean && segments_.back().header.version >= options_.version;
  if (auto ok = can_go_on ? go_on_in_place() : copy_tail(highest_id_ + 1); !ok) return ok;
  if (auto ok = make_marks_safe(); !ok) return ok;
  return collect_leftovers(image.obsolete);
}

// A mark that was found may be in the page cache only, as any write of a program that died: it is written again and
// synced, or made where a crash left it out.
StoreResult<void> LogStore::make_marks_safe() {
  auto& active = segments_.back();
  if (active.mark) {
    Mark mark = *active.mark;
    ++mark.sequence;
    if (auto ok = write_mark(*file_, active, mark); !ok) return disk_failed(ok.error(), active.path);
  }
  // One that the active segment replaces altogether is gone after the next start, so the one before it is told too.
  for (std::size_t i = segments_.size() - 1; i-- > 0;) {
    auto& before = segments_[i];
    if (auto ok = link(before, highest_id_); !ok) return ok;
    if (before.header.first_position < active.header.first_position) break;
  }
  return {};
}

DiskResult<void> LogStore::write_mark(File& file, SegmentImage& segment, const Mark& mark) {
  const auto sector = encode_mark(segment.header.id, mark);
  if (auto ok = file.write_at(mark_slot_offset(mark.sequence), sector); !ok) return ok;
  if (auto ok = file.sync(); !ok) return ok;
  segment.mark = mark;
  return {};
}

StoreResult<void> LogStore::go_on_in_place() {
  const auto& active = segments_.back();
  auto file = disk_.open(active.path, Disk::Mode::write);
  if (!file) return disk_failed(file.error(), active.path);
  file_ = std::move(*file);
  durable_ = last_;
  return {};
}

// Records in `from` that `next` goes on from there. Only when `next` is safe: else a crash in between would leave a log
// that misses a segment which never was.
Mark LogStore::mark_with_next(const SegmentImage& from, std::uint64_t next) {
  Mark mark = from.mark.value_or(Mark{0, k_header_bytes, from.header.first_position - 1});
  ++mark.sequence;
  mark.next = next;
  return mark;
}

StoreResult<void> LogStore::link(SegmentImage& from, std::uint64_t next) {
  auto file = disk_.open(from.path, Disk::Mode::write);
  if (!file) return disk_failed(file.error(), from.path);
  if (auto ok = write_mark(**file, from, mark_with_next(from, next)); !ok) return disk_failed(ok.error(), from.path);
  return {};
}

// Whether the tail is on the disk or only in the page cache of an earlier program nobody can tell; a copy that was
// synced is.
StoreResult<void> LogStore::copy_tail(std::uint64_t id) {
  SegmentHeader header{id, durable_ + 1, 0, last_term_, ids_, options_.batch_align, options_.version};
  header.nominal_bytes =
      whole_blocks(std::max<std::uint64_t>(options_.first_segment_bytes, k_header_bytes + 2 * bytes_after(durable_)));
  std::vector<std::pair<EntryView, std::string>> tail;
  auto ok = read(durable_ + 1, [&](const EntryView& entry) {
    tail.emplace_back(entry, std::string(entry.bytes));
    return true;
  });
  if (!ok) return ok;
  std::vector<EntryView> views;
  for (auto& [entry, bytes] : tail) {
    entry.bytes = bytes;
    views.push_back(entry);
  }
  bool handed_out = false;
  auto built = build_segment(disk_, dir_, header, [&]() -> StoreResult<std::span<const EntryView>> {
    if (std::exchange(handed_out, true)) return std::span<const EntryView>();
    return std::span<const EntryView>(views);
  });
  if (!built) return std::unexpected(built.error());
  for (auto& segment : segments_) segment.forget_from(header.first_position);
  segments_.push_back({built->header, built->path, std::move(built->batches), built->end_offset, built->mark});
  highest_id_ = id;
  return go_on_in_place();
}

// Unfinished files go, spares of a useful size are taken over, obsolete segments are removed. That removing fails is no
// reason not to start, the next open tries again; that the folder can't be synced is.
StoreResult<void> LogStore::collect_leftovers(const std::vector<ObsoleteSegment>& obsolete) {
  for (const auto& segment : obsolete) {
    if (segment.last > options_.trim_limit) {
      retained_.push_back(segment);
    } else {
      try_remove(disk_, segment.path);
    }
  }
  const auto names = disk_.list(dir_);
  if (!names) return disk_failed(names.error(), dir_);
  for (const auto& name : *names) {
    const std::string path = path_in(dir_, name);
    if (is_unfinished(name)) try_remove(disk_, path);
    const auto number = parse_numbered(name, "spare-", ".log");
    if (!number) continue;
    next_spare_ = std::max(next_spare_, *number + 1);
    auto file = disk_.open(path, Disk::Mode::read);
    const auto size = file ? (*file)->size() : DiskResult<std::uint64_t>(0U);
    if (size && *size >= options_.segment_bytes && spares_.size() < options_.spares_kept) {
      spares_.push_back({path, *size});
    } else {
      try_remove(disk_, path);
    }
  }
  return sync_folder(disk_, dir_);
}

StoreResult<void> LogStore::append(std::span<const EntryView> entries) {
  if (failure_) return stopped();
  if (entries.empty()) return {};
  if (auto ok = sync(); !ok) return ok;
  must_hold(!dirty_, "log_store.hpp 1: what was written before is synced");
  const Position first = entries.front().position;
  const auto& active = segments_.back();
  if (rolling_ || first < active.header.first_position ||
      active.end_offset + batch_bytes(entries, batch_align()) > active.header.nominal_bytes) {
    if (auto ok = roll_over(first, batch_bytes(entries, options_.batch_align)); !ok) return ok;
  }
  const std::uint64_t size = batch_bytes(entries, batch_align());
  if (first <= last_) {
    for (auto& segment : segments_) segment.forget_from(first);
    std::erase_if(skips_, [&](const Skip& skip) { return skip.at >= first; });
    durable_ = std::min(durable_, first - 1);
  }
  auto& segment = segments_.back();
  buffer_.clear();
  encode_batch(buffer_, segment.header, segment.end_offset, durable_, entries);
  dirty_ = true;
  if (auto ok = file_->write_at(segment.end_offset, buffer_); !ok) return poison(ok.error(), segment.path);
  segment.batches.push_back(
      {segment.end_offset, first, static_cast<std::uint32_t>(entries.size()), static_cast<std::uint32_t>(size)});
  segment.end_offset += size;
  last_ = entries.back().position;
  last_term_ = entries.back().term;
  return {};
}

StoreResult<void> LogStore::sync() {
  if (failure_) return stopped();
  if (!dirty_) return {};
  if (auto ok = file_->sync(); !ok) {
    return poison(ok.error(), segments_.back().path);
  }
  dirty_ = false;
  durable_ = last_;
  return {};
}

StoreResult<void> LogStore::mark_idle() {
  if (failure_) return stopped();
  if (auto ok = sync(); !ok) return ok;
  auto& active = segments_.back();
  if (active.mark && active.mark->end_offset == active.end_offset) return {};
  const Mark mark{active.mark ? active.mark->sequence + 1 : 1, active.end_offset, last_, 0};
  if (auto ok = write_mark(*file_, active, mark); !ok) return poison(ok.error(), active.path);
  dirty_ = false;
  durable_ = last_;
  return {};
}

// The file the next segment is made of: a spare when there is one of sufficient size, else one made here and now.
StoreResult<std::string> LogStore::file_for_segment(std::uint64_t& bytes) {
  const auto fits = std::ranges::find_if(spares_, [&](const Spare& spare) { return spare.bytes >= bytes; });
  if (fits != spares_.end()) {
    const Spare spare = std::move(*fits);
    spares_.erase(fits);
    bytes = spare.bytes;
    return spare.path;
  }
  bytes = whole_blocks(std::max(bytes, options_.segment_bytes));
  std::string path = path_in(dir_, segment_name(highest_id_ + 1)) + ".tmp";
  if (auto ok = write_zeros(disk_, path, bytes); !ok) {
    try_remove(disk_, path);
    return std::unexpected(ok.error());
  }
  return path;
}

// Makes the file of the next segment and gives it its name. Nobody goes on in it yet.
StoreResult<void> LogStore::name_next_segment(Position first, std::uint64_t batch_size) {
  std::uint64_t bytes = k_header_bytes + batch_size;
  auto from = file_for_segment(bytes);
  if (!from) {
    if (from.error().is_harmless()) return std::unexpected(from.error());
    return poison({DiskError::Code::io, from.error().what}, from.error().file);
  }
  SegmentImage next;
  next.header = {highest_id_ + 1, first, bytes, last_term_, ids_, options_.batch_align, options_.version};
  next.path = path_in(dir_, segment_name(next.header.id));
  auto file = disk_.open(*from, Disk::Mode::write);
  if (!file && file.error().code == DiskError::Code::no_descriptors) {
    // A spare is as good as before; what was made here has a name that the next attempt will want.
    if (from->ends_with(".tmp")) {
      try_remove(disk_, *from);
    } else {
      spares_.push_back({*from, bytes});
    }
    return disk_failed(file.error(), *from);
  }
  if (!file) return poison(file.error(), *from);
  if (auto ok = (*file)->write_at(0, encode_header(next.header)); !ok) return poison(ok.error(), *from);
  if (auto ok = (*file)->sync(); !ok) return poison(ok.error(), *from);
  if (auto ok = disk_.rename(*from, next.path); !ok) return poison(ok.error(), *from);
  rolling_ = Rolling{std::move(next), std::move(*file)};
  return {};
}

StoreResult<void> LogStore::roll_over(Position first, std::uint64_t batch_size) {
  if (!rolling_) {
    if (auto ok = name_next_segment(first, batch_size); !ok) return ok;
  }
  SegmentImage& next = rolling_->segment;
  if (auto ok = sync_folder(disk_, dir_); !ok) {
    if (ok.error().kind == StoreError::Kind::no_descriptors) return ok;
    return poison({DiskError::Code::io, ok.error().what}, dir_);
  }
  SegmentImage& before = segments_.back();
  if (auto ok = write_mark(*file_, before, mark_with_next(before, next.header.id)); !ok) {
    return poison(ok.error(), before.path);
  }
  // Under its new name, so that an error names a file that is there. It is the same file.
  auto named = disk_.open(next.path, Disk::Mode::write);
  if (!named && named.error().code != DiskError::Code::no_descriptors) return poison(named.error(), next.path);
  file_ = named ? std::move(*named) : std::move(rolling_->file);
  highest_id_ = next.header.id;
  segments_.push_back(std::move(next));
  rolling_.reset();
  spare_failed_ = false;
  return {};
}

StoreResult<void> LogStore::read(Position from, const std::function<bool(const EntryView&)>& fn) const {
  return read_entries(disk_, segments_, from, fn);
}

StoreResult<std::vector<consensus::Entry>> LogStore::read_batches(Position from, std::uint64_t max_bytes) const {
  std::vector<consensus::Entry> entries;
  std::uint64_t bytes = 0;
  std::size_t whole = 0;  // entries up to the end of the last batch that fits
  const auto take = [&](const EntryView& entry, const std::shared_ptr<const std::string>& owner) {
    // The log does not begin at `from`.
    if (entries.empty() && entry.position != from) return false;
    bytes += consensus::weight_of(entry);
    if (bytes > max_bytes && whole > 0) return false;
    entries.push_back({entry, owner});
    if (entry.ends_batch) whole = entries.size();
    return true;
  };
  if (auto ok = read_owned_entries(disk_, segments_, from, take); !ok) return std::unexpected(ok.error());
  if (whole > 0) entries.resize(whole);
  return entries;
}

StoreResult<void> LogStore::restart_after(Position position, Term term) {
  if (auto ok = sync(); !ok) return ok;
  last_term_ = term;
  if (auto ok = roll_over(position + 1, 0); !ok) return ok;
  for (std::size_t i = 0; i + 1 < segments_.size(); ++i) retained_.push_back({segments_[i].path, position});
  segments_.erase(segments_.begin(), segments_.end() - 1);
  last_ = durable_ = position;
  skips_.clear();
  return {};
}

bool LogStore::wants_spare() const {
  if (failure_ || spares_.size() >= options_.spares_kept) return false;
  // A log that hardly grows needs no spare yet, and the disk's room may be wanted elsewhere.
  const auto& active = segments_.back();
  return segments_.size() > 1 || active.end_offset >= active.header.nominal_bytes / 4;
}

std::optional<SpareJob> LogStore::take_spare_job() {
  if (spare_under_way_ || spare_failed_ || !wants_spare()) return std::nullopt;
  spare_under_way_ = true;
  return SpareJob{dir_, next_spare_++, options_.segment_bytes};
}

void LogStore::spare_done(const StoreResult<Spare>& spare) {
  spare_under_way_ = false;
  spare_failed_ = !spare;
  if (spare) spares_.push_back(*spare);
}

std::optional<DiscardJob> LogStore::trim(Position covered) {
  DiscardJob job;
  job.dir = dir_;
  for (const auto& segment : retained_) {
    if (segment.last <= covered) job.segments.push_back({segment.path, 0});
  }
  std::erase_if(retained_, [&](const ObsoleteSegment& segment) { return segment.last <= covered; });
  while (segments_.size() > 1 && segments_[1].header.first_position <= covered + 1) {
    job.segments.push_back({segments_.front().path, segments_.front().header.nominal_bytes});
    segments_.erase(segments_.begin());
  }
  if (job.segments.empty()) return std::nullopt;
  std::ranges::partition(job.segments, [&](const Spare& s) { return s.bytes >= options_.segment_bytes; });
  const auto useful = static_cast<std::size_t>(
      std::ranges::count_if(job.segments, [&](const Spare& s) { return s.bytes >= options_.segment_bytes; }));
  const std::size_t held = spares_.size() + (spare_under_way_ ? 1U : 0U);
  job.recycle = std::min(useful, options_.spares_kept > held ? options_.spares_kept - held : 0U);
  job.number = next_spare_;
  next_spare_ += job.recycle;
  return job;
}

void LogStore::discard_done(const StoreResult<std::vector<Spare>>& spares) {
  spare_failed_ = false;
  if (spares) spares_.insert(spares_.end(), spares->begin(), spares->end());
}

std::uint64_t LogStore::bytes_after(Position position) const {
  std::uint64_t bytes = 0;
  for (const auto& segment : segments_) {
    for (const auto& batch : segment.batches) {
      if (batch.first_position + batch.count > position + 1) bytes += batch.size;
    }
  }
  return bytes;
}

std::unexpected<StoreError> LogStore::poison(const DiskError& error, const std::string& path) {
  failure_ = from_disk(error, path);
  failure_->kind = StoreError::Kind::io;
  return std::unexpected(*failure_);
}

std::unexpected<StoreError> LogStore::stopped() const {
  return std::unexpected(
      StoreError{StoreError::Kind::stopped, failure_->file, 0,
                 fmt::format("the journal was stopped by an earlier failure: {}", failure_->describe())});
}

}  // namespace skein::inline v0::journal
