#include "skein/agent/stdio_protocol.hpp"

#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "skein/base/json_text.hpp"
#include "skein/base/trace_context.hpp"
#include "skein/dispatch/capability.hpp"

namespace skein::inline v0::agent {
namespace {

// No retry-after is longer than this.
constexpr std::uint64_t k_retry_after_ms_max = 86'400'000;

// The fields of all messages, each as it was written; empty: it is not there.
struct Fields {
  std::string_view type, protocol, capabilities, task, fence, mark, result, message, error_class, retry_after_ms;
};

// Nothing when a member is there twice: one program would take the first, another the last.
std::expected<Fields, std::string> fields_of(std::string_view line) {
  Fields fields;
  const std::pair<std::string_view, std::string_view*> known[] = {{"type", &fields.type},
                                                                  {"protocol", &fields.protocol},
                                                                  {"capabilities", &fields.capabilities},
                                                                  {"task", &fields.task},
                                                                  {"fence", &fields.fence},
                                                                  {"mark", &fields.mark},
                                                                  {"result", &fields.result},
                                                                  {"message", &fields.message},
                                                                  {"class", &fields.error_class},
                                                                  {"retry_after_ms", &fields.retry_after_ms}};
  JsonMembers members(line);
  while (const auto member = members.next()) {
    for (const auto& [name, place] : known) {
      if (name != member->name) continue;
      if (!place->empty()) return std::unexpected(fmt::format("it has '{}' twice", name));
      *place = member->value;
    }
  }
  return fields;
}

std::optional<std::uint64_t> number_of(std::string_view value) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc{} || end != value.data() + value.size()) return std::nullopt;
  return number;
}

// The strings of an array of strings; nothing when it is something else.
std::optional<std::vector<std::string>> strings_of(std::string_view array) {
  if (!array.starts_with('[')) return std::nullopt;
  std::vector<std::string> strings;
  std::string_view rest = array.substr(1, array.size() - 2);
  while (true) {
    while (!rest.empty() && (rest.front() == ' ' || rest.front() == '\t' || rest.front() == ',')) rest.remove_prefix(1);
    if (rest.empty()) return strings;
    if (rest.front() != '"') return std::nullopt;
    std::size_t end = 1;
    while (end < rest.size() && rest[end] != '"') end += rest[end] == '\\' ? 2 : 1;
    auto text = unquoted_json(rest.substr(0, end + 1));
    if (!text || strings.size() == k_hello_capabilities_max) return std::nullopt;
    strings.push_back(std::move(*text));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

std::expected<StdioTask, std::string> task_of(const Fields& fields) {
  StdioTask task;
  const auto text = unquoted_json(fields.task);
  const auto id = text ? ledger::TaskId::parse(*text) : std::nullopt;
  if (!id) return std::unexpected("its 'task' is no task's id");
  task.id = *id;
  if (!fields.fence.empty()) {
    task.fence = number_of(fields.fence);
    if (!task.fence) return std::unexpected("its 'fence' is no whole number");
  }
  return task;
}

std::expected<StdioMessage, std::string> hello_of(const Fields& fields) {
  StdioHello hello;
  const auto protocol = number_of(fields.protocol);
  if (!protocol) return std::unexpected("its 'protocol' is no whole number");
  hello.protocol = *protocol;
  if (!fields.capabilities.empty()) {
    auto capabilities = strings_of(fields.capabilities);
    if (!capabilities) {
      return std::unexpected(
          fmt::format("its 'capabilities' are no array of at most {} strings", k_hello_capabilities_max));
    }
    for (const std::string& each : *capabilities) {
      if (auto problem = dispatch::capability_problem(each)) return std::unexpected(std::move(*problem));
    }
    hello.capabilities = std::move(*capabilities);
  }
  return hello;
}

std::expected<StdioMessage, std::string> error_of(const Fields& fields, StdioTask task) {
  StdioError error;
  error.task = task;
  if (!fields.message.empty()) {
    auto text = unquoted_json(fields.message);
    if (!text) return std::unexpected("its 'message' is no string");
    error.failure.message = std::move(*text);
  }
  const auto word =
      fields.error_class.empty() ? std::optional<std::string>("transient") : unquoted_json(fields.error_class);
  if (word == "permanent") {
    error.failure.error = ledger::ErrorClass::permanent;
  } else if (word == "rate_limited") {
    error.failure.error = ledger::ErrorClass::rate_limited;
  } else if (word == "resource") {
    error.failure.error = ledger::ErrorClass::resource;
  } else if (word == "cancelled") {
    error.is_given_up = true;
  } else if (word != "transient") {
    return std::unexpected("its 'class' is none of transient, permanent, rate_limited, resource, cancelled");
  }
  if (!fields.retry_after_ms.empty()) {
    const auto ms = number_of(fields.retry_after_ms);
    if (!ms || *ms > k_retry_after_ms_max) {
      return std::unexpected(fmt::format("its 'retry_after_ms' is no number up to {}", k_retry_after_ms_max));
    }
    error.failure.retry_after = std::chrono::milliseconds(*ms);
  }
  return error;
}

std::string_view word_of(dispatch::StopReason why) {
  switch (why) {
    case dispatch::StopReason::cancelled:
      break;
    case dispatch::StopReason::timed_out:
      return "timed_out";
    case dispatch::StopReason::yield:
      return "yield";
    case dispatch::StopReason::return_unbegun:  // never of what runs
    case dispatch::StopReason::stale:
      return "stale";
  }
  return "cancelled";
}

}  // namespace

std::expected<StdioMessage, std::string> parse_stdio_line(std::string_view line, std::size_t depth_max) {
  if (const auto fault = check_json_text(line, depth_max)) {
    return std::unexpected(fmt::format("it is no JSON ({} at byte {})", fault->why, fault->at));
  }
  const auto read = fields_of(line);
  if (!read) return std::unexpected(read.error());
  const Fields& fields = *read;
  const auto type = unquoted_json(fields.type);
  if (!type) return std::unexpected("it has no 'type'");
  if (*type == "heartbeat") return StdioHeartbeat{};
  if (*type == "hello") return hello_of(fields);
  if (*type != "progress" && *type != "result" && *type != "error") {
    return std::unexpected("its 'type' is none of hello, progress, result, error, heartbeat");
  }
  const auto task = task_of(fields);
  if (!task) return std::unexpected(task.error());
  if (*type == "result") return StdioResult{*task, std::string(fields.result)};
  if (*type == "error") return error_of(fields, *task);
  if (fields.mark.empty()) return std::unexpected("it has no 'mark'");
  return StdioProgress{*task, std::string(fields.mark)};
}

std::string stdio_hello(std::string_view agent, std::size_t line_bytes_max) {
  return fmt::format(R"({{"type":"hello","protocol":{},"agent":{},"line_bytes_max":{}}})"
                     "\n",
                     k_stdio_protocol, quoted_json(agent), line_bytes_max);
}

std::string stdio_task(const dispatch::Order& order, std::string_view token) {
  std::string line =
      fmt::format(R"({{"type":"task","task":"{}","fence":{},"attempt":{},"task_type":{},"timeout_ms":{})",
                  order.id.text(), order.ref.fence, order.attempt, quoted_json(order.shape->type),
                  std::chrono::duration_cast<std::chrono::milliseconds>(order.timeout).count());
  // Tasks of earlier versions may have any text.
  if (order.extras && TraceContext::parse(order.extras->trace)) {
    line += ",\"traceparent\":" + quoted_json(order.extras->trace);
  }
  if (!token.empty()) line += ",\"token\":" + quoted_json(token);
  if (order.mark) line += ",\"mark\":" + on_one_line(*order.mark);
  line += ",\"params\":";
  line += order.params ? on_one_line(*order.params) : "null";
  line += "}\n";
  return line;
}

std::string stdio_cancel(ledger::TaskId id, ledger::Fence fence, dispatch::StopReason why) {
  return fmt::format(R"({{"type":"cancel","task":"{}","fence":{},"reason":"{}"}})"
                     "\n",
                     id.text(), fence, word_of(why));
}

std::string stdio_shutdown() { return "{\"type\":\"shutdown\"}\n"; }

}  // namespace skein::inline v0::agent
