// The node's log: lines with a time and a level, to standard error, as text or as JSON, an object a line. On a terminal
// the level of a text is coloured. Any thread; level and format may change while it runs.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace skein::inline v0::node {

enum class LogLevel : std::uint8_t { debug, info, warning, error };
[[nodiscard]] std::string_view name_of(LogLevel level);
[[nodiscard]] std::optional<LogLevel> log_level_named(std::string_view name);

enum class LogFormat : std::uint8_t { text, json };
[[nodiscard]] std::optional<LogFormat> log_format_named(std::string_view name);

// One line, with its end. `at`: milliseconds since 1970.
[[nodiscard]] std::string log_line(LogLevel level, std::string_view text, std::uint64_t at, LogFormat format,
                                   bool is_coloured);

class Log {
 public:
  using Sink = std::function<void(LogLevel level, std::string_view line)>;

  // Without a sink: standard error.
  explicit Log(LogLevel level, Sink sink = {});

  void operator()(LogLevel level, std::string_view text) const;
  void debug(std::string_view text) const { (*this)(LogLevel::debug, text); }
  void info(std::string_view text) const { (*this)(LogLevel::info, text); }
  void warning(std::string_view text) const { (*this)(LogLevel::warning, text); }
  void error(std::string_view text) const { (*this)(LogLevel::error, text); }

  // Where its lines can be read, for people.
  [[nodiscard]] std::string place() const;

  [[nodiscard]] LogLevel level() const { return level_.load(std::memory_order_relaxed); }
  void set_level(LogLevel level) { level_.store(level, std::memory_order_relaxed); }
  // Of what goes to standard error; a sink of its own lays out its lines itself.
  [[nodiscard]] LogFormat format() const { return format_.load(std::memory_order_relaxed); }
  void set_format(LogFormat format) { format_.store(format, std::memory_order_relaxed); }

 private:
  std::atomic<LogLevel> level_;
  std::atomic<LogFormat> format_{LogFormat::text};
  bool is_coloured_;
  Sink sink_;  // none: standard error
};

// What a program's standard error leads to. `fd`: it; `journal`: $JOURNAL_STREAM, "DEVICE:INODE" of what systemd reads.
[[nodiscard]] std::string place_of_log(int fd, const char* journal);

}  // namespace skein::inline v0::node
