#include "skein/archive/store.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace skein::inline v0::archive {

ledger::WallMs oldest_kept(const Retention& retention, ledger::WallMs now, ledger::WallMs newest) {
  const auto age = static_cast<std::uint64_t>(retention.age.count());
  const ledger::WallMs since = std::min(now, newest);
  return age != 0 && since > age ? since - age : 0;
}

ArchiveError number_conflict(const std::string& file, const ledger::FinishedTask& inserted, ledger::TaskId there) {
  return {ArchiveError::Kind::conflict, file,
          fmt::format("finish number {} is that of task {} in the journal and of task {} in the archive",
                      inserted.finish_number, inserted.task.id.text(), there.text())};
}

ArchiveError damaged_record(const std::string& file, ledger::FinishNumber number, std::string_view what) {
  return {ArchiveError::Kind::damaged, file, fmt::format("the task with finish number {}: {}", number, what)};
}

}  // namespace skein::inline v0::archive
