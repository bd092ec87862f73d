// The engine that keeps nothing: a JournalCore whose log is a counter. What it answers as applied is gone when the
// program ends. One thread at a time.
#pragma once

#include "skein/journal/journal_core.hpp"

namespace skein::inline v0::journal {

class MemoryCore final : public JournalCore {
 public:
  using JournalCore::JournalCore;

 protected:
  [[nodiscard]] StoreResult<void> log_write(std::span<const EntryView> entries) override {
    last_ = entries.back().position;
    return {};
  }
  [[nodiscard]] StoreResult<void> log_sync() override { return {}; }
  [[nodiscard]] Position log_last() const override { return last_; }
  [[nodiscard]] Position log_durable() const override { return last_; }
  void start_snapshot() override {
    snapshot_ = {replica_.position(), 0, {}};
    emit(JournalEvent::Kind::snapshot_taken, snapshot_.position, "in memory: nothing was written");
    answer_snapshots(snapshot_, snapshot_.position);
  }

 private:
  Position last_ = 0;
};

}  // namespace skein::inline v0::journal
