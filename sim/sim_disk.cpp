#include "sim/sim_disk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace skein::sim {

using journal::DiskError;
using journal::DiskResult;

namespace {

constexpr std::uint64_t k_sync_us = 100;
constexpr std::uint64_t k_slow_sync_us = 50'000;
constexpr double k_write_back_chance = 0.1;

std::string dir_of(const std::string& path) { return path.substr(0, path.rfind('/')); }
std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// seg, spare, snap or hard-state; with .tmp while it is unfinished.
std::string kind_of(const std::string& path) {
  const std::string name = name_of(path);
  std::string kind = name.starts_with("hard-state") ? "hard-state" : name.substr(0, name.find('-'));
  if (name.ends_with(".tmp")) kind += ".tmp";
  return kind;
}

// Counts as long as it lives, also when the power goes.
class UnderWay {
 public:
  explicit UnderWay(std::uint64_t& count) : count_(count) { ++count_; }
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;
  ~UnderWay() { --count_; }

 private:
  std::uint64_t& count_;
};

std::unexpected<DiskError> not_found(const char* what, const std::string& path) {
  return std::unexpected(DiskError{DiskError::Code::not_found, fmt::format("{} {}: no such file", what, path)});
}

}  // namespace

class SimDisk::OpenFile final : public journal::File {
 public:
  OpenFile(SimDisk& disk, std::shared_ptr<Inode> inode) : disk_(disk), inode_(std::move(inode)) {}

  DiskResult<std::size_t> read_at(std::uint64_t offset, std::span<char> into) override {
    const auto rotten = inode_->unreadable.lower_bound(offset / k_sector_bytes);
    if (rotten != inode_->unreadable.end() && *rotten * k_sector_bytes < offset + into.size()) {
      return std::unexpected(DiskError{DiskError::Code::io, fmt::format("read {}: unreadable sector", inode_->path)});
    }
    if (offset >= inode_->cached.size()) return 0U;
    return inode_->cached.copy(into.data(), into.size(), offset);
  }
  DiskResult<void> write_at(std::uint64_t offset, std::string_view bytes) override {
    return disk_.write(*inode_, offset, bytes);
  }
  DiskResult<void> sync() override { return disk_.sync(*inode_); }
  DiskResult<void> truncate(std::uint64_t bytes) override {
    if (auto error = disk_.at_point("truncate", inode_->path, "truncate " + name_of(inode_->path))) {
      return std::unexpected(*error);
    }
    inode_->cached.resize(bytes, '\0');
    return {};
  }
  DiskResult<std::uint64_t> size() override { return inode_->cached.size(); }

 private:
  SimDisk& disk_;
  std::shared_ptr<Inode> inode_;
};

class SimDisk::HeldLock final : public journal::FolderLock {
 public:
  explicit HeldLock(std::shared_ptr<int> token) : token_(std::move(token)) {}

 private:
  std::shared_ptr<int> token_;
};

void SimDisk::fail_at(std::uint64_t point, DiskError::Code code) {
  fail_at_ = point;
  fail_with_ = code;
}

void SimDisk::fail_inner_folder_sync_at(std::uint64_t sync, DiskError::Code code) {
  fail_inner_folder_sync_at_ = sync;
  fail_with_ = code;
}

bool SimDisk::reach_point(const char* operation, const std::string& path, const std::string& what,
                          std::optional<DiskError>& error) {
  ++points_;
  if (on_point) on_point(what);
  const bool cut = cut_at_ == 1;
  if (cut) ++tally_[fmt::format("stopped at {} {}", operation, kind_of(path))];
  if (!cut && fail_at_ == 1) {
    const bool full = fail_with_ == DiskError::Code::no_space;
    ++tally_[fmt::format("{} of {} {}", full ? "ENOSPC" : "EIO", operation, kind_of(path))];
    error = DiskError{fail_with_, what + ": made to fail"};
  }
  if (cut_at_ > 0) --cut_at_;
  if (fail_at_ > 0) --fail_at_;
  return cut;
}

std::optional<DiskError> SimDisk::at_point(const char* operation, const std::string& path, const std::string& what) {
  std::optional<DiskError> error;
  if (reach_point(operation, path, what, error)) throw PowerCut{};
  return error;
}

std::optional<DiskError> SimDisk::without_descriptor(const std::string& path) {
  if (scarcity_ == 0 || !luck_.chance(scarcity_)) return std::nullopt;
  ++tally_[fmt::format("EMFILE of open {}", kind_of(path))];
  if (on_point) on_point("no descriptor for " + name_of(path));
  return DiskError{DiskError::Code::no_descriptors, "open " + name_of(path) + ": Too many open files"};
}

void SimDisk::take_time_to_sync(double slow_chance) {
  if (!random_.chance(slow_chance)) {
    clock_us_ += k_sync_us;
    return;
  }
  clock_us_ += k_slow_sync_us;
  ++tally_["slow sync"];
  if (meanwhile) meanwhile();
}

void SimDisk::put(Inode& inode, std::uint64_t offset, std::string_view bytes) {
  if (bytes.empty()) return;
  if (inode.cached.size() < offset + bytes.size()) inode.cached.resize(offset + bytes.size(), '\0');
  std::ranges::copy(bytes, inode.cached.begin() + static_cast<std::ptrdiff_t>(offset));
  const std::uint64_t last = (offset + bytes.size() - 1) / k_sector_bytes;
  for (std::uint64_t sector = offset / k_sector_bytes; sector <= last; ++sector) inode.dirty.insert(sector);
}

DiskResult<void> SimDisk::write(Inode& inode, std::uint64_t offset, std::string_view bytes) {
  const std::string path = inode.path;
  std::optional<DiskError> error;
  const bool cut =
      reach_point("write", path, fmt::format("write {} bytes at {} of {}", bytes.size(), offset, name_of(path)), error);
  const std::uint64_t grows =
      offset + bytes.size() > inode.cached.size() ? offset + bytes.size() - inode.cached.size() : 0;
  if (!cut && !error && grows > 0 && capacity_ != k_unlimited && used() + grows > capacity_) {
    error = DiskError{DiskError::Code::no_space, fmt::format("write {}: no space left", path)};
    ++tally_["ENOSPC since the disk was full"];
  }
  if (cut || error) bytes = bytes.substr(0, random_.below(bytes.size() + 1));
  put(inode, offset, bytes);
  if (cut) throw PowerCut{};
  if (!inode.dirty.empty() && random_.chance(k_write_back_chance)) {
    settle(inode, *std::next(inode.dirty.begin(), static_cast<std::ptrdiff_t>(random_.below(inode.dirty.size()))));
    ++tally_["sector written back before its sync"];
  }
  if (error) return std::unexpected(*error);
  return {};
}

// One sector of the cache reaches the platter.
void SimDisk::settle(Inode& inode, std::uint64_t sector) {
  const std::uint64_t from = sector * k_sector_bytes;
  inode.dirty.erase(sector);
  if (from >= inode.cached.size()) return;
  const std::uint64_t n = std::min<std::uint64_t>(k_sector_bytes, inode.cached.size() - from);
  if (inode.stable.size() < from + n) inode.stable.resize(from + n, '\0');
  std::copy_n(inode.cached.begin() + static_cast<std::ptrdiff_t>(from), n,
              inode.stable.begin() + static_cast<std::ptrdiff_t>(from));
}

void SimDisk::settle_all(Inode& inode) {
  while (!inode.dirty.empty()) settle(inode, *inode.dirty.begin());
  inode.stable.resize(inode.cached.size(), '\0');
}

DiskResult<void> SimDisk::sync(Inode& inode) {
  const std::string path = inode.path;
  std::optional<DiskError> error;
  const bool cut = reach_point("sync", path, "sync " + name_of(path), error);
  if (cut) throw PowerCut{};
  take_time_to_sync(k_slow_sync_chance);
  if (error) {
    // Some pages made it, the others are forgotten and never written again.
    const double kept = random_.unit();
    const auto dirty = inode.dirty;
    for (const std::uint64_t sector : dirty) {
      if (random_.chance(kept)) settle(inode, sector);
    }
    tally_["sector lost by a failed sync"] += inode.dirty.size();
    inode.dirty.clear();
    return std::unexpected(*error);
  }
  settle_all(inode);
  return {};
}

void SimDisk::lose_pages(Inode& inode, double kept) {
  const auto dirty = inode.dirty;
  for (const std::uint64_t sector : dirty) {
    if (random_.chance(kept)) settle(inode, sector);
  }
  if (!inode.dirty.empty()) {
    ++tally_[inode.dirty.size() < dirty.size() ? "unsynced write torn" : "unsynced write lost"];
  }
  // A file cut short and not synced may come back at its old length.
  if (inode.stable.size() > inode.cached.size() && random_.chance(kept)) inode.stable.resize(inode.cached.size());
  inode.dirty.clear();
  inode.cached = inode.stable;
}

void SimDisk::carry_out(Names& names, const NameChange& change) {
  const auto at = names.find(change.path);
  const bool there = at != names.end() && at->second == change.inode;
  switch (change.kind) {
    case NameChange::Kind::create:
      names[change.path] = change.inode;
      return;
    case NameChange::Kind::rename:
      if (there) names.erase(at);
      names[change.to] = change.inode;
      return;
    case NameChange::Kind::remove:
      if (there) names.erase(at);
      return;
  }
}

void SimDisk::lose_power() {
  // All, none or some: a loss that is always partial would hardly ever take a whole batch, or none of one.
  const std::uint64_t mood = random_.below(4);
  const double kept = mood == 0 ? 0.0 : mood == 1 ? 1.0 : random_.unit();
  const bool in_order = random_.chance(0.5);
  bool lost = false;
  for (const auto& change : unsynced_) {
    const bool survives = random_.chance(kept);
    if (!survives) lost = true;
    if (lost && (in_order || !survives)) {
      ++tally_[change.kind == NameChange::Kind::create   ? "create lost"
               : change.kind == NameChange::Kind::rename ? "rename lost"
                                                         : "remove lost"];
      continue;
    }
    if (lost) ++tally_["name kept though an earlier one is lost"];
    carry_out(stable_names_, change);
  }
  unsynced_.clear();
  names_ = stable_names_;
  for (auto& [path, inode] : names_) {
    inode->path = path;
    lose_pages(*inode, kept);
  }
  locks_.clear();
  dropped_names_ = false;
  cut_at_ = 0;
  fail_at_ = 0;
  fail_inner_folder_sync_at_ = 0;
}

std::unique_ptr<SimDisk> SimDisk::clone(std::uint64_t seed) const {
  auto copy = std::make_unique<SimDisk>(seed);
  std::map<const Inode*, std::shared_ptr<Inode>> copies;
  const auto copy_of = [&](const std::shared_ptr<Inode>& inode) {
    auto& made = copies[inode.get()];
    if (!made) made = std::make_shared<Inode>(*inode);
    return made;
  };
  for (const auto& [path, inode] : names_) copy->names_[path] = copy_of(inode);
  for (const auto& [path, inode] : stable_names_) copy->stable_names_[path] = copy_of(inode);
  copy->unsynced_ = unsynced_;
  for (auto& change : copy->unsynced_) change.inode = copy_of(change.inode);
  copy->dirs_ = dirs_;
  copy->dropped_names_ = dropped_names_;
  return copy;
}

std::vector<std::string> SimDisk::paths() const {
  std::vector<std::string> all;
  for (const auto& [path, inode] : names_) all.push_back(path);
  return all;
}

const std::string& SimDisk::bytes_of(const std::string& path) const { return names_.at(path)->cached; }

const std::string& SimDisk::platter_of(const std::string& path) const { return names_.at(path)->stable; }

SimDisk::Inode& SimDisk::inode_of(const std::string& path) { return *names_.at(path); }

void SimDisk::flip_bit(const std::string& path, std::uint64_t byte, unsigned bit) {
  auto& inode = inode_of(path);
  for (std::string* bytes : {&inode.cached, &inode.stable}) {
    if (byte < bytes->size()) (*bytes)[byte] = static_cast<char>((*bytes)[byte] ^ (1 << bit));
  }
}

void SimDisk::rot(const std::string& path, std::uint64_t offset, std::uint64_t bytes) {
  auto& inode = inode_of(path);
  const std::uint64_t from = offset / bytes * bytes;
  for (std::uint64_t at = from; at < std::min<std::uint64_t>(from + bytes, inode.cached.size()); ++at) {
    const auto noise = static_cast<char>(1 + random_.below(255));
    inode.cached[at] = static_cast<char>(inode.cached[at] ^ noise);
    if (at < inode.stable.size()) inode.stable[at] = inode.cached[at];
  }
}

void SimDisk::make_unreadable(const std::string& path, std::uint64_t offset) {
  inode_of(path).unreadable.insert(offset / k_sector_bytes);
}

void SimDisk::cut_short(const std::string& path, std::uint64_t bytes) {
  auto& inode = inode_of(path);
  inode.cached.resize(std::min<std::uint64_t>(bytes, inode.cached.size()));
  inode.stable.resize(std::min<std::uint64_t>(bytes, inode.stable.size()));
}

void SimDisk::lose_file(const std::string& path) {
  names_.erase(path);
  stable_names_.erase(path);
}

std::uint64_t SimDisk::used() const {
  std::uint64_t bytes = 0;
  for (const auto& [path, inode] : names_) bytes += inode->cached.size();
  return bytes;
}

DiskResult<std::unique_ptr<journal::File>> SimDisk::open(const std::string& path, Mode mode) {
  if (auto error = without_descriptor(path)) return std::unexpected(*error);
  if (mode == Mode::create) {
    if (auto error = at_point("create", path, "create " + name_of(path))) return std::unexpected(*error);
    auto at = names_.find(path);
    if (at == names_.end()) {
      at = names_.emplace(path, std::make_shared<Inode>()).first;
      at->second->path = path;
      unsynced_.push_back({NameChange::Kind::create, dir_of(path), path, {}, at->second});
    } else {
      at->second->cached.clear();
      at->second->dirty.clear();
    }
  }
  const auto at = names_.find(path);
  if (at == names_.end()) return not_found("open", path);
  return std::make_unique<OpenFile>(*this, at->second);
}

DiskResult<void> SimDisk::rename(const std::string& from, const std::string& to) {
  if (auto error = at_point("rename", from, fmt::format("rename {} to {}", name_of(from), name_of(to)))) {
    return std::unexpected(*error);
  }
  const auto at = names_.find(from);
  if (at == names_.end()) return not_found("rename", from);
  unsynced_.push_back({NameChange::Kind::rename, dir_of(to), from, to, at->second});
  at->second->path = to;
  carry_out(names_, unsynced_.back());
  return {};
}

DiskResult<void> SimDisk::remove(const std::string& path) {
  if (auto error = at_point("remove", path, "remove " + name_of(path))) return std::unexpected(*error);
  const auto at = names_.find(path);
  if (at == names_.end()) return not_found("remove", path);
  unsynced_.push_back({NameChange::Kind::remove, dir_of(path), path, {}, at->second});
  names_.erase(at);
  return {};
}

// The folder itself is taken as safe at once: the maker of a journal makes its folder first.
DiskResult<void> SimDisk::make_dir(const std::string& dir) {
  dirs_.insert(dir);
  return {};
}

DiskResult<std::vector<std::string>> SimDisk::list(const std::string& dir) {
  if (!dirs_.contains(dir)) return not_found("list", dir);
  std::vector<std::string> found;
  for (const auto& [path, inode] : names_) {
    if (dir_of(path) == dir) found.push_back(name_of(path));
  }
  return found;
}

DiskResult<void> SimDisk::sync_dir(const std::string& dir) {
  if (auto error = without_descriptor("/folder")) return std::unexpected(*error);
  if (folder_syncs_under_way_ > 0 && fail_inner_folder_sync_at_ > 0) {
    --fail_inner_folder_sync_at_;
    if (fail_inner_folder_sync_at_ == 0) fail_at_ = 1;
  }
  const auto error = at_point("sync", "/folder", "sync folder");
  const UnderWay under_way(folder_syncs_under_way_);
  take_time_to_sync(slow_folder_sync_chance_);
  if (error) {
    const double kept = random_.unit();
    std::erase_if(unsynced_, [&](const NameChange& change) {
      if (change.dir != dir) return false;
      const bool survives = random_.chance(kept);
      if (survives) carry_out(stable_names_, change);
      dropped_names_ = dropped_names_ || !survives;
      if (!survives) ++tally_["name lost by a failed sync of its folder"];
      return true;
    });
    return std::unexpected(*error);
  }
  for (const auto& change : unsynced_) {
    if (change.dir == dir) carry_out(stable_names_, change);
  }
  std::erase_if(unsynced_, [&](const NameChange& change) { return change.dir == dir; });
  return {};
}

DiskResult<std::uint64_t> SimDisk::free_bytes(const std::string&) {
  if (capacity_ == k_unlimited) return k_unlimited;
  const std::uint64_t taken = used();
  return taken < capacity_ ? capacity_ - taken : 0;
}

DiskResult<std::unique_ptr<journal::FolderLock>> SimDisk::lock(const std::string& dir) {
  auto& holder = locks_[dir];
  if (!holder.expired()) return std::unexpected(DiskError{DiskError::Code::busy, "lock " + dir + ": held"});
  auto token = std::make_shared<int>(0);
  holder = token;
  return std::make_unique<HeldLock>(std::move(token));
}

}  // namespace skein::sim
