// What the log of a stopped node says of every task it ever accepted: how often it ended, and how. Read from the
// journal's folder alone, by applying it from its first entry, so it needs a log of which nothing was dropped.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <string>

#include "skein/ledger/task.hpp"

namespace skein::cli {

struct TaskEndings {
  std::string id;
  std::string params;
  std::uint32_t times = 0;       // that it ended; all is well with 1
  std::uint32_t deliveries = 0;  // that it was given to an agent
  ledger::State state = ledger::State::queued;
  std::string result;
  std::string message;
};

struct LogAccount {
  std::map<std::string, TaskEndings> tasks;  // by id
  std::uint64_t entries = 0;                 // in the log
  bool is_whole = true;                      // false: it begins with a snapshot, so earlier tasks may be missing

  [[nodiscard]] std::uint64_t ended(ledger::State state) const;
  [[nodiscard]] std::uint64_t not_once() const;
  [[nodiscard]] std::uint64_t delivered_again() const;
};

// The error says what to do. Blocks.
[[nodiscard]] std::expected<LogAccount, std::string> read_account(const std::string& data_folder);

}  // namespace skein::cli
