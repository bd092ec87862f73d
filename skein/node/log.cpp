#include "skein/node/log.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>

namespace skein::inline v0::node {
namespace {

constexpr std::size_t k_link_bytes = 4096;
constexpr std::array<std::string_view, 4> k_names{"debug", "info", "warning", "error"};

// One write per line, so that lines of several threads stay whole.
void to_standard_error(LogLevel level, std::string_view text) {
  const auto now = std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const auto second = std::chrono::time_point_cast<std::chrono::seconds>(now);
  const std::string line =
      fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z {:7} {}\n", fmt::gmtime(std::chrono::system_clock::to_time_t(second)),
                  (now - second).count(), name_of(level), text);
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

std::string_view name_of(LogLevel level) { return k_names[static_cast<std::size_t>(level)]; }

std::optional<LogLevel> log_level_named(std::string_view name) {
  for (std::size_t i = 0; i < k_names.size(); ++i) {
    if (k_names[i] == name) return static_cast<LogLevel>(i);
  }
  return std::nullopt;
}

Log::Log(LogLevel level, Sink sink)
    : level_(level), is_standard_error_(!sink), sink_(sink ? std::move(sink) : Sink(to_standard_error)) {}

std::string Log::place() const {
  if (!is_standard_error_) return "where the program that runs the node writes it";
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
  if (level >= this->level()) sink_(level, text);
}

}  // namespace skein::inline v0::node
