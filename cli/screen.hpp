// The terminal's other screen, for what is drawn again and again: keys come one by one, and both are as before when it
// goes. One at a time, in main's thread.
#pragma once

#include <termios.h>

#include <chrono>
#include <string>
#include <vector>

namespace skein::cli {

class Screen {
 public:
  Screen();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  // Drawn over what was there, so that nothing flickers. Lines are cut to the terminal's width, and those that it has
  // no room for are left out, with a line that says how many; `foot` is its last line.
  static void draw(const std::string& text, const std::string& foot);
  // False when the person has seen enough: q, or an interrupt.
  [[nodiscard]] bool wait(std::chrono::milliseconds time) const;

 private:
  termios before_{};
  bool takes_keys_ = false;
};

// What draw() shows, a line each. Pure.
[[nodiscard]] std::vector<std::string> fitted(const std::string& text, const std::string& foot, std::size_t width,
                                              std::size_t height);

}  // namespace skein::cli
