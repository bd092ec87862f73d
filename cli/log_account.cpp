#include "cli/log_account.hpp"

#include <algorithm>
#include <memory>
#include <variant>

#include "skein/journal/journal.hpp"
#include "skein/ledger/ledger.hpp"
#include "skein/node/data_lock.hpp"

namespace skein::cli {
namespace {

class Endings final : public ledger::ChangeSink {
 public:
  explicit Endings(LogAccount& account) : account_(account) {}

  void take(const std::shared_ptr<const ledger::ChangeBatch>& batch) override {
    for (const ledger::Change& change : batch->changes) {
      if (const auto* queued = std::get_if<ledger::TaskQueued>(&change)) accepted(queued->task);
      if (const auto* blocked = std::get_if<ledger::TaskBlocked>(&change)) accepted(blocked->task);
      if (const auto* finished = std::get_if<ledger::TaskFinished>(&change)) ended(*finished->finished);
    }
  }

 private:
  TaskEndings& accepted(const ledger::Task& task) {
    TaskEndings& mine = account_.tasks[task.id.text()];
    mine.id = task.id.text();
    mine.params = std::string(ledger::view_of(task.params));
    return mine;
  }
  void ended(const ledger::FinishedTask& finished) {
    TaskEndings& mine = accepted(finished.task);
    ++mine.times;
    mine.deliveries = finished.task.deliveries;
    mine.state = finished.task.state;
    mine.result = std::string(ledger::view_of(finished.result));
    mine.message = finished.message;
  }

  LogAccount& account_;
};

}  // namespace

std::expected<LogAccount, std::string> read_account(const std::string& data_folder) {
  LogAccount account;
  Endings endings(account);
  ledger::Ledger ledger;
  ledger.add_sink(endings);
  auto opened = journal::open_journal(node::journal_in(data_folder), ledger);
  if (!opened) return std::unexpected(opened.error().describe());
  const auto status = (*opened)->status();
  account.entries = status.applied;
  account.is_whole = status.snapshot == 0;
  (*opened)->close();
  return account;
}

std::uint64_t LogAccount::ended(ledger::State state) const {
  return static_cast<std::uint64_t>(std::ranges::count_if(
      tasks, [&](const auto& each) { return each.second.times > 0 && each.second.state == state; }));
}

std::uint64_t LogAccount::not_once() const {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(tasks, [](const auto& each) { return each.second.times != 1; }));
}

std::uint64_t LogAccount::delivered_again() const {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(tasks, [](const auto& each) { return each.second.deliveries > 1; }));
}

}  // namespace skein::cli
