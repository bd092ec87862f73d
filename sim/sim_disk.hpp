// A disk that behaves like a real one when the power goes: under the real journal, in memory, from a seed.
//
// What a file system promises, and no more:
// 1. Written bytes are in the page cache; any sector of 512 bytes may reach the platter at any time, in any order, and
//    all of them have when sync() succeeds. A sector is old or new, never a mixture.
// 2. Names made, renamed or removed are safe after sync_dir(). Before, any of them may be lost; a rename is one step.
// 3. After a failed sync() the pages count as clean, and the platter does not have them. After a failed sync_dir() the
//    same is true of names: those it dropped can be seen until the power goes, and are never written.
// 4. A program that dies (nothing to call: drop it) loses nothing. A power cut loses what was not safe.
//
// Every operation that changes something is a persistence point, counted; the power can be cut or an operation made to
// fail at any of them. A power cut throws PowerCut, which is no std::exception: it passes through everything.
// One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "skein/base/random.hpp"
#include "skein/journal/disk.hpp"

namespace skein::sim {

struct PowerCut {};

// How often which fault came about, by its name.
using Tally = std::map<std::string, std::uint64_t>;

class SimDisk final : public journal::Disk {
 public:
  static constexpr std::uint64_t k_sector_bytes = 512;
  static constexpr double k_slow_sync_chance = 0.03;
  static constexpr std::uint64_t k_unlimited = ~std::uint64_t{0};
  static constexpr std::uint64_t k_luck_salt = 0x6465736372;

  explicit SimDisk(std::uint64_t seed) : random_(seed), luck_(seed ^ k_luck_salt) {}

  // The n-th persistence point from here on: 1 is the next. 0 calls it off.
  void cut_power_at(std::uint64_t point) { cut_at_ = point; }
  void fail_at(std::uint64_t point, journal::DiskError::Code code);
  // The n-th sync of a folder from here on that comes in the middle of another's. 0 calls it off.
  void fail_inner_folder_sync_at(std::uint64_t sync, journal::DiskError::Code code);
  void set_slow_folder_sync_chance(double chance) { slow_folder_sync_chance_ = chance; }
  // Descriptors are scarce: this part of the opens, of files and of folders to be synced, finds none free. 0 calls it
  // off. What they then do not open they do not touch.
  void set_scarcity(double chance) { scarcity_ = chance; }
  // No file can grow past this many bytes of all files together.
  void set_capacity(std::uint64_t bytes) { capacity_ = bytes; }
  // What has not reached the platter is gone, or partly gone. Open files are not to be used any more.
  void lose_power();
  // Told of every persistence point, when set.
  std::function<void(const std::string& what)> on_point;
  // Called in the middle of a slow sync, when set: what other threads do meanwhile.
  std::function<void()> meanwhile;

  // A sync of a folder failed and lost names. A file system does not recover from that while it stays mounted, so the
  // power has to go before anyone may rely on what the folder shows.
  [[nodiscard]] bool dropped_names() const { return dropped_names_; }

  [[nodiscard]] std::uint64_t points() const { return points_; }
  // Faults that really came about.
  [[nodiscard]] const Tally& tally() const { return tally_; }
  [[nodiscard]] std::uint64_t clock_us() const { return clock_us_; }
  void pass_time(std::uint64_t us) { clock_us_ += us; }

  // The same files, names and unsynced changes on a disk of its own.
  [[nodiscard]] std::unique_ptr<SimDisk> clone(std::uint64_t seed) const;

  // Damage, cache and platter alike.
  [[nodiscard]] std::vector<std::string> paths() const;
  [[nodiscard]] const std::string& bytes_of(const std::string& path) const;
  // What a power cut that takes everything unsynced would leave of it.
  [[nodiscard]] const std::string& platter_of(const std::string& path) const;
  void flip_bit(const std::string& path, std::uint64_t byte, unsigned bit);
  // All of the `bytes` long piece of the file, aligned, that the offset lies in.
  void rot(const std::string& path, std::uint64_t offset, std::uint64_t bytes = k_sector_bytes);
  // From here on reading that sector fails.
  void make_unreadable(const std::string& path, std::uint64_t offset);
  void cut_short(const std::string& path, std::uint64_t bytes);
  void lose_file(const std::string& path);

  journal::DiskResult<std::unique_ptr<journal::File>> open(const std::string& path, Mode mode) override;
  journal::DiskResult<void> rename(const std::string& from, const std::string& to) override;
  journal::DiskResult<void> remove(const std::string& path) override;
  journal::DiskResult<void> make_dir(const std::string& dir) override;
  journal::DiskResult<std::vector<std::string>> list(const std::string& dir) override;
  journal::DiskResult<void> sync_dir(const std::string& dir) override;
  journal::DiskResult<std::uint64_t> free_bytes(const std::string& dir) override;
  journal::DiskResult<std::unique_ptr<journal::FolderLock>> lock(const std::string& dir) override;

 private:
  struct Inode {
    std::string path;  // its latest
    std::string cached;
    std::string stable;
    std::set<std::uint64_t> dirty;  // sectors whose newest contents the platter may not have
    std::set<std::uint64_t> unreadable;
  };
  struct NameChange {
    enum class Kind { create, rename, remove };
    Kind kind = Kind::create;
    std::string dir;
    std::string path;
    std::string to;  // of a rename
    std::shared_ptr<Inode> inode;
  };
  using Names = std::map<std::string, std::shared_ptr<Inode>>;
  class OpenFile;
  class HeldLock;

  // Counts a persistence point. True: the power goes now, before or in the middle of the operation. An error: it fails.
  bool reach_point(const char* operation, const std::string& path, const std::string& what,
                   std::optional<journal::DiskError>& error);
  // For operations that happen at once or not at all.
  std::optional<journal::DiskError> at_point(const char* operation, const std::string& path, const std::string& what);
  // An open that finds no descriptor.
  std::optional<journal::DiskError> without_descriptor(const std::string& path);
  void take_time_to_sync(double slow_chance);
  journal::DiskResult<void> write(Inode& inode, std::uint64_t offset, std::string_view bytes);
  journal::DiskResult<void> sync(Inode& inode);
  void put(Inode& inode, std::uint64_t offset, std::string_view bytes);
  void settle(Inode& inode, std::uint64_t sector);
  void settle_all(Inode& inode);
  void lose_pages(Inode& inode, double kept);
  [[nodiscard]] std::uint64_t used() const;
  static void carry_out(Names& names, const NameChange& change);
  Inode& inode_of(const std::string& path);

  Random random_;
  Random luck_;  // with descriptors; the other draws do not depend on it
  Names names_;
  Names stable_names_;
  std::vector<NameChange> unsynced_;
  std::set<std::string> dirs_;
  std::map<std::string, std::weak_ptr<int>> locks_;
  std::uint64_t capacity_ = k_unlimited;
  std::uint64_t points_ = 0;
  std::uint64_t cut_at_ = 0;
  std::uint64_t fail_at_ = 0;
  std::uint64_t fail_inner_folder_sync_at_ = 0;
  std::uint64_t folder_syncs_under_way_ = 0;
  double slow_folder_sync_chance_ = k_slow_sync_chance;
  journal::DiskError::Code fail_with_ = journal::DiskError::Code::io;
  std::uint64_t clock_us_ = 0;
  bool dropped_names_ = false;
  double scarcity_ = 0;
  Tally tally_;
};

}  // namespace skein::sim
