// What an operation answers when it does not do what was asked: a code for programs, a message and advice for people,
// and when it is worth trying again. Plain values.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "skein/archive/archive_error.hpp"
#include "skein/journal/journal.hpp"
#include "skein/ledger/command.hpp"

namespace skein::inline v0::operations {

// Their names are the API: they stay as they are.
enum class Code : std::uint8_t {
  invalid,       // something in the request makes no sense
  invalid_json,  // the params are not JSON, or nested too deep
  too_large,
  bad_cursor,
  task_not_found,
  swarm_not_found,
  agent_not_found,
  process_not_found,
  dependency_not_found,
  dependency_failed,
  swarm_exists,
  swarm_closed,
  swarm_busy,
  key_reused,  // the idempotency key belongs to a task of another type or with other params
  already_finished,
  wrong_state,
  queue_full,
  ledger_full,
  archive_behind,
  overloaded,
  not_leader,
  unknown,  // it may or may not have been done
  stopped,
  archive_unavailable,
  forbidden,  // who asks may not
  token_not_found,
  token_exists,
  child_limit,  // a task has as many children as it may, or is as deep as it may be
  internal,
};
inline constexpr std::size_t k_code_count = static_cast<std::size_t>(Code::internal) + 1;
[[nodiscard]] std::string_view name_of(Code code);

struct Error {
  Code code = Code::internal;
  std::string message;
  std::string advice;
  std::chrono::milliseconds retry_after{0};  // zero: trying the same again will not help

  // One line: what happened, what to do.
  [[nodiscard]] std::string describe() const;
};

template <class T>
using Result = std::expected<T, Error>;

[[nodiscard]] Error invalid(std::string message, std::string advice = "correct the request");
// Of a refusal. `what`: the task or swarm it was about, for the message.
[[nodiscard]] Error error_of(const ledger::OpResult& result, std::string_view what);
// Of an answer that is not `applied`.
[[nodiscard]] Error error_of(journal::Outcome outcome, const std::string& why, const std::string& leader = {});
[[nodiscard]] Error error_of(const archive::ArchiveError& error);
[[nodiscard]] Error task_not_found(ledger::TaskId id);
[[nodiscard]] Error overloaded(std::string message);

}  // namespace skein::inline v0::operations
