#include "skein/journal/backup.hpp"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "skein/journal/segment_file.hpp"

namespace skein::inline v0::journal {
namespace {

constexpr int k_backup_tries = 10;
constexpr int k_reads_while_running = 10;
constexpr int k_passes_while_running = 100;

std::string parent_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Reads a segment that may be written to meanwhile: a read that passed by a place before a batch was written there, and
// came to the next place after, is done again. What is missing then as well is missing in the file.
StoreResult<void> read_segment(Disk& disk, const std::string& path, std::string& bytes) {
  std::optional<std::uint64_t> gap;
  for (int i = 0; i < k_reads_while_running; ++i) {
    if (auto ok = read_file(disk, path, bytes); !ok) return ok;
    const auto header = decode_header(bytes);
    if (!header) return {};
    const std::string_view all = bytes;
    std::uint64_t end = k_header_bytes;
    while (const auto batch = decode_batch(*header, end, all.substr(end))) end += batch->size;
    if (gap == end || !find_batch(*header, all, end + header->batch_align)) return {};
    gap = end;
  }
  return {};
}

StoreResult<void> copy_file(Disk& disk, const std::string& from, const std::string& to) {
  std::string bytes;
  const bool segment = parse_segment_name(from.substr(from.rfind('/') + 1)).has_value();
  if (auto ok = segment ? read_segment(disk, from, bytes) : read_file(disk, from, bytes); !ok) return ok;
  auto file = disk.open(to, Disk::Mode::create);
  if (!file) return disk_failed(file.error(), to);
  if (auto ok = (*file)->write_at(0, bytes); !ok) return disk_failed(ok.error(), to);
  if (auto ok = (*file)->sync(); !ok) return disk_failed(ok.error(), to);
  return {};
}

StoreResult<void> clear_folder(Disk& disk, const std::string& dir) {
  const auto names = disk.list(dir);
  if (!names) return {};
  for (const auto& name : *names) {
    if (auto ok = disk.remove(path_in(dir, name)); !ok) return disk_failed(ok.error(), dir);
  }
  return {};
}

// A segment that was begun meanwhile is copied too, and the one before it again: it may have been copied half full.
StoreResult<void> copy_segments(Disk& disk, const std::string& dir, const std::string& to) {
  std::set<std::string> copied;
  for (int pass = 0; pass < k_passes_while_running; ++pass) {
    const auto names = disk.list(dir);
    if (!names) return disk_failed(names.error(), dir);
    std::vector<std::string> wanted;
    for (const auto& name : *names) {
      if (parse_segment_name(name) && !copied.contains(name)) wanted.push_back(name);
    }
    if (wanted.empty()) return {};
    if (!copied.empty()) wanted.insert(wanted.begin(), *copied.rbegin());
    for (const auto& name : wanted) {
      if (auto ok = copy_file(disk, path_in(dir, name), path_in(to, name)); !ok) return ok;
      copied.insert(name);
    }
  }
  return std::unexpected(StoreError{StoreError::Kind::stopped, dir, 0,
                                    "segments are begun faster than they can be copied: try again, or stop the node"});
}

// The order matters while a node writes: what is decided is read before the log that must hold it, and a snapshot
// before the segments that must go on from it.
StoreResult<void> copy_once(Disk& disk, const std::string& dir, const std::string& to) {
  if (auto ok = clear_folder(disk, to); !ok) return ok;
  if (auto ok = disk.make_dir(to); !ok) return disk_failed(ok.error(), to);
  const auto names = disk.list(dir);
  if (!names) return disk_failed(names.error(), dir);
  std::vector<std::string> wanted;
  for (const auto& name : *names) {
    if (name == k_hard_state_name) wanted.push_back(name);
  }
  for (const auto& name : *names) {
    if (parse_snapshot_name(name)) wanted.push_back(name);
  }
  for (const auto& name : wanted) {
    if (auto ok = copy_file(disk, path_in(dir, name), path_in(to, name)); !ok) return ok;
  }
  if (auto ok = copy_segments(disk, dir, to); !ok) return ok;
  return sync_folder(disk, to);
}

void remove_folder(Disk& disk, const std::string& dir) {
  if (clear_folder(disk, dir)) try_remove(disk, dir);
}

StoreResult<JournalImage> copy_checked(Disk& disk, const std::string& dir, const std::string& to) {
  // While nobody writes, the lock keeps it so, and the first try tells the truth.
  const auto lock = disk.lock(dir);
  const bool running = !lock && lock.error().code == DiskError::Code::busy;
  StoreResult<JournalImage> image;
  for (int i = 0; i < (running ? k_backup_tries : 1); ++i) {
    const auto copied = copy_once(disk, dir, to);
    image = copied ? verify_journal(disk, to) : std::unexpected(copied.error());
    if (image) return image;
  }
  return image;
}

StoreResult<JournalImage> copy_journal(Disk& disk, const std::string& dir, std::string dest) {
  while (dest.size() > 1 && dest.back() == '/') dest.pop_back();
  if (!is_journal(disk, dir)) return std::unexpected(not_a_journal(dir));
  if (const auto there = disk.list(dest); there && !there->empty()) {
    return std::unexpected(
        StoreError{StoreError::Kind::stopped, dest, 0, fmt::format("{} exists already: name a new folder", dest)});
  }
  const std::string unfinished = dest + ".unfinished";
  auto image = copy_checked(disk, dir, unfinished);
  if (!image) {
    remove_folder(disk, unfinished);
    return image;
  }
  // Checking the copy has locked it, which left a file; a backup has none.
  try_remove(disk, unfinished + "/lock");
  if (auto ok = disk.rename(unfinished, dest); !ok) {
    remove_folder(disk, unfinished);
    return disk_failed(ok.error(), dest);
  }
  if (auto ok = sync_folder(disk, parent_of(dest)); !ok) return std::unexpected(ok.error());
  return image;
}

}  // namespace

StoreResult<JournalImage> back_up_journal(Disk& disk, const std::string& dir, const std::string& dest) {
  return copy_journal(disk, dir, dest);
}

}  // namespace skein::inline v0::journal
