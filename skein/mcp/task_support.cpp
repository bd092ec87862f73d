#include "skein/mcp/task_support.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <utility>

namespace skein::inline v0::mcp {
namespace {

constexpr std::string_view k_handle_purpose = "task";

std::int64_t number_in(const json::object& object, std::string_view key) {
  const json::value* found = object.if_contains(key);
  return found != nullptr && found->is_number() ? found->to_number<std::int64_t>() : 0;
}

// What a person is asked whose consent a task waits for.
json::object approval_request(const json::object& task) {
  return {{"approval",
           {{"method", "elicitation/create"},
            {"params",
             {{"message", fmt::format("May task {} ({}) go on?", text_in(task, "id"), text_in(task, "type"))},
              {"requestedSchema",
               json::parse(
                   R"({"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]})")}}}}}};
}

std::string message_of(const json::object& task) {
  std::string text = text_in(task, "message");
  if (!text.empty()) return text;
  text = text_in(task, "state");
  const std::string agent = text_in(task, "agent");
  if (!agent.empty() && (text == "executing" || text == "assigned")) text += " on " + agent;
  const std::int64_t made = number_in(task, "attempts");
  const std::int64_t most = number_in(task, "attempts_max");
  const bool runs = text_in(task, "state") == "executing";
  if (runs && made > 1) return text + fmt::format(", attempt {} of {}", made, most);
  if (!runs && made > 0 && text_in(task, "state") != "completed") {
    text += fmt::format(", {} of {} attempts failed", made, most);
  }
  return text;
}

}  // namespace

std::string seal_task(const Sealer& sealer, const TaskHandle& task, const operations::Principal& who) {
  // Ids and names of tools have no spaces.
  return sealer.seal(k_handle_purpose, fmt::format("{} {} {}", task.id, task.tool, who.label()));
}

std::optional<TaskHandle> open_task(const Sealer& sealer, std::string_view handle, const operations::Principal& who) {
  const auto text = sealer.open(k_handle_purpose, handle);
  if (!text) return std::nullopt;
  const std::size_t first = text->find(' ');
  const std::size_t second = first != std::string::npos ? text->find(' ', first + 1) : first;
  if (second == std::string::npos || !who.has_label(std::string_view(*text).substr(second + 1))) return std::nullopt;
  return TaskHandle{text->substr(0, first), text->substr(first + 1, second - first - 1)};
}

json::object detailed_task(std::string_view handle, const json::object& task, const TaskSupport& support,
                           std::chrono::milliseconds ttl) {
  const std::int64_t made_at = number_in(task, "submitted_at");
  const std::int64_t changed_at = std::max({made_at, number_in(task, "started_at"), number_in(task, "finished_at")});
  json::object out{{"taskId", handle},
                   {"status", "working"},
                   {"statusMessage", message_of(task)},
                   {"createdAt", iso_time(made_at)},
                   {"lastUpdatedAt", iso_time(changed_at)},
                   {"ttlMs", ttl.count()},
                   {"pollIntervalMs", k_task_poll.count()}};
  const std::string state = text_in(task, "state");
  if (state == "cancelled") {
    out["status"] = "cancelled";
  } else if (state == "awaiting_approval") {
    const json::object* asked = object_in(task, "input_requests");
    out["status"] = "input_required";
    out["inputRequests"] = asked != nullptr ? *asked : approval_request(task);
  } else if (state == "completed" || state == "failed") {
    auto outcome = support.outcome(task);
    out["status"] = outcome ? "completed" : "failed";
    if (outcome) {
      out["result"] = std::move(*outcome);
    } else {
      out["error"] = json::object{{"code", outcome.error().code}, {"message", outcome.error().message}};
    }
  }
  return out;
}

json::object task_created(json::object detailed) {
  for (const char* later : {"result", "error", "inputRequests"}) detailed.erase(later);
  detailed["resultType"] = "task";
  return detailed;
}

bool has_ended(const json::object& detailed) {
  constexpr std::array<std::string_view, 3> k_ends{"completed", "failed", "cancelled"};
  return std::ranges::find(k_ends, text_in(detailed, "status")) != k_ends.end();
}

std::string iso_time(std::int64_t wall_ms) {
  const std::chrono::sys_time<std::chrono::milliseconds> at{std::chrono::milliseconds(wall_ms)};
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(at - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), time.hours().count(),
                     time.minutes().count(), time.seconds().count(), time.subseconds().count());
}

}  // namespace skein::inline v0::mcp
