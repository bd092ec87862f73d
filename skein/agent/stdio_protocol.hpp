// The words of docs/executor-protocol.md: what an agent's OS process and the node say to each other, a line of JSON
// each. Pure; any thread.
//
// Reading is strict: a line that is no JSON object, is nested too deep, has a type or a field of the wrong kind, is an
// error, and its sender cannot be trusted to know where it is. Fields that are not known are ignored. What is
// only handed on (params, results, marks) stays as it was written.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "skein/agent/executor.hpp"
#include "skein/dispatch/agent_protocol.hpp"

namespace skein::inline v0::agent {

inline constexpr std::uint64_t k_stdio_protocol = 1;
inline constexpr std::size_t k_hello_capabilities_max = 64;

// From the OS process.
struct StdioHello {
  std::uint64_t protocol = 0;
  std::vector<std::string> capabilities;
};
// The fields at the beginning of every answer to a task. The fence may be left out.
struct StdioTask {
  ledger::TaskId id;
  std::optional<ledger::Fence> fence;
};
struct StdioProgress {
  StdioTask task;
  std::string mark;  // JSON
};
struct StdioResult {
  StdioTask task;
  std::string result;  // JSON; empty: none
};
struct StdioError {
  StdioTask task;
  Failure failure;
  bool is_given_up = false;  // class "cancelled": stopped as asked
};
struct StdioHeartbeat {};
using StdioMessage = std::variant<StdioHello, StdioProgress, StdioResult, StdioError, StdioHeartbeat>;

// A line without its end. The error says what is wrong with it.
[[nodiscard]] std::expected<StdioMessage, std::string> parse_stdio_line(std::string_view line, std::size_t depth_max);

// To the OS process; with the end of the line.
[[nodiscard]] std::string stdio_hello(std::string_view agent, std::size_t line_bytes_max);
// The params and the mark must be JSON, or empty. `token`: of the attempt; empty: it is given none.
[[nodiscard]] std::string stdio_task(const dispatch::Order& order, std::string_view token = {});
[[nodiscard]] std::string stdio_cancel(ledger::TaskId id, ledger::Fence fence, dispatch::StopReason why);
[[nodiscard]] std::string stdio_shutdown();

// Cuts a stream into lines. A line end is \n or \r\n.
class LineSplitter {
 public:
  explicit LineSplitter(std::size_t line_bytes_max) : line_bytes_max_(line_bytes_max) {}

  // Calls take(line) for each line that is complete, until it says false. False: a line is too long, or take said so.
  template <class Take>
  [[nodiscard]] bool feed(std::string_view bytes, Take take) {
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      const std::string_view piece = bytes.substr(0, end);
      if (begun_.size() + piece.size() > line_bytes_max_) {
        is_too_long_ = true;
        return false;
      }
      if (end == std::string_view::npos) {
        begun_ += piece;
        return true;
      }
      bytes.remove_prefix(end + 1);
      bool goes_on = false;
      if (begun_.empty()) {
        goes_on = take(without_return(piece));
      } else {
        begun_ += piece;
        goes_on = take(without_return(begun_));
        begun_.clear();
      }
      if (!goes_on) return false;
    }
    return true;
  }
  [[nodiscard]] bool is_too_long() const { return is_too_long_; }

 private:
  static std::string_view without_return(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }

  std::size_t line_bytes_max_;
  std::string begun_;
  bool is_too_long_ = false;
};

}  // namespace skein::inline v0::agent
