#include "skein/node/log.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>

namespace skein::inline v0::node {
namespace {

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

Log::Log(LogLevel level, Sink sink) : level_(level), sink_(sink ? std::move(sink) : Sink(to_standard_error)) {}

void Log::operator()(LogLevel level, std::string_view text) const {
  if (level >= this->level()) sink_(level, text);
}

}  // namespace skein::inline v0::node
