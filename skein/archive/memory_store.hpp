// The archive in memory: for the simulator, for tests, and for a node that keeps nothing. "Durable" here means as long
// as this object lives. Any thread.
#pragma once

#include <functional>
#include <map>
#include <mutex>

#include <boost/unordered/unordered_flat_map.hpp>

#include "skein/archive/store.hpp"

namespace skein::inline v0::archive {

class MemoryStore final : public Store {
 public:
  [[nodiscard]] ArchiveResult<void> insert(std::span<const Finished> tasks) override;
  [[nodiscard]] ArchiveResult<ledger::FinishNumber> last() override;
  [[nodiscard]] ArchiveResult<Finished> find(ledger::TaskId id) override;
  [[nodiscard]] ArchiveResult<std::vector<Finished>> query(const Query& query) override;
  [[nodiscard]] ArchiveResult<bool> link_retry(ledger::TaskId old_task, ledger::TaskId new_task) override;
  [[nodiscard]] ArchiveResult<std::uint64_t> retain(const Retention& retention, ledger::WallMs now,
                                                    std::uint64_t at_most) override;
  [[nodiscard]] ArchiveResult<std::uint64_t> count() override;

  // From here on insert() answers this error; nothing ends it.
  void fail_with(std::optional<ArchiveError> error);

 private:
  void remove(ledger::FinishNumber number);

  std::mutex mutex_;
  std::map<ledger::FinishNumber, Finished, std::greater<>> tasks_;  // last first
  boost::unordered_flat_map<ledger::TaskId, ledger::FinishNumber, ledger::TaskIdHash> numbers_;
  ledger::FinishNumber last_ = 0;
  std::optional<ArchiveError> failure_;
};

}  // namespace skein::inline v0::archive
