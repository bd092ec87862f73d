#include "skein/journal/hard_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "skein/base/bytes.hpp"
#include "skein/base/crc32c.hpp"
#include "skein/journal/segment_file.hpp"

namespace skein::inline v0::journal {
namespace {

constexpr std::string_view k_magic = "SKEINHST";
constexpr std::uint32_t k_version = 2;

StoreResult<void> write_file(Disk& disk, const std::string& path, std::string_view bytes) {
  auto file = disk.open(path, Disk::Mode::create);
  if (!file) return disk_failed(file.error(), path);
  if (auto ok = (*file)->write_at(0, bytes); !ok) return disk_failed(ok.error(), path);
  if (auto ok = (*file)->sync(); !ok) return disk_failed(ok.error(), path);
  return {};
}

StoreError unreadable(const std::string& path) { return corrupt(path, 0, "term and vote can't be read"); }

}  // namespace

StoreResult<std::optional<MemberState>> load_member_state(Disk& disk, const std::string& dir) {
  const std::string path = path_in(dir, k_hard_state_name);
  if (auto probe = disk.open(path, Disk::Mode::read); !probe) {
    if (probe.error().code == DiskError::Code::not_found) return std::nullopt;
    return disk_failed(probe.error(), path);
  }
  std::string bytes;
  if (auto ok = read_file(disk, path, bytes); !ok) return std::unexpected(ok.error());
  // The checksum stands at the end in every version, so damage is not taken for a later format.
  const std::string_view covered =
      std::string_view(bytes).substr(0, bytes.size() - std::min<std::size_t>(4, bytes.size()));
  ByteReader end(std::string_view(bytes).substr(covered.size()));
  if (!covered.starts_with(k_magic) || end.u32() != crc32c(covered)) return std::unexpected(unreadable(path));
  ByteReader r(covered.substr(k_magic.size()));
  const std::uint32_t version = r.u32();
  if (version > k_version) {
    return std::unexpected(StoreError{StoreError::Kind::version, path, 0, "a later format than this program's"});
  }
  MemberState state;
  state.hard.term = r.u64();
  state.hard.voted_for = r.u64();
  state.hard.commit = r.u64();
  if (version >= 2) {
    state.self = r.u64();
    const Position position = r.u64();
    const Term term = r.u64();
    if (position > 0) state.installing = Installing{position, term};
  }
  if (!r.done()) return std::unexpected(unreadable(path));
  return state;
}

StoreResult<std::optional<HardState>> load_hard_state(Disk& disk, const std::string& dir) {
  const auto state = load_member_state(disk, dir);
  if (!state) return std::unexpected(state.error());
  if (!*state) return std::nullopt;
  return (*state)->hard;
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
  return save_member_state(disk, dir, {.hard = state});
}

StoreResult<void> save_member_state(Disk& disk, const std::string& dir, const MemberState& state) {
  std::string bytes;
  ByteWriter w(bytes);
  w.raw(k_magic);
  w.u32(state.self == 0 ? 1 : k_version);
  w.u64(state.hard.term);
  w.u64(state.hard.voted_for);
  w.u64(state.hard.commit);
  if (state.self != 0) {
    const Installing installing = state.installing.value_or(Installing{});
    w.u64(state.self);
    w.u64(installing.position);
    w.u64(installing.term);
  }
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
