#include "skein/journal/log_repair.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "skein/journal/log_tools.hpp"
#include "skein/journal/segment_file.hpp"
#include "skein/journal/snapshot_file.hpp"

namespace skein::inline v0::journal {
namespace {

// What batches are aligned at in a segment whose header can't be read: as the first of them is, if that is whole.
std::uint32_t guess_align(SegmentHeader header, std::string_view bytes) {
  for (const std::uint32_t align : {k_align_default, 2048U, 1024U, 512U, k_align_v1}) {
    header.batch_align = align;
    if (bytes.size() > k_header_bytes && decode_batch(header, k_header_bytes, bytes.substr(k_header_bytes)))
      return align;
  }
  return k_align_default;
}

// Everything in one segment that still passes its checksum, whatever lies in between.
class Salvage {
 public:
  Salvage(Disk& disk, const std::string& dir, RepairPlan& plan) : disk_(disk), dir_(dir), plan_(plan) {}

  StoreResult<void> take(const std::string& name, std::uint64_t id) {
    const std::string path = path_in(dir_, name);
    if (auto ok = read_file(disk_, path, bytes_); !ok) return ok;
    const auto header = decode_header(bytes_);
    if (!header && header.error() == HeaderFault::later_version) {
      return std::unexpected(StoreError{StoreError::Kind::version, path, 0, "a later format than this program's"});
    }
    SegmentImage segment;
    segment.path = path;
    segment.header.id = id;
    if (header) {
      segment.header = *header;
      plan_.ids = header->ids;
      if (bytes_.size() < header->nominal_bytes) note(path, bytes_.size(), "the segment is cut short");
    } else {
      note(path, 0, "the header is damaged");
      segment.header.batch_align = guess_align(segment.header, bytes_);
    }
    segment.mark = decode_marks(id, bytes_);
    if (segment.mark) {
      plan_.known_last = std::max(plan_.known_last, segment.mark->position);
      next_ = std::max(next_, segment.mark->next);
    }
    if (auto ok = take_batches(segment); !ok) return ok;
    segments_.push_back(std::move(segment));
    return {};
  }

  // That the last segment goes on in one that is gone.
  void check_next() {
    if (next_ < plan_.next_segment_id) return;
    note(path_in(dir_, segment_name(next_)), 0, "missing, although another segment goes on in it");
    plan_.next_segment_id = next_ + 1;
  }

  // Puts the batches into one chain without gaps, the way the scan would, and counts what can't be reached.
  void build_chain() {
    Position next = plan_.snapshot + 1;
    for (const auto& segment : segments_) {
      SegmentImage kept = segment;
      kept.batches.clear();
      plan_.kept.push_back(std::move(kept));
      for (const auto& batch : segment.batches) {
        const Position end = batch.first_position + batch.count;
        plan_.known_last = std::max(plan_.known_last, end - 1);
        if (end <= plan_.snapshot + 1) continue;
        if (batch.first_position > next) continue;
        for (auto& earlier : plan_.kept) earlier.forget_from(batch.first_position);
        plan_.kept.back().batches.push_back(batch);
        next = end;
      }
    }
    plan_.keep_last = next - 1;
    for (const auto& segment : segments_) {
      for (const auto& batch : segment.batches) count_dropped(batch);
    }
  }

 private:
  void note(const std::string& path, std::uint64_t offset, std::string_view what) {
    plan_.damage.push_back(fmt::format("{}: byte {}: {}", path, offset, what));
  }

  StoreResult<void> take_batches(SegmentImage& segment) {
    const std::string_view bytes = bytes_;
    std::uint64_t at = k_header_bytes;
    while (at < bytes.size()) {
      auto batch = decode_batch(segment.header, at, bytes.substr(at));
      if (!batch) {
        const auto later = find_batch(segment.header, bytes, at + segment.header.batch_align);
        if (!later) break;
        note(segment.path, at, fmt::format("damaged up to byte {}", *later));
        at = *later;
        continue;
      }
      const auto read = for_each_entry(*batch, [&](const EntryView& e) { plan_.term = std::max(plan_.term, e.term); });
      // Somebody was told that it is safe, and a later program can read it.
      if (read == EntriesRead::later_version) return std::unexpected(bad_entries(segment.path, at, read));
      if (read == EntriesRead::whole && batch->count > 0) {
        segment.batches.push_back({at, batch->first_position, batch->count, static_cast<std::uint32_t>(batch->size)});
      }
      at += batch->size;
    }
    segment.end_offset = at;
    if (segment.mark && segment.mark->end_offset > at) note(segment.path, at, "damaged, though it was synced");
    return {};
  }

  void count_dropped(const BatchRef& batch) {
    const Position first = std::max(batch.first_position, plan_.keep_last + 1);
    const Position end = batch.first_position + batch.count;
    if (first >= end) return;
    plan_.dropped += end - first;
    plan_.dropped_first = plan_.dropped_first == 0 ? first : std::min(plan_.dropped_first, first);
    plan_.dropped_last = std::max(plan_.dropped_last, end - 1);
  }

  Disk& disk_;
  const std::string& dir_;
  RepairPlan& plan_;
  std::string bytes_;
  std::vector<SegmentImage> segments_;
  std::uint64_t next_ = 0;
};

// The newest snapshot that is whole; those that are not are set aside.
StoreResult<void> choose_snapshot(Disk& disk, const std::string& dir, const std::vector<std::string>& names,
                                  RepairPlan& plan) {
  for (const auto& name : names) {
    const auto position = parse_snapshot_name(name);
    if (!position) continue;
    const auto loaded = load_snapshot(disk, path_in(dir, name));
    if (loaded && loaded->meta.position == *position) {
      plan.snapshot = std::max(plan.snapshot, *position);
      plan.ids = loaded->meta.ids;
      plan.term = std::max(plan.term, loaded->meta.term);
      continue;
    }
    if (!loaded && loaded.error().kind != StoreError::Kind::corrupt) return std::unexpected(loaded.error());
    plan.damage.push_back(fmt::format("{}/{}: the snapshot is damaged", dir, name));
    plan.set_aside.push_back(name);
    plan.known_last = std::max(plan.known_last, *position);
  }
  plan.known_last = std::max(plan.known_last, plan.snapshot);
  return {};
}

StoreResult<void> take_hard_state(Disk& disk, const std::string& dir, RepairPlan& plan) {
  const auto hard = load_hard_state(disk, dir);
  if (!hard && hard.error().kind == StoreError::Kind::version) return std::unexpected(hard.error());
  if (hard) {
    plan.hard = hard->value_or(HardState{.term = 1});
    plan.known_last = std::max(plan.known_last, plan.hard.commit);
    if (!*hard) plan.damage.push_back(fmt::format("{}/{}: missing", dir, k_hard_state_name));
  } else {
    plan.damage.push_back(fmt::format("{}/{}: term and vote can't be read", dir, k_hard_state_name));
    plan.set_aside.emplace_back(k_hard_state_name);
  }
  return {};
}

}  // namespace

std::string RepairPlan::describe() const {
  if (!needed) return "nothing to repair\n";
  std::string out;
  for (const auto& line : damage) out += fmt::format("damaged   {}\n", line);
  out += snapshot > 0 ? fmt::format("kept      the snapshot at position {}\n", snapshot) : "";
  out += keep_last > snapshot ? fmt::format("kept      positions {} to {}\n", snapshot + 1, keep_last) : "";
  if (known_last > keep_last) out += fmt::format("dropped   positions {} to {}\n", keep_last + 1, known_last);
  if (dropped > 0) {
    out += fmt::format("          of which {} entries, from {} to {}, are whole but lie behind the gap\n", dropped,
                       dropped_first, dropped_last);
  }
  if (known_last <= keep_last) out += "dropped   nothing that is known to have been there\n";
  return out;
}

StoreResult<RepairPlan> plan_repair(Disk& disk, const std::string& dir) {
  if (!is_journal(disk, dir)) return std::unexpected(not_a_journal(dir));
  RepairPlan plan;
  const auto whole = verify_journal(disk, dir);
  if (whole) return plan;
  if (whole.error().kind == StoreError::Kind::version) return std::unexpected(whole.error());
  plan.needed = true;
  const auto names = disk.list(dir);
  if (!names) return disk_failed(names.error(), dir);
  if (auto ok = choose_snapshot(disk, dir, *names, plan); !ok) return std::unexpected(ok.error());
  if (auto ok = take_hard_state(disk, dir, plan); !ok) return std::unexpected(ok.error());
  Salvage salvage(disk, dir, plan);
  for (const auto& name : *names) {
    const auto id = parse_segment_name(name);
    if (!id) continue;
    plan.next_segment_id = std::max(plan.next_segment_id, *id + 1);
    plan.set_aside.push_back(name);
    if (auto ok = salvage.take(name, *id); !ok) return std::unexpected(ok.error());
  }
  salvage.check_next();
  salvage.build_chain();
  if (plan.snapshot == 0 && plan.keep_last == 0 && plan.known_last > 0) {
    return std::unexpected(StoreError{
        StoreError::Kind::stopped, dir, 0,
        fmt::format("{}: neither a whole snapshot nor position 1 is left to build on: restore a backup", dir)});
  }
  if (plan.damage.empty()) plan.damage.push_back(fmt::format("{}: entries are missing", dir));
  return plan;
}

StoreResult<void> carry_out_repair(Disk& disk, const std::string& dir, const RepairPlan& plan) {
  if (!plan.needed) return {};
  std::vector<std::pair<const SegmentImage*, BatchRef>> todo;
  std::uint64_t bytes = 0;
  for (const auto& segment : plan.kept) {
    for (const auto& batch : segment.batches) {
      todo.emplace_back(&segment, batch);
      bytes += batch.size;
    }
  }
  const SegmentHeader header{plan.next_segment_id, plan.snapshot + 1, (k_header_bytes + bytes + 4095) / 4096 * 4096,
                             plan.term, plan.ids};
  std::string file;
  const SegmentImage* open = nullptr;
  std::vector<EntryView> entries;
  std::size_t next = 0;
  const auto more = [&]() -> StoreResult<std::span<const EntryView>> {
    entries.clear();
    while (entries.empty() && next < todo.size()) {
      const auto& [segment, ref] = todo[next++];
      if (segment != open) {
        if (auto ok = read_file(disk, segment->path, file); !ok) return std::unexpected(ok.error());
        open = segment;
      }
      const auto batch = decode_batch(segment->header, ref.offset, std::string_view(file).substr(ref.offset));
      if (!batch) return std::unexpected(corrupt(segment->path, ref.offset, "changed since the plan was made"));
      const auto read = for_each_entry(*batch, [&](const EntryView& entry) {
        if (entry.position > plan.snapshot && entry.position < ref.first_position + ref.count) entries.push_back(entry);
      });
      if (read != EntriesRead::whole) return std::unexpected(bad_entries(segment->path, ref.offset, read));
    }
    return std::span<const EntryView>(entries);
  };
  // A commit beyond what is kept would be taken for a missing segment.
  const HardState hard{std::max(plan.hard.term, plan.term), plan.hard.voted_for,
                       std::min(plan.hard.commit, plan.keep_last)};
  if (auto built = build_segment(disk, dir, header, more); !built) return std::unexpected(built.error());
  for (const auto& name : plan.set_aside) {
    const std::string path = path_in(dir, name);
    if (auto ok = disk.rename(path, path + ".damaged"); !ok) return disk_failed(ok.error(), path);
  }
  if (auto ok = save_hard_state(disk, dir, hard); !ok) return ok;
  if (auto whole = verify_journal(disk, dir); !whole) return std::unexpected(whole.error());
  return {};
}

}  // namespace skein::inline v0::journal
