// Answers as JSON: the same for the CLI's socket, MCP and REST. table_<group>.cpp declares their types. Pure; any
// thread.
//
// A moment is there twice: in milliseconds since 1970 (`submitted_at`), and as RFC 3339 (`submitted_time`).
//
// What a task was given and what it answered are JSON texts of their own; they are put in with every number as it was
// written (json_exact.hpp).
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skein/operations/event_stream.hpp"
#include "skein/operations/node_hooks.hpp"
#include "skein/operations/requests.hpp"

namespace skein::inline v0::operations {

namespace json = boost::json;

// On one line. Boost's own writes 1.5 as 1.5E0.
[[nodiscard]] std::string json_text(const json::value& value);
// A JSON text as a value; as a string when it is none, null when it is empty.
[[nodiscard]] json::value json_or_text(std::string_view text);

// A JSON text that the program itself wrote, as deep as a tree or what a client gave may be. Throws when it is none.
[[nodiscard]] json::value own_json(std::string_view text);

// With params, result and history; or the line of a list.
enum class Detail { line, whole };
[[nodiscard]] json::object to_json(const TaskStatus& status, Detail detail);
// The attempts of a task that were made in its swarm: those that failed, and the one that runs or has completed it.
[[nodiscard]] std::uint32_t attempts_made(const ledger::Task& task);
[[nodiscard]] json::value to_json(const Error& error);
[[nodiscard]] json::value to_json(const SubmitAnswer& answer);
[[nodiscard]] json::value to_json(const ListAnswer& answer);
[[nodiscard]] json::value to_json(const WaitAnswer& answer);
[[nodiscard]] json::value to_json(const RetryAnswer& answer);
[[nodiscard]] json::value to_json(const SwarmView& swarm);
[[nodiscard]] json::value to_json(const ScaleAnswer& answer);
[[nodiscard]] json::value to_json(const NodeStatus& status);
[[nodiscard]] json::value to_json(const NodeInfo& info);
[[nodiscard]] json::value to_json(const Event& event);
[[nodiscard]] json::value to_json(const AgentDetail& agent);
[[nodiscard]] json::value to_json(const AgentStatusAnswer& answer);
[[nodiscard]] json::value to_json(const CancelAgentAnswer& answer);
[[nodiscard]] json::value to_json(const ProcessInfo& process);
[[nodiscard]] json::value to_json(const std::vector<TracedMessage>& trace);
[[nodiscard]] json::value to_json(const KillAnswer& answer);
[[nodiscard]] json::value to_json(const ReloadAnswer& answer);
[[nodiscard]] json::value to_json(const MadeToken& made);
[[nodiscard]] json::value to_json(const TokensAnswer& answer);
[[nodiscard]] json::value to_json(const BackupAnswer& answer);
[[nodiscard]] json::value to_json(State state);
[[nodiscard]] json::value to_json(const std::string& text);
[[nodiscard]] json::value to_json(std::monostate nothing);

}  // namespace skein::inline v0::operations
