#include "skein/node/log.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "skein/base/json_text.hpp"
#include "skein/base/time_text.hpp"

namespace skein::inline v0::node {
namespace {

constexpr std::size_t k_link_bytes = 4096;
constexpr std::array<std::string_view, 4> k_names{"debug", "info", "warning", "error"};

constexpr std::array<std::string_view, 4> k_colours{"\033[2m", "", "\033[33m", "\033[31m"};  // by level
constexpr std::string_view k_plain = "\033[0m";

// As no-color.org has it.
bool is_colour_wanted() {
  const char* no_colour = std::getenv("NO_COLOR");
  return (no_colour == nullptr || *no_colour == '\0') && ::isatty(STDERR_FILENO) != 0;
}

}  // namespace

std::string_view name_of(LogLevel level) { return k_names[static_cast<std::size_t>(level)]; }

std::optional<LogLevel> log_level_named(std::string_view name) {
  for (std::size_t i = 0; i < k_names.size(); ++i) {
    if (k_names[i] == name) return static_cast<LogLevel>(i);
  }
  return std::nullopt;
}

std::optional<LogFormat> log_format_named(std::string_view name) {
  if (name == "text") return LogFormat::text;
  return name == "json" ? std::optional(LogFormat::json) : std::nullopt;
}

std::string log_line(LogLevel level, std::string_view text, std::uint64_t at, LogFormat format, bool is_coloured) {
  const std::string time = moment_text(at);
  if (format == LogFormat::json) {
    return fmt::format(R"({{"time":"{}","level":"{}","message":{}}})"
                       "\n",
                       time, name_of(level), quoted_json(text));
  }
  const std::string_view colour = is_coloured ? k_colours[static_cast<std::size_t>(level)] : std::string_view();
  return fmt::format("{} {}{:7}{} {}\n", time, colour, name_of(level), colour.empty() ? "" : k_plain, text);
}

Log::Log(LogLevel level, Sink sink) : level_(level), is_coloured_(is_colour_wanted()), sink_(std::move(sink)) {}

std::string Log::place() const {
  if (sink_) return "where the program that runs the node writes it";
  return place_of_log(STDERR_FILENO, std::getenv("JOURNAL_STREAM"));
}

std::string place_of_log(int fd, const char* journal) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return "nowhere: the node's standard error is closed";
  if (journal != nullptr && fmt::format("{}:{}", status.st_dev, status.st_ino) == journal) {
    return "the systemd journal: 'journalctl -u skein'";
  }
  std::string target(k_link_bytes, '\0');
  const auto length = ::readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), target.data(), target.size());
  target.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  if (::isatty(fd) != 0) return fmt::format("the terminal where 'skein up' runs ({})", target);
  if (S_ISREG(status.st_mode)) return target;
  if (target == "/dev/null") return "nowhere: the node's standard error is /dev/null";
  return fmt::format("the node's standard error, read by whatever started it ({})", target);
}

void Log::operator()(LogLevel level, std::string_view text) const {
  if (level < this->level()) return;
  if (sink_) return sink_(level, text);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto at = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
  // One write per line, so that lines of several threads stay whole.
  const std::string line = log_line(level, text, at, format(), is_coloured_);
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace skein::inline v0::node
