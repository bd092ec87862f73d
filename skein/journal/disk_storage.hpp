// A member's storage in a folder of a disk: hard state, log, snapshots, and the file of a snapshot that comes in. Every
// step that touches the disk is a call, so that a driver can do them on threads and the simulator can crash between any
// two. One thread, but for the jobs.
//
// How a snapshot takes the place of the log:
//   incoming-<position>.snap    comes in, chunk by chunk; complete, checked and synced before it is taken for complete
//   hard state                  names it as being installed
//   snap-<position>.snap        its name from now on
//   a segment after it          what was in the log before no longer counts
//   hard state                  names none any more
// A start that finds the record goes on from there. What is not named in it is removed.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "skein/journal/disk.hpp"
#include "skein/journal/journal.hpp"
#include "skein/journal/log_store.hpp"
#include "skein/journal/shared_disk.hpp"
#include "skein/journal/storage.hpp"

namespace skein::inline v0::journal {

class DiskStorage final : public Storage {
 public:
  using RestoreFn = std::function<StoreResult<void>(const LoadedSnapshot&)>;
  // Locks the folder, or makes it. `new_self`: who this member is if the folder does not say. The machine takes the
  // snapshot, when there is one, before anything in the folder is changed.
  [[nodiscard]] static StoreResult<std::unique_ptr<DiskStorage>> open(Disk& disk, const std::string& dir,
                                                                      const JournalLimits& limits,
                                                                      consensus::MemberId new_self,
                                                                      const RestoreFn& restore);

  [[nodiscard]] const StorageStart& start() const { return start_; }

  [[nodiscard]] StoreResult<void> save(const MemberState& state) override;
  [[nodiscard]] StoreResult<void> append(std::span<const EntryView> entries) override;
  [[nodiscard]] StoreResult<void> sync() override;
  [[nodiscard]] Position last() const override { return store_->last_position(); }
  [[nodiscard]] StoreResult<std::vector<consensus::Entry>> read_batches(Position from,
                                                                        std::uint64_t max_bytes) override;
  [[nodiscard]] StoreResult<void> install(const consensus::SnapshotOffer& offer, const MemberState& state) override;
  Position trim(Position up_to) override;
  [[nodiscard]] StoreResult<void> mark_idle() override;
  [[nodiscard]] std::uint64_t bytes_after(Position position) const override { return store_->bytes_after(position); }

  [[nodiscard]] LogStore& store() { return *store_; }
  [[nodiscard]] const LogStore& store() const { return *store_; }
  [[nodiscard]] SharedDisk& disk() { return disk_; }
  [[nodiscard]] const std::string& dir() const { return dir_; }
  // Bytes that append() has written, since it was opened.
  [[nodiscard]] std::uint64_t appended_bytes() const { return appended_bytes_; }
  // The snapshot that install() made the newest one, once.
  [[nodiscard]] std::optional<SnapshotInfo> take_installed() { return std::exchange(installed_, std::nullopt); }
  // The trimmed files that are to be discarded.
  [[nodiscard]] std::optional<DiscardJob> take_discard() { return std::exchange(discard_, std::nullopt); }
  // Another may open the folder.
  void release() { lock_.reset(); }

 private:
  DiskStorage(Disk& disk, std::string dir) : disk_(disk), dir_(std::move(dir)) {}
  [[nodiscard]] StoreResult<void> recover(const JournalLimits& limits, consensus::MemberId new_self,
                                          const RestoreFn& restore);
  [[nodiscard]] StoreResult<void> identify(MemberState& state, bool is_new, consensus::MemberId new_self);
  [[nodiscard]] StoreResult<void> finish_install(MemberState& state, IdLimits ids, const JournalLimits& limits);
  [[nodiscard]] StoreResult<void> take_in(LogImage& image);

  SharedDisk disk_;
  std::string dir_;
  std::unique_ptr<FolderLock> lock_;
  std::unique_ptr<LogStore> store_;
  StorageStart start_;
  std::optional<DiscardJob> discard_;
  std::optional<SnapshotInfo> installed_;
  std::uint64_t appended_bytes_ = 0;
};

}  // namespace skein::inline v0::journal
