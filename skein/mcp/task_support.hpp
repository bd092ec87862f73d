// The tasks extension (io.modelcontextprotocol/tasks): what a tool does goes on as a task of the ledger, and a client
// that declares the extension gets a handle to it instead of the result. Pure; any thread.
//
// A handle is the task's id, the tool and who asked, sealed with the node's key: ids of tasks are shown in lists and
// follow one another, so they can be guessed; the 128 bits of the seal cannot. It names a task that is durable before
// it is given away, needs no table, and so stays valid when the node restarts. A client with another principal, or with
// a forged handle, is told that there is no such task.
//
// How states are told: completed and failed tasks are `completed`, the latter with isError, for the tool has run and
// says how it went; cancelled ones `cancelled`; those that wait for a person `input_required`; all others `working`.
// `failed` is only what would have been a JSON-RPC error.
#pragma once

#include <boost/json/object.hpp>
#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "skein/mcp/exchange.hpp"
#include "skein/mcp/seal.hpp"
#include "skein/operations/principal.hpp"

namespace skein::inline v0::mcp {

inline constexpr std::chrono::milliseconds k_task_poll{500};  // between two looks of a client
inline constexpr std::chrono::milliseconds k_task_ttl{
    86'400'000};  // a task is kept so long, unless the config says less

struct TaskSupport {
  enum class Mode : std::uint8_t { none, offered, required };
  // `task` is the answer of the operation task_status.
  using ResultReader = std::function<std::expected<json::object, RpcError>(const json::object& task)>;
  using Look = std::function<void(Exchange&, const std::string& id, Exchange::OnAnswer then)>;
  using Give = std::function<void(Exchange&, const std::string& id, json::object responses, Exchange::OnAnswer then)>;

  Mode mode = Mode::none;
  // What the call would have answered, once the task has completed or failed; an error makes it `failed`.
  ResultReader outcome{};
  // For a tool whose tasks ask for input. `look` answers like task_status; of a task in the state awaiting_approval the
  // member input_requests names what is asked for. Null: task_status itself.
  Look look{};
  // Takes answers to that; those to other questions are passed over. Null: nothing is ever asked.
  Give give{};
};

struct TaskHandle {
  std::string id;    // of the task
  std::string tool;  // whose call made it
};
[[nodiscard]] std::string seal_task(const Sealer& sealer, const TaskHandle& task, const operations::Principal& who);
// Nothing when it is not one that was given to this principal.
[[nodiscard]] std::optional<TaskHandle> open_task(const Sealer& sealer, std::string_view handle,
                                                  const operations::Principal& who);

// A task with what it came to, as tasks/get and notifications/tasks have it.
[[nodiscard]] json::object detailed_task(std::string_view handle, const json::object& task, const TaskSupport& support,
                                         std::chrono::milliseconds ttl);
// The same without that, as the answer to the call that made it.
[[nodiscard]] json::object task_created(json::object detailed);
[[nodiscard]] bool has_ended(const json::object& detailed);

// "2026-07-28T12:00:00.000Z"
[[nodiscard]] std::string iso_time(std::int64_t wall_ms);

}  // namespace skein::inline v0::mcp
