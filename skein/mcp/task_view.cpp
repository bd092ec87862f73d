#include "skein/mcp/task_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <string>
#include <utility>

#include "skein/mcp/json_rpc.hpp"
#include "skein/mcp/protocol.hpp"
#include "skein/mcp/tool_parts.hpp"
#include "skein/operations/json_exact.hpp"
#include "skein/operations/json_forms.hpp"

namespace skein::inline v0::mcp {
namespace {

constexpr std::string_view k_version_without_links = "2025-03-26";

// What a piece is cut from: a string is its own text, anything else is JSON.
struct Body {
  std::string text;
  const char* form = "json";
};
Body body_of(const json::value& value) {
  const json::string* text = value.if_string();
  if (text == nullptr || operations::written_number(value)) return {operations::json_text(value), "json"};
  return {std::string(*text), "text"};
}

// The nearest beginning of a character at or before `at`.
std::size_t whole_character(std::string_view text, std::size_t at) {
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80U) --at;
  return at;
}

json::object piece_of(const Body& body, std::uint64_t offset, std::uint64_t bytes) {
  const std::size_t total = body.text.size();
  const std::size_t from = whole_character(body.text, static_cast<std::size_t>(std::min<std::uint64_t>(offset, total)));
  std::size_t to = whole_character(body.text, static_cast<std::size_t>(std::min<std::uint64_t>(from + bytes, total)));
  if (to == from) to = std::min(total, from + 4);  // at least one character, or nobody would get on
  to = whole_character(body.text, to);
  return {{"text", body.text.substr(from, to - from)},
          {"form", body.form},
          {"offset", from},
          {"bytes", to - from},
          {"total", total}};
}

json::object result_part(const Body& body, const ResultPage& page) {
  json::object part = piece_of(body, page.offset, page.bytes);
  const auto next = part.at("offset").to_number<std::uint64_t>() + part.at("bytes").to_number<std::uint64_t>();
  if (next >= body.text.size()) return part;
  part["next_offset"] = next;
  part["next"] = fmt::format("task_status with result_offset {} gives the next piece", next);
  return part;
}

}  // namespace

ResultPage take_result_page(json::object& arguments) {
  ResultPage page;
  const auto take = [&](const char* key, std::uint64_t& into, std::uint64_t most) {
    const json::value* found = arguments.if_contains(key);
    if (found == nullptr) return;
    page.is_wanted = true;
    json::error_code error;
    const auto given = found->to_number<std::uint64_t>(error);
    into = error ? most : std::min(given, most);
    arguments.erase(key);
  };
  take("result_offset", page.offset, UINT64_MAX / 2);
  take("result_bytes", page.bytes, k_result_bytes_max);
  return page;
}

json::object shown_task(json::object task, const ResultPage& page) {
  json::array left_out;
  const auto is_too_long = [](const json::value& value) {
    return operations::json_text(value).size() > k_result_bytes_max;
  };
  if (const json::value* params = task.if_contains("params"); params != nullptr && is_too_long(*params)) {
    json::object part = piece_of(body_of(*params), 0, k_params_shown_max);
    task["params"] = nullptr;  // a task always has this member
    task["params_part"] = std::move(part);
    left_out.emplace_back("params");
  }
  const json::value* result = task.if_contains("result");
  if (result != nullptr && (page.is_wanted || is_too_long(*result))) {
    json::object part = result_part(body_of(*result), page);
    task.erase("result");
    task["result_part"] = std::move(part);
    left_out.emplace_back("result");
  }
  if (left_out.empty()) return task;
  task["left_out"] = std::move(left_out);
  task["whole_at"] = "skein://tasks/" + text_in(task, "id");
  return task;
}

void add_link(const json::object& shown, std::string_view version, json::object& result) {
  if (!shown.contains("whole_at") || version == k_version_without_links) return;
  result.at("content").as_array().push_back({{"type", "resource_link"},
                                             {"uri", text_in(shown, "whole_at")},
                                             {"name", "task " + text_in(shown, "id")},
                                             {"description", "The whole task, with its params and its result"},
                                             {"mimeType", "application/json"}});
}

json::object ended_task(const json::object& task) {
  const json::object shown = shown_task(task);
  json::object result = structured(shown);
  add_link(shown, k_modern_version, result);
  if (text_in(task, "state") == "failed") result["isError"] = true;
  return result;
}

}  // namespace skein::inline v0::mcp
