#include "skein/journal/snapshot_file.hpp"

#include <exception>
#include <stdexcept>
#include <utility>

#include "skein/base/bytes.hpp"
#include "skein/base/sha256.hpp"
#include "skein/journal/log_format.hpp"
#include "skein/journal/log_scan.hpp"
#include "skein/journal/segment_file.hpp"

namespace skein::inline v0::journal {
namespace {

constexpr std::string_view k_magic = "SKEINSNP";
constexpr std::uint32_t k_version = 2;
constexpr std::size_t k_write_bytes = 1U << 18U;
constexpr std::size_t k_trailer_bytes = 8 + 32;  // length of the body, SHA-256

// Writes what it is given to a file in large pieces, hashing it. After a failure it swallows the rest.
class FileSink final : public SnapshotSink {
 public:
  explicit FileSink(File& file) : file_(file) {}

  void write(std::string_view bytes) override {
    hash_.update(bytes);
    buffer_.append(bytes);
    if (buffer_.size() >= k_write_bytes) flush();
  }
  void flush() {
    on_disk_ = true;
    if (ok_ && !buffer_.empty()) ok_ = file_.write_at(written_, buffer_);
    on_disk_ = false;
    written_ += buffer_.size();
    buffer_.clear();
  }
  [[nodiscard]] Digest digest() const { return hash_.digest(); }
  [[nodiscard]] std::uint64_t bytes() const { return written_ + buffer_.size(); }
  [[nodiscard]] const DiskResult<void>& result() const { return ok_; }
  // True while the disk is being called: tells an exception of the disk from one of the machine.
  [[nodiscard]] bool on_disk() const { return on_disk_; }

 private:
  File& file_;
  Sha256 hash_;
  std::string buffer_;
  std::uint64_t written_ = 0;
  DiskResult<void> ok_;
  bool on_disk_ = false;
};

void write_body(const FrozenState& state, FileSink& sink) {
  try {
    state.body->write(sink);
  } catch (const std::exception&) {
    throw;
  } catch (...) {
    if (sink.on_disk()) throw;
    throw std::runtime_error(k_no_exception);
  }
}

std::string encode_head(const SnapshotMeta& meta) {
  std::string head;
  ByteWriter w(head);
  w.raw(k_magic);
  w.u32(meta.cluster == 0 ? 1 : k_version);
  w.u32(0);
  w.u64(meta.position);
  w.u64(meta.term);
  w.u64(meta.ids.ids_kept);
  w.u64(meta.ids.id_result_bytes);
  w.blob(meta.membership);
  if (meta.cluster != 0) w.u64(meta.cluster);
  return head;
}

DiskResult<std::uint64_t> write_file(File& file, const FrozenState& state) {
  FileSink sink(file);
  sink.write(encode_head(state.meta));
  const std::uint64_t body_from = sink.bytes();
  write_body(state, sink);
  std::string length;
  ByteWriter(length).u64(sink.bytes() - body_from);
  sink.write(length);
  const Digest digest = sink.digest();
  sink.write({reinterpret_cast<const char*>(digest.data()), digest.size()});
  sink.flush();
  if (!sink.result()) return std::unexpected(sink.result().error());
  if (auto ok = file.sync(); !ok) return std::unexpected(ok.error());
  return sink.bytes();
}

}  // namespace

std::string snapshot_name(Position position) { return numbered_name("snap-", position, ".snap"); }

std::optional<Position> parse_snapshot_name(std::string_view name) { return parse_numbered(name, "snap-", ".snap"); }

StoreResult<SnapshotInfo> write_snapshot(Disk& disk, const std::string& dir, const FrozenState& state) {
  SnapshotInfo info{state.meta.position, 0, path_in(dir, snapshot_name(state.meta.position))};
  const std::string unfinished = info.path + ".tmp";
  auto file = disk.open(unfinished, Disk::Mode::create);
  if (!file) return disk_failed(file.error(), unfinished);
  const auto bytes = write_file(**file, state);
  if (!bytes) {
    try_remove(disk, unfinished);
    return disk_failed(bytes.error(), unfinished);
  }
  info.bytes = *bytes;
  if (auto ok = disk.rename(unfinished, info.path); !ok) {
    try_remove(disk, unfinished);
    return disk_failed(ok.error(), info.path);
  }
  if (auto ok = sync_folder(disk, dir); !ok) return std::unexpected(ok.error());
  return info;
}

StoreResult<LoadedSnapshot> load_snapshot(Disk& disk, const std::string& path) {
  LoadedSnapshot loaded;
  if (auto ok = read_file(disk, path, loaded.file); !ok) return std::unexpected(ok.error());
  const std::string_view all = loaded.file;
  if (all.size() < k_trailer_bytes || !all.starts_with(k_magic)) {
    return std::unexpected(corrupt(path, 0, "this is no snapshot"));
  }
  const Digest digest = sha256(all.substr(0, all.size() - 32));
  if (all.substr(all.size() - 32) != std::string_view(reinterpret_cast<const char*>(digest.data()), digest.size())) {
    return std::unexpected(corrupt(path, 0, "the snapshot's checksum does not match its contents"));
  }
  ByteReader r(all.substr(k_magic.size(), all.size() - k_magic.size() - k_trailer_bytes));
  const std::uint32_t version = r.u32();
  if (version > k_version) {
    return std::unexpected(
        StoreError{StoreError::Kind::version, path, 0, "the snapshot has a later format than this program"});
  }
  r.u32();
  loaded.meta.position = r.u64();
  loaded.meta.term = r.u64();
  loaded.meta.ids.ids_kept = r.u64();
  loaded.meta.ids.id_result_bytes = r.u64();
  loaded.meta.membership = r.blob();
  if (version >= 2) loaded.meta.cluster = r.u64();
  loaded.body_bytes = r.left();
  loaded.body_at = all.size() - k_trailer_bytes - loaded.body_bytes;
  ByteReader trailer(all.substr(all.size() - k_trailer_bytes));
  if (!r.ok() || trailer.u64() != loaded.body_bytes) {
    return std::unexpected(corrupt(path, 0, "the snapshot's parts do not add up"));
  }
  return loaded;
}

StoreResult<std::optional<LoadedSnapshot>> newest_snapshot(Disk& disk, const std::string& dir) {
  const auto names = disk.list(dir);
  if (!names) return disk_failed(names.error(), dir);
  std::optional<Position> newest;
  for (const auto& name : *names) {
    const auto position = parse_snapshot_name(name);
    if (position && (!newest || *position > *newest)) newest = position;
  }
  if (!newest) return std::nullopt;
  const std::string path = path_in(dir, snapshot_name(*newest));
  auto loaded = load_snapshot(disk, path);
  if (!loaded) return std::unexpected(loaded.error());
  if (loaded->meta.position != *newest) {
    return std::unexpected(corrupt(path, 0, "the snapshot's name and contents disagree about its position"));
  }
  return std::move(*loaded);
}

void remove_old_snapshots(Disk& disk, const std::string& dir, Position keep) {
  const auto names = disk.list(dir);
  if (!names) return;
  for (const auto& name : *names) {
    const auto position = parse_snapshot_name(name);
    const bool unfinished = name.starts_with("snap-") && name.ends_with(".tmp");
    if (unfinished || (position && *position < keep)) try_remove(disk, path_in(dir, name));
  }
}

}  // namespace skein::inline v0::journal
