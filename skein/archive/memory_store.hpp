// The archive in memory: for the simulator, for tests, and for a node that keeps nothing. "Durable" here means as long
// as this object lives. Any thread.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <set>

#include <boost/unordered/unordered_flat_map.hpp>

#include "skein/archive/store.hpp"

namespace skein::inline v0::archive {

class MemoryStore final : public Store {
 public:
  [[nodiscard]] ArchiveResult<void> insert(std::span<const Finished> tasks) override;
  [[nodiscard]] ArchiveResult<ledger::FinishNumber> seal() override;
  [[nodiscard]] ArchiveResult<Marks> marks() override;
  [[nodiscard]] ArchiveResult<Finished> find(ledger::TaskId id) override;
  [[nodiscard]] ArchiveResult<std::vector<Finished>> query(const Query& query) override;
  [[nodiscard]] ArchiveResult<bool> link_retry(ledger::TaskId old_task, ledger::TaskId new_task) override;
  [[nodiscard]] ArchiveResult<std::uint64_t> retain(const Retention& retention, ledger::WallMs now,
                                                    std::uint64_t at_most) override;
  [[nodiscard]] ArchiveResult<std::uint64_t> count() override;
  [[nodiscard]] ArchiveResult<Checked> verify(ledger::FinishNumber after, std::size_t at_most) override;
  [[nodiscard]] ArchiveResult<bool> upgrade(std::size_t) override { return false; }
  [[nodiscard]] ArchiveResult<void> record_loss(const Loss& loss) override;
  [[nodiscard]] ArchiveResult<std::vector<Loss>> losses() override;
  [[nodiscard]] ArchiveResult<void> skip_to(ledger::FinishNumber number) override;
  [[nodiscard]] ArchiveResult<std::string> note(std::string_view name) override;
  [[nodiscard]] ArchiveResult<void> keep_note(std::string_view name, const std::string& text) override;

  // From here on insert() and seal() answer this error; nothing ends it.
  void fail_with(std::optional<ArchiveError> error);
  // Only seal() does.
  void fail_seal_with(std::optional<ArchiveError> error);
  // As a bit that flips in its record: from here on it is handed out no more. False when it is not here.
  bool damage(ledger::FinishNumber number);

  // All that a file would have; to be put aside, changed, and put back.
  struct Image {
    std::map<ledger::FinishNumber, Finished, std::greater<>> tasks;  // last first
    std::set<ledger::FinishNumber> damaged;
    Marks marks;  // `rows` and `newest` are not used
    std::vector<Loss> losses;
    std::map<std::string, std::string, std::less<>> notes;
  };
  [[nodiscard]] Image image();
  void become(Image image);

 private:
  void remove(ledger::FinishNumber number);
  [[nodiscard]] ArchiveResult<void> check_conflict(const ledger::FinishedTask& each) const;
  [[nodiscard]] ArchiveResult<void> check_whole(ledger::FinishNumber number) const;
  void insert_one(const Finished& each);

  std::mutex mutex_;
  Image state_;
  boost::unordered_flat_map<ledger::TaskId, ledger::FinishNumber, ledger::TaskIdHash> numbers_;
  std::optional<ArchiveError> failure_;
  std::optional<ArchiveError> seal_failure_;
};

}  // namespace skein::inline v0::archive
