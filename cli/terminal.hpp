// Tables, colours and progress for people. Colours only on a terminal and without NO_COLOR. One thread.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace skein::cli {

[[nodiscard]] bool is_terminal(std::FILE* file);
[[nodiscard]] std::size_t terminal_width(std::FILE* file = stdout);
[[nodiscard]] std::size_t terminal_height();
[[nodiscard]] bool uses_colour();

enum class Colour { plain, green, red, yellow, blue, dim, bold };
[[nodiscard]] std::string coloured(std::string_view text, Colour colour);
// What a state of a task, agent or child means at a glance.
[[nodiscard]] Colour colour_of(std::string_view state);

// JSON with what a terminal would obey written as \uXXXX: still the same JSON.
[[nodiscard]] std::string escaped_json(std::string_view json);

// Columns as wide as their longest cell; the last one is cut to fit a terminal. Prints nothing but the head when empty.
class Table {
 public:
  explicit Table(std::vector<std::string> head) : head_(std::move(head)) {}
  // A cell is one line: what would break it becomes a space.
  void row(std::vector<std::string> cells);
  void print() const;
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::string> head_;
  std::vector<std::vector<std::string>> rows_;
};

// "[#####-----]  50% what", in at most `width` columns. Pure.
[[nodiscard]] std::string bar_text(unsigned percent, std::string_view what, std::size_t width);

// The same on standard error, when that is a terminal.
class Progress {
 public:
  explicit Progress(std::string what) : what_(std::move(what)), is_shown_(is_terminal(stderr)) {}
  ~Progress() { end(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void show(std::uint64_t done, std::uint64_t all);
  // Takes it off the line, so that something else can be printed.
  void end();

 private:
  std::string what_;
  bool is_shown_;
  bool is_drawn_ = false;
  unsigned last_ = 101;
};

// "3.2 s", "250 ms", "2 h 5 min".
[[nodiscard]] std::string how_long(std::uint64_t milliseconds);
[[nodiscard]] std::string how_many_bytes(std::uint64_t bytes);
// "14:03:59.120", local; empty for 0.
[[nodiscard]] std::string time_of_day(std::uint64_t wall_ms);
// Since then, on the wall clock; empty for 0.
[[nodiscard]] std::string how_long_ago(std::uint64_t wall_ms);

}  // namespace skein::cli
