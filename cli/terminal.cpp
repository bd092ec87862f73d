#include "cli/terminal.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <utility>

#include "skein/base/columns.hpp"
#include "skein/base/duration_text.hpp"
#include "skein/base/utf8.hpp"

namespace skein::cli {
namespace {

constexpr std::size_t k_default_width = 100;
constexpr std::size_t k_default_height = 24;
constexpr std::size_t k_gap = 2;

}  // namespace

bool is_terminal(std::FILE* file) { return ::isatty(::fileno(file)) != 0; }

std::size_t terminal_width(std::FILE* file) {
  winsize size{};
  if (::ioctl(::fileno(file), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  if (const char* columns = std::getenv("COLUMNS"); columns != nullptr) {
    if (const long given = std::strtol(columns, nullptr, 10); given > 20) return static_cast<std::size_t>(given);
  }
  return k_default_width;
}

std::size_t terminal_height() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : k_default_height;
}

bool uses_colour() {
  const char* no = std::getenv("NO_COLOR");
  return is_terminal(stdout) && (no == nullptr || *no == '\0');
}

std::string coloured(std::string_view text, Colour colour) {
  if (colour == Colour::plain || !uses_colour()) return std::string(text);
  static constexpr const char* k_codes[] = {"0", "32", "31", "33", "34", "2", "1"};
  return fmt::format("\033[{}m{}\033[0m", k_codes[static_cast<std::size_t>(colour)], text);
}

Colour colour_of(std::string_view state) {
  if (state == "completed" || state == "running" || state == "active" || state == "idle") return Colour::green;
  if (state == "failed" || state == "stuck" || state == "unreachable" || state == "parked") return Colour::red;
  if (state == "executing" || state == "assigned" || state == "restarting") return Colour::blue;
  if (state == "cancelled" || state == "paused" || state == "draining" || state == "blocked") return Colour::yellow;
  return Colour::plain;
}

std::string escaped_json(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  while (!json.empty()) {
    const std::size_t length = std::max<std::size_t>(utf8_length(json), 1);
    const char32_t point = code_point(json, length);
    const bool is_control = length > 1 && point < 0xA0;
    if (is_control || is_turning(json, length)) {
      out += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(point));
    } else {
      out.append(json.substr(0, length));
    }
    json.remove_prefix(length);
  }
  return out;
}

void Table::row(std::vector<std::string> cells) {
  for (std::string& cell : cells) {
    std::ranges::replace_if(cell, [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  }
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  widths.reserve(head_.size());
  for (const std::string& each : head_) widths.push_back(columns_of(each));
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i)
      widths[i] = std::max(widths[i], columns_of(row[i]));
  }
  const std::size_t room = is_terminal(stdout) ? terminal_width() : SIZE_MAX;
  std::string out;
  const auto add = [&](const std::vector<std::string>& cells, bool is_head) {
    std::size_t used = 0;
    for (std::size_t i = 0; i < cells.size() && i < widths.size(); ++i) {
      const bool is_last = i + 1 == cells.size();
      std::string cell = cells[i];
      if (is_last && room != SIZE_MAX && used + columns_of(cell) > room && room > used + 1) {
        cell = cut_to(cell, room - used);
      }
      out += is_head ? coloured(cell, Colour::dim) : cell;
      if (!is_last) out += std::string(widths[i] - std::min(columns_of(cell), widths[i]) + k_gap, ' ');
      used += widths[i] + k_gap;
    }
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  };
  add(head_, true);
  for (const auto& row : rows_) add(row, false);
  return out;
}

void Table::print() const {
  const std::string all = text();
  std::fwrite(all.data(), 1, all.size(), stdout);
}

std::string bar_text(unsigned percent, std::string_view what, std::size_t width) {
  constexpr std::size_t k_bar_most = 30;
  constexpr std::size_t k_bar_least = 5;
  const std::string words = fmt::format("{:3}% {}", percent, what);
  const std::size_t around = columns_of(words) + 4;  // brackets, the space between, and the last column
  if (width < around + k_bar_least) return cut_to(words, width > 1 ? width - 1 : 1);
  const std::size_t bar = std::min(k_bar_most, width - around);
  const std::size_t full = percent * bar / 100;
  return fmt::format("[{}{}] {}", std::string(full, '#'), std::string(bar - full, '-'), words);
}

void Progress::show(std::uint64_t done, std::uint64_t all) {
  if (!is_shown_ || all == 0) return;
  const auto percent = static_cast<unsigned>(std::min<std::uint64_t>(100, done * 100 / all));
  if (percent == last_) return;
  last_ = percent;
  fmt::print(stderr, "\r{}\033[K", bar_text(percent, what_, terminal_width(stderr)));
  std::fflush(stderr);
  is_drawn_ = true;
}

void Progress::end() {
  if (std::exchange(is_drawn_, false)) fmt::print(stderr, "\r\033[K");
}

std::string how_long(std::uint64_t milliseconds) { return duration_text(milliseconds); }

std::string how_many_bytes(std::uint64_t bytes) {
  const auto scaled = static_cast<double>(bytes);
  if (bytes >= 1ULL << 30U) return fmt::format("{:.1f} GiB", scaled / (1ULL << 30U));
  if (bytes >= 1ULL << 20U) return fmt::format("{:.1f} MiB", scaled / (1ULL << 20U));
  if (bytes >= 1ULL << 10U) return fmt::format("{:.1f} KiB", scaled / (1ULL << 10U));
  return fmt::format("{} B", bytes);
}

std::string time_of_day(std::uint64_t wall_ms) {
  if (wall_ms == 0) return "";
  const auto seconds = static_cast<std::time_t>(wall_ms / 1000);
  std::tm parts{};
  if (::localtime_r(&seconds, &parts) == nullptr) return "";
  return fmt::format("{:02}:{:02}:{:02}.{:03}", parts.tm_hour, parts.tm_min, parts.tm_sec, wall_ms % 1000);
}

std::string how_long_ago(std::uint64_t wall_ms) {
  if (wall_ms == 0) return "";
  const auto now =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count();
  const auto then = static_cast<std::int64_t>(wall_ms);
  return now <= then ? "now" : how_long(static_cast<std::uint64_t>(now - then));
}

}  // namespace skein::cli
