// Requests and answers as JSON: the same for the CLI's socket, MCP and REST. Pure; any thread.
//
// What a task was given and what it answered are JSON texts of their own; they are put in with every number as it was
// written (json_exact.hpp).
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <optional>
#include <set>
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

// Reads the members of a request. The first thing wrong is kept, the rest then reads as defaults.
class JsonReader {
 public:
  explicit JsonReader(const json::object& object) : object_(object) {}

  std::string text(std::string_view key, std::string otherwise = {});
  std::string required_text(std::string_view key);
  std::uint64_t count(std::string_view key, std::uint64_t otherwise, std::uint64_t max);
  bool flag(std::string_view key, bool otherwise = false);
  std::vector<std::string> texts(std::string_view key);
  ledger::TaskId task_id(std::string_view key, bool is_required = true);
  std::vector<ledger::TaskId> task_ids(std::string_view key);
  ledger::Fields fields(std::string_view key);
  std::chrono::milliseconds milliseconds(std::string_view key, std::chrono::milliseconds otherwise);
  std::optional<State> state(std::string_view key);

  // Also for members nobody asked for.
  [[nodiscard]] std::optional<Error> error();

  // What error() or a member before it found wrong, if anything.
  [[nodiscard]] const std::optional<Error>& found_wrong() const { return error_; }

 private:
  const json::value* get(std::string_view key);
  void wrong(std::string_view key, std::string_view should_be);

  const json::object& object_;
  std::set<std::string, std::less<>> seen_;
  std::optional<Error> error_;
};

[[nodiscard]] SubmitRequest read_submit(JsonReader& in);
[[nodiscard]] ListRequest read_list(JsonReader& in);

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
[[nodiscard]] json::value to_json(const std::vector<SwarmView>& swarms);
[[nodiscard]] json::value to_json(const NodeStatus& status);
[[nodiscard]] json::value to_json(const NodeInfo& info);
[[nodiscard]] json::value to_json(const Event& event);
[[nodiscard]] json::value to_json(const AgentDetail& agent);
[[nodiscard]] json::value to_json(const std::vector<AgentDetail>& agents);
[[nodiscard]] json::value to_json(const AgentStatusAnswer& answer);
[[nodiscard]] json::value to_json(const CancelAgentAnswer& answer);
[[nodiscard]] json::value to_json(const ProcessInfo& process);
[[nodiscard]] json::value to_json(const std::vector<TracedMessage>& trace);
[[nodiscard]] json::value to_json(const KillAnswer& answer);
[[nodiscard]] json::value to_json(const ReloadAnswer& answer);
[[nodiscard]] json::value to_json(State state);
[[nodiscard]] json::value to_json(const std::string& text);
[[nodiscard]] json::value to_json(std::monostate nothing);

}  // namespace skein::inline v0::operations
