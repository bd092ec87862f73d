// The engine of one node on a disk, without a thread: a JournalCore over a LogStore. Every step that touches the disk
// is a call, so that a driver can do them on a thread and the simulator can crash between any two.
//
// Opening locks the folder, restores the newest snapshot, and replays the log. The folder's recorded id limits win over
// those handed in. One thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "skein/journal/disk.hpp"
#include "skein/journal/hard_state.hpp"
#include "skein/journal/journal_core.hpp"
#include "skein/journal/log_store.hpp"
#include "skein/journal/shared_disk.hpp"

namespace skein::inline v0::journal {

class EmbeddedCore final : public JournalCore {
 public:
  [[nodiscard]] static StoreResult<std::unique_ptr<EmbeddedCore>> open(Disk& disk, const std::string& dir,
                                                                       MachineRef machine, const JournalLimits& limits);

  // Marks the log as durable to its end, and looks at the disk's room.
  void idle() override;
  void close() override;
  void release() override { lock_.reset(); }
  [[nodiscard]] std::optional<AsideJob> take_job() override;
  void job_done(const AsideResult& result) override;
  // Compares the disk's room with the low-water mark.
  void check_disk();
  // The disk on which jobs of this core must be done.
  [[nodiscard]] Disk* job_disk() override { return &disk_; }

  [[nodiscard]] const LogStore& store() const { return *store_; }

 protected:
  [[nodiscard]] StoreResult<void> log_write(std::span<const EntryView> entries) override;
  [[nodiscard]] StoreResult<void> log_sync() override;
  [[nodiscard]] Position log_last() const override { return store_->last_position(); }
  [[nodiscard]] Position log_durable() const override { return store_->durable_position(); }
  void start_snapshot() override { snapshot_wanted_ = true; }

 private:
  EmbeddedCore(Disk& disk, std::string dir, MachineRef machine, const JournalLimits& limits);

  [[nodiscard]] StoreResult<void> recover();
  [[nodiscard]] StoreResult<void> replay();
  [[nodiscard]] bool snapshot_due() const;
  void snapshot_done(const StoreResult<SnapshotInfo>& result);
  void stop_after(const StoreError& error);
  void segment_refused(const std::string& cause);

  SharedDisk disk_;
  std::string dir_;
  std::unique_ptr<FolderLock> lock_;
  HardState hard_;
  std::unique_ptr<LogStore> store_;
  std::uint64_t log_bytes_ = 0;        // since the last snapshot
  std::uint64_t snapshot_from_ = 0;    // log_bytes_ when the one under way was begun
  Position snapshot_at_ = 0;           // what was applied then
  std::uint64_t retry_at_bytes_ = 0;   // of log, after a snapshot failed
  std::uint64_t unchecked_bytes_ = 0;  // written since the disk's room was looked at
  std::uint64_t refused_in_ = 0;       // the segment that was written to when there was no room for the next
  bool snapshot_wanted_ = false;
  bool snapshot_under_way_ = false;
};

}  // namespace skein::inline v0::journal
