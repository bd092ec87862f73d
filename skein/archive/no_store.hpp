// The store of a node that keeps no archive: takes everything and has nothing. Any thread.
#pragma once

#include "skein/archive/store.hpp"

namespace skein::inline v0::archive {

class NoStore final : public Store {
 public:
  [[nodiscard]] ArchiveResult<void> insert(std::span<const Finished>) override { return {}; }
  [[nodiscard]] ArchiveResult<ledger::FinishNumber> last() override { return 0; }
  [[nodiscard]] ArchiveResult<Finished> find(ledger::TaskId) override { return nullptr; }
  [[nodiscard]] ArchiveResult<std::vector<Finished>> query(const Query&) override { return std::vector<Finished>{}; }
  [[nodiscard]] ArchiveResult<bool> link_retry(ledger::TaskId, ledger::TaskId) override { return false; }
  [[nodiscard]] ArchiveResult<std::uint64_t> retain(const Retention&, ledger::WallMs, std::uint64_t) override {
    return 0;
  }
  [[nodiscard]] ArchiveResult<std::uint64_t> count() override { return 0; }
};

}  // namespace skein::inline v0::archive
