// How a task is shown to a model: whole where it fits, in parts where it does not. Pure; any thread.
//
// A result over k_result_bytes_max is given as `result_part`: a piece of its text, how long the whole is, and the
// offset of the next piece, which task_status takes as result_offset. Every client has that way; a resource_link beside
// it names the resource that has all of it.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <string_view>

namespace skein::inline v0::mcp {

inline constexpr std::size_t k_result_bytes_max = 48ULL << 10U;  // of what a task answered, in a tool's result
inline constexpr std::size_t k_params_shown_max = 1ULL << 10U;   // of params that do not fit

// Which piece of a result is wanted.
struct ResultPage {
  bool is_wanted = false;  // false: the whole if it fits, else the first piece
  std::uint64_t offset = 0;
  std::uint64_t bytes = k_result_bytes_max;
};
// Takes result_offset and result_bytes out of the arguments of task_status.
[[nodiscard]] ResultPage take_result_page(boost::json::object& arguments);

[[nodiscard]] boost::json::object shown_task(boost::json::object task, const ResultPage& page = {});

// Adds a link to the resource of a task that was not shown whole. `version`: of the protocol that the client speaks;
// 2025-03-26 has no links.
void add_link(const boost::json::object& shown_task, std::string_view version, boost::json::object& result);

// The result of a tool call that went on as a task and has ended.
[[nodiscard]] boost::json::object ended_task(const boost::json::object& task);

}  // namespace skein::inline v0::mcp
