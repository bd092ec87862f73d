// The store of a node that keeps no archive: takes everything and has nothing. Any thread.
#pragma once

#include "skein/archive/store.hpp"

namespace skein::inline v0::archive {

class NoStore : public Store {
 public:
  [[nodiscard]] ArchiveResult<void> insert(std::span<const Finished>) override { return {}; }
  [[nodiscard]] ArchiveResult<ledger::FinishNumber> seal() override { return 0; }
  [[nodiscard]] ArchiveResult<Marks> marks() override { return Marks{}; }
  [[nodiscard]] ArchiveResult<Finished> find(ledger::TaskId) override { return nullptr; }
  [[nodiscard]] ArchiveResult<std::vector<Finished>> query(const Query&) override { return std::vector<Finished>{}; }
  [[nodiscard]] ArchiveResult<bool> link_retry(ledger::TaskId, ledger::TaskId) override { return false; }
  [[nodiscard]] ArchiveResult<std::uint64_t> retain(const Retention&, ledger::WallMs, std::uint64_t) override {
    return 0;
  }
  [[nodiscard]] ArchiveResult<std::uint64_t> count() override { return 0; }
  [[nodiscard]] ArchiveResult<Checked> verify(ledger::FinishNumber after, std::size_t) override {
    return Checked{.up_to = after, .is_end = true};
  }
  [[nodiscard]] ArchiveResult<bool> upgrade(std::size_t) override { return false; }
  [[nodiscard]] ArchiveResult<void> record_loss(const Loss&) override { return {}; }
  [[nodiscard]] ArchiveResult<std::vector<Loss>> losses() override { return std::vector<Loss>{}; }
  [[nodiscard]] ArchiveResult<void> skip_to(ledger::FinishNumber) override { return {}; }
  [[nodiscard]] ArchiveResult<std::string> note(std::string_view) override { return std::string(); }
  [[nodiscard]] ArchiveResult<void> keep_note(std::string_view, const std::string&) override { return {}; }
};

}  // namespace skein::inline v0::archive
