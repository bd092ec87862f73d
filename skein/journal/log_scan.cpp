#include "skein/journal/log_scan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace skein::inline v0::journal {
namespace {

struct Found {
  std::uint64_t id = 0;
  std::string path;
  std::expected<SegmentHeader, HeaderFault> header = std::unexpected(HeaderFault::damaged);
};

StoreResult<std::vector<Found>> find_segments(Disk& disk, const std::string& dir) {
  std::vector<Found> found;
  const auto names = disk.list(dir);
  if (!names) return disk_failed(names.error(), dir);
  for (const auto& name : *names) {
    const auto id = parse_segment_name(name);
    if (!id) continue;
    Found segment{*id, path_in(dir, name)};
    auto file = disk.open(segment.path, Disk::Mode::read);
    if (!file) return disk_failed(file.error(), segment.path);
    std::array<char, k_header_bytes> block{};
    const auto got = (*file)->read_at(0, block);
    if (!got) return disk_failed(got.error(), segment.path);
    segment.header = decode_header({block.data(), *got});
    if (segment.header && segment.header->id != *id) segment.header = std::unexpected(HeaderFault::damaged);
    found.push_back(std::move(segment));
  }
  return found;  // names are sorted, and so are fixed-width ids
}

// Where the next segment after the i-th starts whose header can be read.
Position next_first(const std::vector<Found>& found, std::size_t i) {
  const auto next = std::ranges::find_if(found.begin() + static_cast<std::ptrdiff_t>(i) + 1, found.end(),
                                         [](const Found& f) { return f.header.has_value(); });
  return next->header->first_position;
}

// Moves to `obsolete` what the tail of the list makes superfluous.
void drop_obsolete(std::vector<Found>& found, Position snapshot, LogImage& image) {
  std::size_t keep_from = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i].header && found[i].header->first_position <= snapshot + 1) keep_from = i;
  }
  std::vector<Found> kept;
  for (std::size_t i = 0; i < found.size(); ++i) {
    bool replaced = false;
    for (std::size_t j = i + 1; j < found.size() && !replaced && found[i].header; ++j) {
      replaced = found[j].header && found[j].header->first_position <= found[i].header->first_position;
    }
    if (i < keep_from) {
      image.obsolete.push_back({found[i].path, next_first(found, i) - 1});
    } else if (replaced) {
      image.obsolete.push_back({found[i].path, 0});
    } else {
      kept.push_back(std::move(found[i]));
    }
  }
  found = std::move(kept);
}

class SegmentScan {
 public:
  SegmentScan(SegmentImage& image, std::string_view bytes, LogImage& log)
      : image_(image), bytes_(bytes), log_(log), next_(image.header.first_position) {}

  // Takes in batches until one does not pass.
  StoreResult<void> take_batches() {
    image_.mark = decode_marks(image_.header.id, bytes_);
    while (true) {
      const auto batch = decode_batch(image_.header, image_.end_offset, bytes_.substr(image_.end_offset));
      if (!batch) return {};
      if (auto ok = take(*batch); !ok) return ok;
    }
  }

  // The tail rule, for the last segment.
  StoreResult<void> judge_tail() {
    const auto& path = image_.path;
    const std::uint64_t end = image_.end_offset;
    if (image_.mark && image_.mark->end_offset > end) {
      return std::unexpected(corrupt(path, end,
                                     fmt::format("synced up to byte {} (position {}), but whole only up to position {}",
                                                 image_.mark->end_offset, image_.mark->position, next_ - 1)));
    }
    const auto later = find_batch(image_.header, bytes_, end + image_.header.batch_align);
    if (later) {
      return std::unexpected(
          corrupt(path, end, fmt::format("a batch is damaged although a later one, at byte {}, is whole", *later)));
    }
    log_.clean = image_.mark && image_.mark->end_offset == end;
    const auto last_used = bytes_.find_last_not_of('\0');
    if (last_used != std::string_view::npos && last_used >= end && looks_like_batch(bytes_.substr(end))) {
      log_.cut_bytes = last_used + 1 - end;
    }
    return {};
  }

 private:
  StoreResult<void> take(const BatchView& batch) {
    if (batch.first_position > next_ || batch.first_position < image_.header.first_position || batch.count == 0 ||
        batch.count > ~Position{0} - batch.first_position) {
      return std::unexpected(corrupt(image_.path, image_.end_offset,
                                     fmt::format("a batch of {} entries from position {} where position {} should be",
                                                 batch.count, batch.first_position, next_)));
    }
    if (batch.first_position < next_) {
      image_.forget_from(batch.first_position);
      log_.forget_from(batch.first_position);
      log_.durable = std::min(log_.durable, batch.first_position - 1);
    }
    bool terms_grow = true;
    const auto read = for_each_entry(batch, [&](const EntryView& entry) {
      terms_grow = terms_grow && entry.term >= log_.last_term;
      if (entry.term != log_.last_term) log_.terms.push_back({entry.position, entry.term});
      log_.last_term = entry.term;
      if (entry.kind != EntryKind::command) note(entry);
    });
    if (read != EntriesRead::whole) return std::unexpected(bad_entries(image_.path, image_.end_offset, read));
    if (!terms_grow) return std::unexpected(corrupt(image_.path, image_.end_offset, "a term goes back"));
    image_.batches.push_back(
        {image_.end_offset, batch.first_position, batch.count, static_cast<std::uint32_t>(batch.size)});
    image_.end_offset += batch.size;
    next_ = batch.first_position + batch.count;
    const bool vouched = image_.mark && image_.end_offset <= image_.mark->end_offset;
    log_.durable = vouched ? next_ - 1 : std::min(std::max(log_.durable, batch.mark), next_ - 1);
    return {};
  }

  void note(const EntryView& entry) {
    if (entry.kind == EntryKind::membership) log_.memberships.push_back({entry.position, std::string(entry.bytes)});
    if (entry.kind == EntryKind::config && log_.config_at == 0) log_.config_at = entry.position;
    if (entry.kind != EntryKind::skip) return;
    if (const auto position = decode_skip(entry.bytes)) log_.skips.push_back({entry.position, *position});
  }

  SegmentImage& image_;
  std::string_view bytes_;
  LogImage& log_;
  Position next_;
};

StoreResult<SegmentImage> scan_segment(Found& found, const std::string& bytes, bool last, LogImage& log) {
  if (!found.header) {
    if (found.header.error() == HeaderFault::later_version) {
      return std::unexpected(
          StoreError{StoreError::Kind::version, found.path, 0, "the segment has a later format than this program"});
    }
    return std::unexpected(corrupt(found.path, 0, "the header of the segment is damaged"));
  }
  SegmentImage image;
  image.header = *found.header;
  image.path = found.path;
  if (bytes.size() < image.header.nominal_bytes) {
    return std::unexpected(
        corrupt(found.path, bytes.size(),
                fmt::format("the segment ends here, but was made {} bytes long", image.header.nominal_bytes)));
  }
  // A segment is only begun when everything before its first position is synced; what it replaces no longer counts.
  log.durable = image.header.first_position - 1;
  log.forget_from(image.header.first_position);
  SegmentScan scan(image, bytes, log);
  if (auto ok = scan.take_batches(); !ok) return std::unexpected(ok.error());
  if (last) {
    if (auto ok = scan.judge_tail(); !ok) return std::unexpected(ok.error());
  }
  return image;
}

}  // namespace

Position SegmentImage::last_position() const {
  if (batches.empty()) return header.first_position - 1;
  return batches.back().first_position + batches.back().count - 1;
}

void SegmentImage::forget_from(Position position) {
  while (!batches.empty() && batches.back().first_position >= position) batches.pop_back();
  if (batches.empty()) return;
  auto& batch = batches.back();
  if (batch.first_position + batch.count > position) {
    batch.count = static_cast<std::uint32_t>(position - batch.first_position);
  }
}

void LogImage::forget_from(Position position) {
  while (!terms.empty() && terms.back().first >= position) terms.pop_back();
  last_term = terms.empty() ? 0 : terms.back().term;
  while (!skips.empty() && skips.back().at >= position) skips.pop_back();
  while (!memberships.empty() && memberships.back().at >= position) memberships.pop_back();
  if (config_at >= position) config_at = 0;
}

bool LogImage::is_skipped(Position position) const {
  return std::ranges::find(skips, position, &Skip::skipped) != skips.end();
}

StoreResult<void> read_file(Disk& disk, const std::string& path, std::string& buffer) {
  auto file = disk.open(path, Disk::Mode::read);
  if (!file) return disk_failed(file.error(), path);
  const auto size = (*file)->size();
  if (!size) return disk_failed(size.error(), path);
  buffer.resize(*size);
  const auto got = (*file)->read_at(0, buffer);
  if (!got) return disk_failed(got.error(), path);
  buffer.resize(*got);
  return {};
}

namespace {

constexpr std::uint64_t k_read_bytes = 1U << 20U;  // read at once; one batch may be larger

// Hands out the entries from `from` on of the batches in `bytes`, which begin at the first of them. False when fn has
// had enough.
StoreResult<bool> hand_out(const SegmentImage& segment, std::span<const BatchRef> batches, std::string_view bytes,
                           Position from, const std::function<bool(const EntryView&)>& fn) {
  for (const auto& ref : batches) {
    const std::uint64_t at = ref.offset - batches.front().offset;
    const auto batch = decode_batch(segment.header, ref.offset, at < bytes.size() ? bytes.substr(at) : "");
    if (!batch) return std::unexpected(corrupt(segment.path, ref.offset, "a batch can no longer be read"));
    bool go_on = true;
    const auto read = for_each_entry(*batch, [&](const EntryView& entry) {
      const bool counts = entry.position >= from && entry.position < ref.first_position + ref.count;
      if (counts && go_on) go_on = fn(entry);
    });
    if (read != EntriesRead::whole) return std::unexpected(bad_entries(segment.path, ref.offset, read));
    if (!go_on) return false;
  }
  return true;
}

// The first of them, and those after it that are read with it.
std::span<const BatchRef> read_together(std::span<const BatchRef> batches) {
  std::size_t count = 1;
  const auto end = [&](std::size_t i) { return batches[i].offset + batches[i].size; };
  while (count < batches.size() && end(count) - batches.front().offset <= k_read_bytes) ++count;
  return batches.first(count);
}

}  // namespace

StoreResult<void> read_owned_entries(Disk& disk, std::span<const SegmentImage> segments, Position from,
                                     const OwnedEntryFn& fn) {
  auto bytes = std::make_shared<std::string>();
  for (const auto& segment : segments) {
    if (segment.batches.empty() || segment.last_position() < from) continue;
    auto file = disk.open(segment.path, Disk::Mode::read);
    if (!file) return disk_failed(file.error(), segment.path);
    const auto first = std::ranges::partition_point(
        segment.batches, [&](const BatchRef& ref) { return ref.first_position + ref.count <= from; });
    std::span<const BatchRef> left(first, segment.batches.end());
    while (!left.empty()) {
      const auto together = read_together(left);
      left = left.subspan(together.size());
      // Entries of the last round may be kept by somebody.
      if (bytes.use_count() > 1) bytes = std::make_shared<std::string>();
      bytes->resize(together.back().offset + together.back().size - together.front().offset);
      const auto got = (*file)->read_at(together.front().offset, *bytes);
      if (!got) return disk_failed(got.error(), segment.path);
      const auto goes_on = hand_out(segment, together, std::string_view(*bytes).substr(0, *got), from,
                                    [&](const EntryView& entry) { return fn(entry, bytes); });
      if (!goes_on) return std::unexpected(goes_on.error());
      if (!*goes_on) return {};
    }
  }
  return {};
}

StoreResult<void> read_entries(Disk& disk, std::span<const SegmentImage> segments, Position from,
                               const std::function<bool(const EntryView&)>& fn) {
  return read_owned_entries(
      disk, segments, from,
      [&](const EntryView& entry, const std::shared_ptr<const std::string>&) { return fn(entry); });
}

std::optional<std::uint64_t> find_batch(const SegmentHeader& segment, std::string_view bytes, std::uint64_t offset) {
  for (; offset + k_batch_head_bytes <= bytes.size(); offset += segment.batch_align) {
    const auto rest = bytes.substr(offset);
    if (looks_like_batch(rest) && decode_batch(segment, offset, rest)) return offset;
  }
  return std::nullopt;
}

StoreError bad_entries(const std::string& path, std::uint64_t offset, EntriesRead read) {
  if (read == EntriesRead::later_version) {
    return {StoreError::Kind::version, path, offset,
            "a batch holds an entry of a kind that this program does not know"};
  }
  return corrupt(path, offset, "the entries of a batch do not add up");
}

StoreResult<LogImage> scan_log(Disk& disk, const std::string& dir, Position snapshot) {
  LogImage log;
  log.durable = snapshot;
  log.last = snapshot;
  auto found = find_segments(disk, dir);
  if (!found) return std::unexpected(found.error());
  if (!found->empty()) log.highest_id = found->back().id;
  drop_obsolete(*found, snapshot, log);
  if (found->empty()) {
    if (snapshot == 0) return log;
    return std::unexpected(corrupt(dir, 0, fmt::format("no segment goes on from the snapshot at {}", snapshot)));
  }
  std::string bytes;
  for (std::size_t i = 0; i < found->size(); ++i) {
    const bool last = i + 1 == found->size();
    if (auto ok = read_file(disk, (*found)[i].path, bytes); !ok) return std::unexpected(ok.error());
    auto image = scan_segment((*found)[i], bytes, last, log);
    if (!image) return std::unexpected(image.error());
    const Position first = image->header.first_position;
    const Position reached = log.segments.empty() ? snapshot : log.segments.back().last_position();
    if (first > reached + 1 && log.segments.empty()) {
      return std::unexpected(missing(
          dir,
          fmt::format("positions {} to {} are missing: the snapshot that holds them (snap-*.snap) is not there, nor "
                      "a segment that does",
                      reached + 1, first - 1)));
    }
    if (first > reached + 1) {
      const auto& where = log.segments.back();
      return std::unexpected(corrupt(
          where.path, where.end_offset,
          fmt::format("whole only up to position {}, though it goes on at {} in another file", reached, first)));
    }
    for (auto& earlier : log.segments) earlier.forget_from(first);
    const std::uint64_t next = image->mark ? image->mark->next : 0;
    if (next > log.highest_id) {
      return std::unexpected(
          corrupt(path_in(dir, segment_name(next)), 0, fmt::format("missing, although {} goes on in it", image->path)));
    }
    log.segments.push_back(std::move(*image));
  }
  log.last = log.segments.back().last_position();
  if (log.last < snapshot) {
    const auto& where = log.segments.back();
    return std::unexpected(
        corrupt(where.path, where.end_offset,
                fmt::format("the log ends at position {}, before its snapshot at {}", log.last, snapshot)));
  }
  log.durable = std::max(log.durable, std::min(snapshot, log.last));
  return log;
}

}  // namespace skein::inline v0::journal
