#include "skein/journal/hard_state.hpp"

#include <fmt/format.h>

#include <string_view>

#include "skein/base/bytes.hpp"
#include "skein/base/crc32c.hpp"
#include "skein/journal/segment_file.hpp"

namespace skein::inline v0::journal {
namespace {

constexpr std::string_view k_magic = "SKEINHST";
constexpr std::uint32_t k_version = 1;

StoreResult<void> write_file(Disk& disk, const std::string& path, std::string_view bytes) {
  auto file = disk.open(path, Disk::Mode::create);
  if (!file) return disk_failed(file.error(), path);
  if (auto ok = (*file)->write_at(0, bytes); !ok) return disk_failed(ok.error(), path);
  if (auto ok = (*file)->sync(); !ok) return disk_failed(ok.error(), path);
  return {};
}

}  // namespace

StoreResult<std::optional<HardState>> load_hard_state(Disk& disk, const std::string& dir) {
  const std::string path = path_in(dir, k_hard_state_name);
  if (auto probe = disk.open(path, Disk::Mode::read); !probe) {
    if (probe.error().code == DiskError::Code::not_found) return std::nullopt;
    return disk_failed(probe.error(), path);
  }
  std::string bytes;
  if (auto ok = read_file(disk, path, bytes); !ok) return std::unexpected(ok.error());
  ByteReader r(bytes);
  const auto magic = r.raw(k_magic.size());
  const std::uint32_t version = r.u32();
  HardState state;
  state.term = r.u64();
  state.voted_for = r.u64();
  state.commit = r.u64();
  const std::size_t covered = bytes.size() - r.left();
  const std::uint32_t crc = r.u32();
  if (!r.done() || magic != k_magic || crc != crc32c(std::string_view(bytes).substr(0, covered))) {
    return std::unexpected(corrupt(path, 0, "term and vote can't be read"));
  }
  if (version > k_version) {
    return std::unexpected(StoreError{StoreError::Kind::version, path, 0, "a later format than this program's"});
  }
  return state;
}

StoreResult<void> check_decided(const std::string& dir, const std::optional<HardState>& hard, const LogImage& log) {
  if (!hard && log.last > 0) {
    return std::unexpected(
        corrupt(path_in(dir, k_hard_state_name), 0, fmt::format("missing, although the log goes to {}", log.last)));
  }
  if (hard && log.empty()) return std::unexpected(corrupt(dir, 0, "every segment is missing"));
  if (hard && hard->commit > log.last) {
    return std::unexpected(corrupt(
        dir, 0,
        fmt::format("position {} was decided, but the log ends at {}: a segment is missing", hard->commit, log.last)));
  }
  return {};
}

StoreResult<void> save_hard_state(Disk& disk, const std::string& dir, const HardState& state) {
  std::string bytes;
  ByteWriter w(bytes);
  w.raw(k_magic);
  w.u32(k_version);
  w.u64(state.term);
  w.u64(state.voted_for);
  w.u64(state.commit);
  w.u32(crc32c(bytes));
  const std::string path = path_in(dir, k_hard_state_name);
  const std::string unfinished = path + ".tmp";
  if (auto ok = write_file(disk, unfinished, bytes); !ok) {
    try_remove(disk, unfinished);
    return ok;
  }
  if (auto ok = disk.rename(unfinished, path); !ok) return disk_failed(ok.error(), path);
  return sync_folder(disk, dir);
}

}  // namespace skein::inline v0::journal
