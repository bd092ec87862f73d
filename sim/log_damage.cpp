#include "sim/log_damage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "skein/journal/hard_state.hpp"
#include "skein/journal/log_format.hpp"
#include "skein/journal/log_scan.hpp"
#include "skein/journal/snapshot_file.hpp"

namespace skein::sim {

using journal::BatchRef;
using journal::LogImage;
using journal::SegmentImage;

namespace {

// A stretch of a file and what damage to it must lead to.
struct Stretch {
  std::string path;
  std::uint64_t from = 0;
  std::uint64_t bytes = 0;
  Expect expect = Expect::complete;
};

class Survey {
 public:
  Survey(SimDisk& disk, std::string dir, bool closed) : disk_(disk), dir_(std::move(dir)), closed_(closed) {}

  bool look() {
    const auto snapshot = journal::newest_snapshot(disk_, dir_);
    if (!snapshot) return false;
    if (*snapshot) snapshot_ = (*snapshot)->meta.position;
    auto image = journal::scan_log(disk_, dir_, snapshot_.value_or(0));
    if (!image || image->empty()) return false;
    image_ = std::move(*image);
    return true;
  }

  std::vector<Stretch> stretches() const {
    std::vector<Stretch> all;
    for (const auto& path : disk_.paths()) {
      const auto* segment = counted(path);
      const std::uint64_t size = disk_.bytes_of(path).size();
      if (segment != nullptr) {
        add_segment(*segment, size, all);
      } else if (obsolete(path)) {
        all.push_back({path, 0, journal::k_sector_bytes, Expect::reported_or_complete});
        all.push_back({path, journal::k_sector_bytes, size - journal::k_sector_bytes, Expect::complete});
      } else {
        all.push_back({path, 0, size, expect_of(path)});
      }
    }
    std::erase_if(all, [](const Stretch& s) { return s.bytes == 0; });
    return all;
  }

  journal::Position last_batch() const {
    const auto& batches = image_.segments.back().batches;
    return batches.empty() ? image_.last + 1 : batches.back().first_position;
  }

  // What rots as one piece.
  std::uint64_t piece_of(const std::string& path, std::uint64_t offset) const {
    const auto* segment = counted(path);
    if (segment == nullptr || offset < journal::k_header_bytes) return SimDisk::k_sector_bytes;
    return std::max<std::uint64_t>(SimDisk::k_sector_bytes, segment->header.batch_align);
  }

  // What cutting it short must lead to.
  Expect cut_short(const std::string& path) const {
    if (counted(path) != nullptr) return Expect::reported;
    if (obsolete(path)) return Expect::reported_or_complete;
    return expect_of(path);
  }

  // Another file may still hold what is lost: a tail that was copied, a log that reaches back before its snapshot.
  Expect lost(const std::string& path) const {
    if (!closed_ && counted(path) == &image_.segments.back()) return Expect::reported_or_unseen_lost;
    const bool others_may_hold_it = counted(path) != nullptr || path == newest_snapshot_path();
    const bool nothing_to_lose = image_.last == 0;
    return others_may_hold_it || nothing_to_lose ? Expect::reported_or_complete : expect_of(path);
  }

 private:
  const SegmentImage* counted(const std::string& path) const {
    const auto at = std::ranges::find(image_.segments, path, &SegmentImage::path);
    return at == image_.segments.end() ? nullptr : &*at;
  }

  bool obsolete(const std::string& path) const {
    return std::ranges::count(image_.obsolete, path, &journal::ObsoleteSegment::path) > 0;
  }

  std::string newest_snapshot_path() const {
    return snapshot_ ? dir_ + "/" + journal::snapshot_name(*snapshot_) : std::string();
  }

  Expect expect_of(const std::string& path) const {
    const bool carries = path == newest_snapshot_path() || path == dir_ + "/" + journal::k_hard_state_name;
    return carries ? Expect::reported : Expect::complete;
  }

  void add_segment(const SegmentImage& segment, std::uint64_t size, std::vector<Stretch>& all) const {
    using journal::k_header_bytes;
    using journal::k_sector_bytes;
    all.push_back({segment.path, 0, k_sector_bytes, Expect::reported});
    for (std::uint64_t slot = 0; slot < 2; ++slot) {
      const bool newest = segment.mark && segment.mark->sequence % 2 == slot;
      all.push_back({segment.path, journal::mark_slot_offset(slot), k_sector_bytes,
                     newest ? Expect::reported_or_complete : Expect::complete});
    }
    all.push_back({segment.path, 3 * k_sector_bytes, k_header_bytes - 3 * k_sector_bytes, Expect::complete});
    const bool last = &segment == &image_.segments.back();
    for (const BatchRef& batch : segment.batches) {
      const bool vouched = segment.mark && segment.mark->end_offset >= batch.offset + batch.size;
      const bool in_doubt = !closed_ && !vouched && last && &batch == &segment.batches.back();
      all.push_back(
          {segment.path, batch.offset, batch.size, in_doubt ? Expect::reported_or_last_batch_cut : Expect::reported});
    }
    if (last && segment.end_offset < size) {
      all.push_back({segment.path, segment.end_offset, size - segment.end_offset, Expect::complete});
    }
  }

  SimDisk& disk_;
  std::string dir_;
  bool closed_;
  std::optional<journal::Position> snapshot_;
  LogImage image_;
};

bool overlaps(const Stretch& stretch, const std::string& path, std::uint64_t offset, std::uint64_t piece) {
  const std::uint64_t from = offset / piece * piece;
  return stretch.path == path && stretch.from < from + piece && from < stretch.from + stretch.bytes;
}

// A piece may reach into a neighbouring stretch; what is asked of the damage is then what is asked of the stricter.
Expect rot(SimDisk& disk, const std::vector<Stretch>& all, const Stretch& at, std::uint64_t offset, std::uint64_t piece,
           bool unreadable) {
  Expect expect = at.expect;
  for (const Stretch& other : all) {
    if (overlaps(other, at.path, offset, piece)) expect = std::min(expect, other.expect);
  }
  if (!unreadable) {
    disk.rot(at.path, offset, piece);
    return expect;
  }
  disk.make_unreadable(at.path, offset);
  // A file that can't be read may be needed for all that is known before it is read.
  return expect == Expect::complete ? Expect::reported_or_complete : expect;
}

std::string short_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

std::optional<Damage> damage_something(SimDisk& disk, const std::string& dir, bool closed, Random& random) {
  Survey survey(disk, dir, closed);
  if (!survey.look()) return std::nullopt;
  const auto all = survey.stretches();
  if (all.empty()) return std::nullopt;
  const Stretch& at = all[random.below(all.size())];
  const std::string name = short_name(at.path);
  const std::uint64_t offset = at.from + random.below(at.bytes);
  const auto last_batch = survey.last_batch();
  const std::uint64_t kind = random.below(10);
  if (kind < 4) {
    const auto bit = static_cast<unsigned>(random.below(8));
    disk.flip_bit(at.path, offset, bit);
    return Damage{fmt::format("bit {} of byte {} of {} flipped", bit, offset, name), "bit flip", at.expect, last_batch};
  }
  if (kind < 8) {
    const bool unreadable = kind == 7;
    const Expect expect = rot(disk, all, at, offset, survey.piece_of(at.path, offset), unreadable);
    return Damage{fmt::format("the sector at byte {} of {} {}", offset, name, unreadable ? "unreadable" : "rotten"),
                  unreadable ? "unreadable sector" : "rotten sector", expect, last_batch};
  }
  if (kind == 8) {
    const Expect expect = survey.cut_short(at.path);
    const std::uint64_t bytes = random.below(disk.bytes_of(at.path).size());
    disk.cut_short(at.path, bytes);
    return Damage{fmt::format("{} cut to {} bytes", name, bytes), "short file", expect, last_batch};
  }
  const Expect expect = survey.lost(at.path);
  disk.lose_file(at.path);
  return Damage{name + " lost", "lost file", expect, last_batch};
}

}  // namespace skein::sim
