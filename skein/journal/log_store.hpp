// The log of one folder: appends batches, syncs them, rolls over to prepared segments, reads them back.
//
// One thread; no clock. The folder's lock must be held to open it. Every step that touches the disk is a call of its
// own, so that the simulator can crash between any two.
//
// 1. At most one batch is written and not synced: append() syncs what came before it.
// 2. A failed write or sync poisons the store for good: every later call answers `stopped`. Running out of room while
//    a new segment is prepared does not, nor does want of descriptors at any point of it: nothing was written to the
//    log, and the next append goes on with the same segment.
// 3. What open() found past the durable mark was copied to a fresh segment and synced before anyone saw it.
// 4. All segments but the last are synced up to the first position of their successor.
// 5. Before anything is appended to a segment it is safe on the disk, name and all, and then the one before it says, as
//    safely, that it goes on there. So a last segment that is lost shows, after a crash as well.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "skein/journal/disk.hpp"
#include "skein/journal/log_scan.hpp"
#include "skein/journal/segment_file.hpp"
#include "skein/journal/store_error.hpp"

namespace skein::inline v0::journal {

struct StoreOptions {
  std::uint64_t segment_bytes = 64ULL << 20U;
  std::uint64_t first_segment_bytes = 1ULL << 20U;  // of a new or reopened log: made while the caller waits
  std::size_t spares_kept = 2;
  IdLimits ids;                                  // for a new folder
  std::uint32_t batch_align = k_align_default;   // for new segments; see is_batch_align()
  Position trim_limit = k_no_trim_limit;         // segments with entries after it are not removed at open
  std::uint32_t version = k_log_version_of_one;  // of new segments; one of an earlier version is not gone on with
};

class LogStore {
 public:
  // Opens or creates the log of `dir`, of which everything up to `snapshot` is in a snapshot.
  [[nodiscard]] static StoreResult<std::unique_ptr<LogStore>> open(Disk& disk, const std::string& dir,
                                                                   const StoreOptions& options, Position snapshot);
  // The same, when it was scanned already.
  [[nodiscard]] static StoreResult<std::unique_ptr<LogStore>> open(Disk& disk, const std::string& dir,
                                                                   const StoreOptions& options, LogImage image);

  // Writes one batch with one write. Positions are consecutive; the first is next_position(), or less to replace a
  // tail.
  [[nodiscard]] StoreResult<void> append(std::span<const EntryView> entries);
  // Makes everything appended durable.
  [[nodiscard]] StoreResult<void> sync();
  // Records, synced and away from the last batch, that all of it is durable. For when the log falls idle, and at close.
  [[nodiscard]] StoreResult<void> mark_idle();

  // Hands out the entries from `from` on, in order, until fn answers false. The views die with the call.
  [[nodiscard]] StoreResult<void> read(Position from, const std::function<bool(const EntryView&)>& fn) const;

  // The same for callers that keep the entries: whole batches (EntryView::ends_batch) up to `max_bytes`, at least one.
  // None when `from` is not in the log. The entries that were read together share their bytes.
  [[nodiscard]] StoreResult<std::vector<consensus::Entry>> read_batches(Position from, std::uint64_t max_bytes) const;

  // A snapshot, which is safe on the disk, has everything up to `position`: the log goes on after it in a new segment,
  // safe when this returns, and all that was there no longer counts. What is to be done with its files comes out of
  // trim().
  [[nodiscard]] StoreResult<void> restart_after(Position position, Term term);

  // What to prepare so that the next roll-over does not wait; nothing while enough is there or under way.
  [[nodiscard]] std::optional<SpareJob> take_spare_job();
  [[nodiscard]] bool wants_spare() const;
  // After a failure no spare is asked for until a roll-over, a trim or retry_spares(): it was most likely want of room.
  void spare_done(const StoreResult<Spare>& spare);
  void retry_spares() { spare_failed_ = false; }
  // Leaves out the segments with no entry after `covered`, which a snapshot has; the job gets rid of their files.
  [[nodiscard]] std::optional<DiscardJob> trim(Position covered);
  void discard_done(const StoreResult<std::vector<Spare>>& spares);

  // Of the first segment that still counts.
  [[nodiscard]] Position first_position() const { return segments_.front().header.first_position; }
  [[nodiscard]] Position next_position() const { return last_ + 1; }
  [[nodiscard]] Position last_position() const { return last_; }
  [[nodiscard]] Position durable_position() const { return durable_; }
  [[nodiscard]] Term last_term() const { return last_term_; }
  [[nodiscard]] IdLimits ids() const { return ids_; }
  // Of the segment that is written to.
  [[nodiscard]] std::uint32_t batch_align() const { return segments_.back().header.batch_align; }
  // Bytes of the batches that hold entries after `position`.
  [[nodiscard]] std::uint64_t bytes_after(Position position) const;
  // Bytes of a torn batch that open() left out.
  [[nodiscard]] std::uint64_t cut_bytes() const { return cut_bytes_; }
  // The skip entries that were in the log at open, but for those of a tail that was replaced, before or since.
  [[nodiscard]] const std::vector<Skip>& skips() const { return skips_; }
  [[nodiscard]] std::size_t segment_count() const { return segments_.size(); }
  // Of the segment that is written to; the next one has a higher id.
  [[nodiscard]] std::uint64_t segment_id() const { return segments_.back().header.id; }
  [[nodiscard]] const std::optional<StoreError>& failure() const { return failure_; }

 private:
  LogStore(Disk& disk, std::string dir, const StoreOptions& options);

  [[nodiscard]] StoreResult<void> start(LogImage image);
  [[nodiscard]] StoreResult<void> go_on_in_place();
  [[nodiscard]] StoreResult<void> copy_tail(std::uint64_t id);
  [[nodiscard]] StoreResult<void> roll_over(Position first, std::uint64_t batch_size);
  [[nodiscard]] StoreResult<void> name_next_segment(Position first, std::uint64_t batch_size);
  [[nodiscard]] StoreResult<std::string> file_for_segment(std::uint64_t& bytes);
  [[nodiscard]] StoreResult<void> make_marks_safe();
  [[nodiscard]] static Mark mark_with_next(const SegmentImage& from, std::uint64_t next);
  [[nodiscard]] StoreResult<void> link(SegmentImage& from, std::uint64_t next);
  [[nodiscard]] static DiskResult<void> write_mark(File& file, SegmentImage& segment, const Mark& mark);
  [[nodiscard]] StoreResult<void> collect_leftovers(const std::vector<ObsoleteSegment>& obsolete);
  std::unexpected<StoreError> poison(const DiskError& error, const std::string& path);
  [[nodiscard]] std::unexpected<StoreError> stopped() const;

  Disk& disk_;
  std::string dir_;
  StoreOptions options_;
  IdLimits ids_;
  std::vector<SegmentImage> segments_;     // the last one is written to
  std::vector<ObsoleteSegment> retained_;  // files of no use here, kept for the sake of the trim limit
  std::unique_ptr<File> file_;
  // A segment that has its header and its name, and is not gone on in: its folder could not be opened to be synced.
  struct Rolling {
    SegmentImage segment;
    std::unique_ptr<File> file;
  };
  std::optional<Rolling> rolling_;
  std::uint64_t highest_id_ = 0;
  Position last_ = 0;
  Position durable_ = 0;
  Term last_term_ = 0;
  bool dirty_ = false;
  std::string buffer_;
  std::vector<Spare> spares_;
  std::uint64_t next_spare_ = 1;
  bool spare_under_way_ = false;
  bool spare_failed_ = false;
  std::uint64_t cut_bytes_ = 0;
  std::vector<Skip> skips_;
  std::optional<StoreError> failure_;
};

}  // namespace skein::inline v0::journal
